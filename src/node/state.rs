//! What the kernel shows: interfaces and addresses of all programs, and rules, routes and the
//! nftables table of Mooring alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::objects::Mac;
use super::table::Table;

/// Map of the table: an interface to the `rp_filter` that it had before. No rule reads it.
pub const REVERSE_PATH: &str = "rp_filter";

/// The interface of the host that every Cilium makes (`defaults.HostDevice` of cilium/cilium).
const CILIUM: &str = "cilium_host";

/// What the kernel shows at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelState {
    /// Interfaces by index.
    pub links: BTreeMap<u32, Link>,
    /// IPv4 addresses of the node.
    pub addresses: BTreeSet<LocalAddress>,
    /// Rules of Mooring.
    pub rules: BTreeSet<Rule>,
    /// Routes of Mooring.
    pub routes: BTreeSet<RouteEntry>,
    /// The nftables table of Mooring, if there is one.
    pub table: Option<Table>,
    /// What `rp_filter` of interfaces was before Mooring changed it, by name: the table has it, and the process
    /// remembers it when another program deletes the table.
    pub reverse_path: BTreeMap<String, u32>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its MAC.
    pub mac: Option<Mac>,
    /// Whether it is a hardware interface or the end of a virtual wire; not one that was made on top of
    /// another interface and shares its MAC (VLAN, bridge, bond).
    pub own_mac: bool,
    /// Whether it is up.
    pub up: bool,
    /// `net.ipv4.conf.*.forwarding`.
    pub forwarding: bool,
    /// `net.ipv4.conf.*.rp_filter`: 0 off, 1 strict, 2 loose.
    pub rp_filter: u32,
}

/// An address of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalAddress {
    /// The index of the interface.
    pub link: u32,
    /// The address.
    pub address: Ipv4Addr,
    /// The length of its prefix.
    pub prefix: u8,
    /// Whether Mooring added it.
    pub ours: bool,
}

/// A rule (`ip rule`) with the priority of Mooring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Which packets it is for.
    pub selector: Selector,
    /// The route table.
    pub table: u32,
}

/// The packets of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// Packets with a mark (within the mask of the settings).
    Mark {
        /// The mark.
        mark: u32,
        /// The bits that count.
        mask: u32,
    },
    /// Packets from an address.
    From(Ipv4Addr),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.selector {
            Selector::Mark { mark, mask } => write!(f, "fwmark {mark:#x}/{mask:#x}")?,
            Selector::From(address) => write!(f, "from {address}")?,
        }
        write!(f, " lookup {}", self.table)
    }
}

/// A route in a table of Mooring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteEntry {
    /// The route table.
    pub table: u32,
    /// The destination.
    pub to: Ipv4Net,
    /// Where its packets go.
    pub via: NextHop,
    /// The index of the interface.
    pub link: u32,
}

/// Where the packets of a route go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NextHop {
    /// To a gateway, reached directly over the interface.
    Gateway(Ipv4Addr),
    /// To the programs of this node.
    Local,
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(gateway) => gateway.fmt(f),
            Self::Local => f.write_str("local delivery"),
        }
    }
}

impl KernelState {
    /// Takes in what the table keeps of the time before Mooring.
    pub fn read_reverse_path(&mut self) {
        let kept = self
            .table
            .iter()
            .flat_map(|table| table.pairs(REVERSE_PATH));
        let kept = kept.filter_map(|(name, value)| {
            Some((
                name.as_str()?.to_owned(),
                u32::try_from(value.as_u64()?).ok()?,
            ))
        });
        self.reverse_path.extend(kept);
    }

    /// The interface with this MAC.
    ///
    /// # Errors
    /// The number of interfaces that have it, if it is not one.
    pub fn link_by_mac(&self, mac: Mac) -> Result<&Link, usize> {
        self.indexed_by_mac(mac).map(|(_, link)| link)
    }

    /// The interface with this MAC, and its index.
    ///
    /// # Errors
    /// The number of interfaces that have it, if it is not one.
    pub fn indexed_by_mac(&self, mac: Mac) -> Result<(u32, &Link), usize> {
        let found: Vec<_> = self
            .links
            .iter()
            .filter(|(_, link)| link.mac == Some(mac) && link.own_mac)
            .collect();
        match found.as_slice() {
            [(index, link)] => Ok((**index, link)),
            others => Err(others.len()),
        }
    }

    /// Whether Cilium runs on the node. How it routes the packets of pods is in its BPF maps and programs alone.
    #[must_use]
    pub fn has_cilium(&self) -> bool {
        self.links.values().any(|link| link.name == CILIUM)
    }

    /// Whether another program gave the node this address.
    #[must_use]
    pub fn is_local(&self, address: Ipv4Addr) -> bool {
        self.addresses
            .iter()
            .any(|local| local.address == address && !local.ours)
    }
}
