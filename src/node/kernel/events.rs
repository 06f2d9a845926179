//! Notifications of the kernel about changes.
//!
//! Messages are not decoded: each one only starts a comparison. If messages were lost (a socket buffer
//! overflowed), this counts as a change of everything.

use netlink_proto::sys::protocols::{NETLINK_NETFILTER, NETLINK_ROUTE};
use netlink_proto::sys::{AsyncSocket, AsyncSocketExt as _, SocketAddr, TokioSocket};

use super::error::KernelError;
use crate::node::settings::TABLE;

/// Groups of rtnetlink (linux/rtnetlink.h): link, IPv4 address, route, rule and netconf.
const ROUTE_GROUPS: [u32; 5] = [1, 5, 7, 8, 24];
/// `NFNLGRP_NFTABLES` (linux/netfilter/nfnetlink.h).
const TABLE_GROUP: u32 = 7;

/// The part of the kernel state that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Interfaces, addresses, rules, routes or `rp_filter`, changed by any program.
    Routes,
    /// The nftables table of Mooring.
    Table,
    /// Possibly everything: messages were lost.
    All,
}

/// The notifications of the network namespace in which [`KernelEvents::open`] was called.
pub struct KernelEvents {
    routes: TokioSocket,
    tables: TokioSocket,
}

impl KernelEvents {
    /// Opens the sockets. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// A netlink socket cannot be opened.
    pub fn open() -> Result<Self, KernelError> {
        let routes = open(NETLINK_ROUTE, &ROUTE_GROUPS);
        let tables = open(NETLINK_NETFILTER, &[TABLE_GROUP]);
        let failed = |source| KernelError::Socket {
            what: "events",
            source,
        };
        Ok(Self {
            routes: routes.map_err(failed)?,
            tables: tables.map_err(failed)?,
        })
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> Part {
        loop {
            tokio::select! {
                message = self.routes.recv_from_full() => {
                    return if message.is_ok() { Part::Routes } else { Part::All };
                }
                message = self.tables.recv_from_full() => match message {
                    Ok((message, _)) if names_table(&message) => return Part::Table,
                    Ok(_) => {}
                    Err(_) => return Part::All,
                },
            }
        }
    }
}

fn open(protocol: isize, groups: &[u32]) -> std::io::Result<TokioSocket> {
    let mut socket = TokioSocket::new(protocol)?;
    let inner = socket.socket_mut();
    inner.bind(&SocketAddr::new(0, 0))?;
    for group in groups {
        inner.add_membership(*group)?;
    }
    Ok(socket)
}

/// Whether the message is about the table of Mooring: such a message contains the name, with a zero byte at its end.
fn names_table(message: &[u8]) -> bool {
    let name = [TABLE.as_bytes(), b"\0"].concat();
    message.windows(name.len()).any(|window| window == name)
}
