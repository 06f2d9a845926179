//! The sockets on which the process listens.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// The process cannot listen on an address.
#[derive(Debug, thiserror::Error)]
#[error("listening on {address} for {what}")]
pub(super) struct Listen {
    address: SocketAddr,
    what: &'static str,
    source: io::Error,
}

/// Listens on an address. `[::]` means every address of both families, or only those of IPv4 where the kernel has no
/// IPv6: the kubelet and the API server use the primary address of the pod, which can be of either family.
///
/// # Errors
/// The address is in use, or not one of this machine.
pub(super) fn listen(address: SocketAddr, what: &'static str) -> Result<TcpListener, Listen> {
    let failed = |source| Listen {
        address,
        what,
        source,
    };
    let every = address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let listener = bind(address)
        .or_else(|error| {
            if every && is_without_ipv6(&error) {
                bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())))
            } else {
                Err(error)
            }
        })
        .map_err(failed)?;
    // With port 0 the system chooses a free port: log it.
    tracing::info!(address = %listener.local_addr().map_err(failed)?, "listening for {what}");
    Ok(listener)
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        // The default is a setting of the node (`net.ipv6.bindv6only`).
        socket.set_only_v6(false)?;
    }
    // A restarted process listens at once, although connections of the former one are not forgotten yet.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// True if the kernel has no IPv6 (`ipv6.disable=1`).
fn is_without_ipv6(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

    use rustix::io::Errno;
    use tokio::net::TcpStream;

    use super::{is_without_ipv6, listen};

    #[tokio::test]
    async fn every_address_is_one_of_either_family() {
        let every = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        let listener = listen(every, "a test").expect("a free port");
        let port = listener.local_addr().expect("it listens").port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .expect("by IPv4");
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port))
                .await
                .expect("by IPv6");
        }
    }

    #[tokio::test]
    async fn an_address_in_use_is_refused_with_its_purpose() {
        let one = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), "one").expect("a free port");
        let taken = one.local_addr().expect("it listens");
        let refused = listen(taken, "the webhook").expect_err("it is in use");
        assert_eq!(
            refused.to_string(),
            format!("listening on {taken} for the webhook")
        );
    }

    #[test]
    fn only_a_kernel_without_ipv6_is_tried_again_with_ipv4() {
        let error = io::Error::from_raw_os_error;
        assert!(is_without_ipv6(&error(Errno::AFNOSUPPORT.raw_os_error())));
        assert!(!is_without_ipv6(&error(Errno::ADDRINUSE.raw_os_error())));
    }
}
