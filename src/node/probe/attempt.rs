//! One attempt: a connection from the address to the target.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::order::Order;
use super::outcome::Attempt;

/// The most bytes of an answer that are read.
const LONGEST: usize = 64;

/// Why an attempt failed. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// The DNS lookup of the target failed.
    #[error("{target} cannot be looked up ({source}): check the name, and the DNS of the cluster")]
    Lookup {
        /// Host and port of the target.
        target: String,
        /// The error of the resolver.
        source: io::Error,
    },
    /// The target has no IPv4 address. The value is its host and port.
    #[error("{0} has no IPv4 address: give a target that has one")]
    NoAddress(String),
    /// Packets to the target never leave with the address.
    #[error(
        "{target} is {to}, and no packet to it leaves with the address: it must be in a route of the block or of the \
         IP, and in no internal network"
    )]
    NotRouted {
        /// Host and port of the target.
        target: String,
        /// The address of the target.
        to: Ipv4Addr,
    },
    /// A socket that sends from the static address cannot be opened.
    #[error("the node part cannot send from {address} ({source}): see its log")]
    Socket {
        /// The static address.
        address: Ipv4Addr,
        /// The error of the system.
        source: io::Error,
    },
    /// No answer came within the limit.
    #[error(
        "{target} does not answer within {limit:?}: check that the program runs there, and that firewalls let \
         {address} in"
    )]
    Silent {
        /// Host and port of the target.
        target: String,
        /// The static address.
        address: Ipv4Addr,
        /// The time limit of the attempt.
        limit: Duration,
    },
    /// The connection was refused or closed.
    #[error(
        "the connection to {target} failed ({source}): check that mooring echo runs there, and that firewalls let \
         {address} in"
    )]
    Connection {
        /// Host and port of the target.
        target: String,
        /// The static address.
        address: Ipv4Addr,
        /// The error of the connection.
        source: io::Error,
    },
    /// The answer is not an IPv4 address.
    #[error(
        "{target} answers \"{answer}\", which is not an IPv4 address: check that mooring echo runs there"
    )]
    Unreadable {
        /// Host and port of the target.
        target: String,
        /// The answer, with special characters escaped.
        answer: String,
    },
}

/// Makes one attempt.
pub(super) async fn attempt(order: &Order, limit: Duration) -> Attempt {
    let silent = || AttemptError::Silent {
        target: order.probed.target.clone(),
        address: order.probed.address,
        limit,
    };
    let asked = timeout(limit, ask(order)).await;
    match asked.unwrap_or_else(|_| Err(silent())) {
        Ok((observed, time)) => Attempt::Answer {
            observed,
            // Less than a millisecond is reported as one.
            round_trip: u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1),
        },
        Err(error) => Attempt::Failed {
            message: error.to_string(),
            lasting: matches!(error, AttemptError::NotRouted { .. }),
        },
    }
}

async fn ask(order: &Order) -> Result<(Ipv4Addr, Duration), AttemptError> {
    let (target, address) = (&order.probed.target, order.probed.address);
    let broken = |source| AttemptError::Connection {
        target: target.clone(),
        address,
        source,
    };
    let to = destination(order).await?;
    let socket = open(order).map_err(|source| AttemptError::Socket { address, source })?;
    let begin = Instant::now();
    let mut stream = socket.connect(to.into()).await.map_err(broken)?;
    let round_trip = begin.elapsed();
    let answer = read(&mut stream).await.map_err(broken)?;
    // The attempt succeeded: close the connection normally instead of with a reset.
    SockRef::from(&stream).set_linger(None).map_err(broken)?;
    let text = String::from_utf8_lossy(&answer);
    let seen = text
        .trim_end()
        .parse()
        .map_err(|_| AttemptError::Unreadable {
            target: target.clone(),
            answer: text.trim_end().escape_default().to_string(),
        })?;
    Ok((seen, round_trip))
}

/// The first address of the target to which packets leave with the static address.
async fn destination(order: &Order) -> Result<SocketAddrV4, AttemptError> {
    let target = &order.probed.target;
    let found = tokio::net::lookup_host(target).await;
    let found = found.map_err(|source| AttemptError::Lookup {
        target: target.clone(),
        source,
    })?;
    let mut elsewhere = None;
    for to in found {
        let SocketAddr::V4(to) = to else { continue };
        if order.destinations.uses_static_address(*to.ip()) {
            return Ok(to);
        }
        elsewhere = elsewhere.or(Some(*to.ip()));
    }
    let target = target.clone();
    Err(match elsewhere {
        Some(to) => AttemptError::NotRouted { target, to },
        None => AttemptError::NoAddress(target),
    })
}

/// Opens a socket that sends from the static address, only by the ENI of the address.
fn open(order: &Order) -> io::Result<TcpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.bind_device(Some(order.link.as_bytes()))?;
    if let Some(mark) = order.mark {
        // The node does not have the address, so only a transparent socket can bind it. The mark selects the route
        // table.
        socket.set_ip_transparent_v4(true)?;
        socket.set_mark(mark)?;
    }
    // An attempt that is aborted sends at most a reset.
    socket.set_linger(Some(Duration::ZERO))?;
    socket.bind(&SocketAddrV4::new(order.probed.address, 0).into())?;
    Ok(TcpSocket::from_std_stream(socket.into()))
}

/// Reads up to a newline, the end of the stream, or [`LONGEST`] bytes.
async fn read(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut answer = Vec::with_capacity(LONGEST);
    let mut limited = stream.take(LONGEST as u64);
    while !answer.ends_with(b"\n") {
        if limited.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(answer)
}
