//! Servers that answer with the source address that they see, and their clients.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recvfrom, sendto, socket,
};

use super::World;
use super::inside::{enter_network, within};

/// Time limit for an answer.
const ANSWER: Duration = Duration::from_millis(700);
const PORT: u16 = 7000;

/// The kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A TCP connection.
    Tcp,
    /// A UDP packet and its answer.
    Udp,
    /// An ICMP echo request.
    Icmp,
}

impl Protocol {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Icmp];
}

fn address(address: &str, port: u16) -> SocketAddr {
    SocketAddrV4::new(address.parse().unwrap(), port).into()
}

impl World {
    /// Starts TCP and UDP servers that answer with the source that they see. They end with the test.
    pub fn serve(&self, name: &str, at: &str) {
        let (tcp, udp) = within(&self.name(name), || {
            let tcp = TcpListener::bind(address(at, PORT)).unwrap();
            (tcp, UdpSocket::bind(address(at, PORT)).unwrap())
        });
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let Ok(mut stream) = stream else { continue };
                thread::spawn(move || {
                    let from = stream.peer_addr().map(|peer| peer.ip().to_string());
                    let _ = stream.write_all(from.unwrap_or_default().as_bytes());
                    let mut buffer = [0; 16_384];
                    while let Ok(length @ 1..) = stream.read(&mut buffer) {
                        if stream.write_all(&buffer[..length]).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        thread::spawn(move || {
            let mut buffer = [0; 100];
            while let Ok((_, from)) = udp.recv_from(&mut buffer) {
                let _ = udp.send_to(from.ip().to_string().as_bytes(), from);
            }
        });
    }

    /// Asks a server which source it sees. With ICMP the result says only that an answer came.
    pub fn ask(&self, name: &str, protocol: Protocol, to: &str) -> Result<String, String> {
        self.ask_from(name, protocol, to, "0.0.0.0")
    }

    /// As `ask`, but from a given source address.
    pub fn ask_from(
        &self,
        name: &str,
        protocol: Protocol,
        to: &str,
        from: &str,
    ) -> Result<String, String> {
        let answer = within(&self.name(name), || match protocol {
            Protocol::Tcp => tcp(to, from).and_then(|(stream, seen)| {
                end(stream)?;
                Ok(seen)
            }),
            Protocol::Udp => udp(to, from),
            Protocol::Icmp => icmp(to, from).map(|()| "an answer".to_owned()),
        });
        answer.map_err(|error| error.to_string())
    }

    /// Asks by UDP, with a short time limit.
    pub fn ask_soon(&self, name: &str, to: &str) -> Option<String> {
        within(&self.name(name), || {
            udp_within(to, "0.0.0.0", Duration::from_millis(10)).ok()
        })
    }

    /// Starts a thread in a namespace, for work that continues.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        let name = self.name(name);
        thread::spawn(move || {
            enter_network(&name);
            work()
        })
    }
}

/// Opens a connection. Returns it with the source that the other side saw.
pub fn tcp(to: &str, from: &str) -> std::io::Result<(TcpStream, String)> {
    let mut stream = if from == "0.0.0.0" {
        TcpStream::connect_timeout(&address(to, PORT), ANSWER)?
    } else {
        bound(to, from)?
    };
    stream.set_read_timeout(Some(ANSWER))?;
    let mut buffer = [0; 100];
    let length = stream.read(&mut buffer)?;
    Ok((
        stream,
        String::from_utf8_lossy(&buffer[..length]).into_owned(),
    ))
}

/// Closes the connection, and waits until the other side has closed it too: so no packet of it follows.
fn end(mut stream: TcpStream) -> std::io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}

fn bound(to: &str, from: &str) -> std::io::Result<TcpStream> {
    use rustix::net::{bind, connect, sockopt};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(ANSWER))?;
    bind(&socket, &address(from, 0))?;
    connect(&socket, &address(to, PORT))?;
    Ok(TcpStream::from(socket))
}

fn udp(to: &str, from: &str) -> std::io::Result<String> {
    udp_within(to, from, ANSWER)
}

fn udp_within(to: &str, from: &str, limit: Duration) -> std::io::Result<String> {
    let socket = UdpSocket::bind(address(from, 0))?;
    socket.connect(address(to, PORT))?;
    socket.set_read_timeout(Some(limit))?;
    socket.send(b"who")?;
    let mut buffer = [0; 100];
    let length = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Sends one echo request (RFC 792).
fn icmp(to: &str, from: &str) -> std::io::Result<()> {
    use rustix::net::{bind, sockopt};
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER))?;
    let to: Ipv4Addr = to.parse().unwrap();
    if from != "0.0.0.0" {
        bind(&socket, &address(from, 0))?;
    }
    let id = std::process::id().to_be_bytes();
    let mut packet = [8, 0, 0, 0, id[2], id[3], 0, 1];
    let sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let checksum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    packet[2..4].copy_from_slice(&checksum.to_be_bytes());
    sendto(
        &socket,
        &packet,
        SendFlags::empty(),
        &address(&to.to_string(), 0),
    )?;
    let mut buffer = [0; 200];
    loop {
        let (length, _, _) = recvfrom(&socket, &mut buffer[..], RecvFlags::empty())?;
        // The packet has an IPv4 header without options, then the answer.
        if length >= 28
            && buffer[12..16] == to.octets()
            && buffer[20] == 0
            && buffer[24..26] == id[2..]
        {
            return Ok(());
        }
    }
}
