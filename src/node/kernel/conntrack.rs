//! Conntrack entries, by ctnetlink.
//!
//! All entries are read and filtered here: the kernel can filter by address only since 5.8, and it cannot
//! filter by contradiction to the desired state.

use std::net::{IpAddr, Ipv4Addr};

use futures::{Stream, StreamExt as _};
use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_netfilter::conntrack::{ConntrackAttribute, ConntrackMessage, IPTuple, Tuple};
use netlink_packet_netfilter::{
    NetfilterHeader, NetfilterMessage, NetfilterMessageInner, NetfilterProtoFamily,
};
use netlink_proto::sys::{SocketAddr, protocols::NETLINK_NETFILTER};
use netlink_proto::{ConnectionHandle, new_connection};

use super::error::KernelError;
use super::limit::in_time;
use crate::node::connections::{Connection, Correction, Expected};

type Handle = ConnectionHandle<NetfilterMessage>;

/// `ENOENT` as netlink returns it (negative): the connection ended in the meantime.
const GONE: i32 = -2;

/// `linux/netfilter/nfnetlink_conntrack.h`.
const CTA_MARK_MASK: u16 = 21;

/// Number of requests that are sent before their answers are read. The socket buffer can hold this many answers.
const BATCH: usize = 64;

/// Corrects the entries that contradict `expected`, and returns their number.
pub(super) async fn correct(expected: &Expected) -> Result<usize, KernelError> {
    let (connection, mut handle, _) = new_connection::<NetfilterMessage>(NETLINK_NETFILTER)
        .map_err(|source| {
            let what = "conntrack";
            KernelError::Socket { what, source }
        })?;
    tokio::select! {
        corrected = correct_with(&mut handle, expected) => corrected,
        () = connection => Err(KernelError::Conntrack {
            what: "correcting connections",
            reason: "the socket was closed".to_owned(),
        }),
    }
}

async fn correct_with(handle: &mut Handle, expected: &Expected) -> Result<usize, KernelError> {
    let what = "listing connections";
    let all = ConntrackMessage::Get(Vec::new());
    let mut wrong = Vec::new();
    let mut answers = request(handle, all, NLM_F_DUMP, what)?;
    while let Some(answer) = next(what, &mut answers).await? {
        match answer.payload {
            NetlinkPayload::InnerMessage(message) => {
                if let NetfilterMessageInner::Conntrack(ConntrackMessage::New(entry)) =
                    message.inner
                    && let Some(connection) = read(&entry)
                    && let Some(correction) = expected.correction(&connection)
                {
                    wrong.push(message_of(&entry, correction));
                }
            }
            NetlinkPayload::Error(error) => return Err(refused(what, &error)),
            _ => {}
        }
    }
    let what = "correcting a connection";
    for messages in wrong.chunks(BATCH) {
        let sent: Vec<_> = messages
            .iter()
            .map(|message| request(handle, message.clone(), NLM_F_ACK, what))
            .collect::<Result<_, _>>()?;
        for mut answers in sent {
            while let Some(answer) = next(what, &mut answers).await? {
                if let NetlinkPayload::Error(error) = answer.payload
                    && error.code.is_some_and(|code| code.get() != GONE)
                {
                    return Err(refused(what, &error));
                }
            }
        }
    }
    Ok(wrong.len())
}

/// The next answer of the kernel. A busy node has very many entries, so the limit is not for all of them together.
async fn next<T: Send>(
    what: &'static str,
    answers: &mut (impl Stream<Item = T> + Unpin + Send),
) -> Result<Option<T>, KernelError> {
    in_time(&what, async { Ok(answers.next().await) }).await
}

/// The request that corrects an entry.
fn message_of(entry: &[ConntrackAttribute], correction: Correction) -> ConntrackMessage {
    let mut attributes = key(entry);
    match correction {
        Correction::Forget => ConntrackMessage::Delete(attributes),
        // Without NLM_F_CREATE this changes an entry and never makes one.
        Correction::Mark { mark, mask } => {
            let mask = DefaultNla::new(CTA_MARK_MASK, mask.to_be_bytes().to_vec());
            attributes.extend([
                ConntrackAttribute::CtaMark(mark),
                ConntrackAttribute::Other(mask),
            ]);
            ConntrackMessage::New(attributes)
        }
    }
}

/// The attributes that identify an entry.
fn key(entry: &[ConntrackAttribute]) -> Vec<ConntrackAttribute> {
    let is_key = |attribute: &&ConntrackAttribute| match attribute {
        ConntrackAttribute::CtaTupleOrig(_) => true,
        ConntrackAttribute::Other(other) => is_key(other),
        _ => false,
    };
    entry.iter().filter(is_key).cloned().collect()
}

/// Whether the attribute identifies an entry in addition to its tuple: `CTA_ID` and `CTA_ZONE`.
fn is_key(attribute: &DefaultNla) -> bool {
    use netlink_packet_core::Nla as _;
    [12, 18].contains(&attribute.kind())
}

fn request(
    handle: &mut Handle,
    message: ConntrackMessage,
    flags: u16,
    what: &'static str,
) -> Result<impl futures::Stream<Item = NetlinkMessage<NetfilterMessage>> + use<>, KernelError> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let body = NetfilterMessage::new(
        NetfilterHeader::new(NetfilterProtoFamily::IPv4, 0, 0),
        message,
    );
    handle
        .request(
            NetlinkMessage::new(header, NetlinkPayload::from(body)),
            SocketAddr::new(0, 0),
        )
        .map_err(|error| KernelError::Conntrack {
            what,
            reason: error.to_string(),
        })
}

fn refused(what: &'static str, error: &netlink_packet_core::ErrorMessage) -> KernelError {
    KernelError::Conntrack {
        what,
        reason: error.to_io().to_string(),
    }
}

fn read(entry: &[ConntrackAttribute]) -> Option<Connection> {
    let (mut original, mut reply, mut mark) = (None, None, 0);
    for attribute in entry {
        match attribute {
            ConntrackAttribute::CtaTupleOrig(tuple) => original = ends(tuple),
            ConntrackAttribute::CtaTupleReply(tuple) => reply = ends(tuple),
            ConntrackAttribute::CtaMark(value) => mark = *value,
            _ => {}
        }
    }
    let ((source, destination), (reply_source, reply_destination)) = (original?, reply?);
    Some(Connection {
        source,
        destination,
        reply_source,
        reply_destination,
        mark,
    })
}

fn ends(tuple: &[Tuple]) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (mut source, mut destination) = (None, None);
    for part in tuple {
        let Tuple::Ip(addresses) = part else { continue };
        for address in addresses {
            match address {
                IPTuple::SourceAddress(IpAddr::V4(address)) => source = Some(*address),
                IPTuple::DestinationAddress(IpAddr::V4(address)) => destination = Some(*address),
                _ => {}
            }
        }
    }
    source.zip(destination)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::StreamExt as _;

    use super::next;
    use crate::node::kernel::limit::LIMIT;

    #[tokio::test(start_paused = true)]
    async fn a_long_list_whose_answers_come_in_time_is_read_to_its_end() {
        let mut answers = Box::pin(futures::stream::iter(0..10).then(async |answer| {
            tokio::time::sleep(LIMIT / 2).await;
            answer
        }));
        let mut read = 0;
        while next("listing connections", &mut answers)
            .await
            .unwrap()
            .is_some()
        {
            read += 1;
        }
        assert_eq!(read, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_ends_the_list() {
        let mut answers = futures::stream::pending::<()>();
        let error = next("listing connections", &mut answers).await.unwrap_err();
        assert!(error.to_string().contains("within 10 s"), "{error}");
        assert_eq!(LIMIT, Duration::from_secs(10));
    }
}
