//! The observed state of the kernel: all interfaces and addresses, but only the rules, the routes and the
//! nftables table of Mooring.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use ipnet::Ipv4Net;
use serde_json::Value;

use super::objects::Mac;
use super::table::Table;

/// Map of the table: an interface to its `rp_filter` before Mooring changed it. No rule reads the map.
pub const REVERSE_PATH: &str = "rp_filter";

/// Map: the MAC of an ENI to the mark of its slot. No rule reads it. It stores the slot across restarts.
pub const INTERFACES: &str = "interfaces";
/// Map: interface and source to the static address, for pods.
pub const AS_ADDRESS: &str = "as_address";
/// Map: interface and static address to the same address, for programs in the namespace of the node and for the probe.
pub const HOST: &str = "host";

/// The host interface that every Cilium agent creates (`defaults.HostDevice` of cilium/cilium).
const CILIUM: &str = "cilium_host";

/// The host interface that Calico creates for its BPF data plane, unless all Services are translated at `connect`
/// (`dataplanedefs.BPFInDev` of projectcalico/calico).
const CALICO_BPF: &str = "bpfin.cali";

/// The state of the kernel at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelState {
    /// Interfaces by index.
    pub links: BTreeMap<u32, Link>,
    /// `net.ipv4.conf.all.rp_filter`. The kernel uses the greater one of this value and that of the interface.
    pub all_reverse_path: u32,
    /// IPv4 addresses of the node.
    pub addresses: BTreeSet<LocalAddress>,
    /// Rules of Mooring.
    pub rules: BTreeSet<Rule>,
    /// Addresses of pods whose packets follow a rule of another program before those of Mooring. It selects what comes
    /// from the interface of the pod, as the AWS VPC CNI does for security groups of pods in the mode `strict`, or what
    /// has the address of the pod as its source, as Cilium does in ENI mode.
    pub diverted: BTreeSet<Ipv4Addr>,
    /// Addresses for which another program made a route of their own (/32), as CNIs do for the pods of the node. They
    /// are read only where Cilium runs.
    pub single_routes: BTreeSet<Ipv4Addr>,
    /// Routes in the tables of Mooring.
    pub routes: BTreeSet<RouteEntry>,
    /// The nftables table of Mooring. None: it does not exist.
    pub table: Option<Table>,
    /// The `rp_filter` of each interface before Mooring changed it, by name. The table stores it. If another program
    /// deletes the table, the copy in this process is used.
    pub reverse_path: BTreeMap<String, u32>,
    /// The mark of the slot of each ENI. Stored like `reverse_path`.
    pub marks: BTreeMap<Mac, u32>,
    /// The static addresses that the table translates, with the names of their interfaces. Kept like `reverse_path`.
    pub programmed: BTreeSet<(String, Ipv4Addr)>,
    /// The kernel refused to correct connections before, those of these addresses among them. No read shows this.
    pub uncorrected: Option<BTreeSet<Ipv4Addr>>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its MAC.
    pub mac: Option<Mac>,
    /// Whether it is a hardware interface or one end of a veth pair. False for an interface on top of another one
    /// whose MAC it shares (VLAN, bridge, bond).
    pub own_mac: bool,
    /// Whether the interface is up.
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Which packets the rule applies to.
    pub selector: Selector,
    /// The route table.
    pub table: u32,
}

/// The packets that a rule selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// Packets with a mark (within the mask of the settings).
    Mark {
        /// The mark.
        mark: u32,
        /// The bits that are compared.
        mask: u32,
    },
    /// Packets from an address.
    From(Ipv4Addr),
    /// Packets from an address to which the table has a route for a single address (/32), as CNIs make for the pods of
    /// the node.
    FromToSingle(Ipv4Addr),
    /// The way back to the pod that sent a packet with a mark, where the table has a route for this single address (/32).
    /// The kernel looks this way up as if the answer came in by the interface by which the packet leaves
    /// (`__fib_validate_source` of Linux).
    WayBack {
        /// The mark.
        mark: u32,
        /// The bits that are compared.
        mask: u32,
        /// The name of the interface.
        link: String,
    },
}

impl Selector {
    /// Whether the rule uses only routes to a single address.
    #[must_use]
    pub const fn single_routes(&self) -> bool {
        matches!(self, Self::FromToSingle(_) | Self::WayBack { .. })
    }
}

/// The longest prefix of the routes that a rule with [`Selector::single_routes`] leaves out.
pub const SUPPRESSED_PREFIX: u32 = 31;

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.selector {
            Selector::Mark { mark, mask } => write!(f, "fwmark {mark:#x}/{mask:#x}")?,
            Selector::From(address) | Selector::FromToSingle(address) => {
                write!(f, "from {address}")?;
            }
            Selector::WayBack { mark, mask, link } => {
                write!(f, "fwmark {mark:#x}/{mask:#x} iif {link}")?;
            }
        }
        write!(f, " lookup {}", self.table)?;
        if self.selector.single_routes() {
            write!(f, " suppress_prefixlength {SUPPRESSED_PREFIX}")?;
        }
        Ok(())
    }
}

/// A route in a table of Mooring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteEntry {
    /// The route table.
    pub table: u32,
    /// The destination.
    pub to: Ipv4Net,
    /// The next hop.
    pub via: NextHop,
    /// The index of the interface.
    pub link: u32,
}

/// The next hop of a route.
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
    /// Fills `reverse_path`, `marks` and `programmed` from the maps of the table.
    pub fn read_stored(&mut self) {
        self.reverse_path = self.stored(REVERSE_PATH);
        self.marks = self.stored(INTERFACES);
        let pairs = |map| self.table.iter().flat_map(move |table| table.pairs(map));
        let read = |(key, value): (&Value, &Value)| {
            let link = key.pointer("/concat/0")?.as_str()?;
            Some((link.to_owned(), value.as_str()?.parse().ok()?))
        };
        self.programmed = [AS_ADDRESS, HOST]
            .into_iter()
            .flat_map(pairs)
            .filter_map(read)
            .collect();
    }

    /// Whether the table translated this address on the interface with this MAC already.
    #[must_use]
    pub fn is_programmed(&self, address: Ipv4Addr, mac: Mac) -> bool {
        let link = self.link_by_mac(mac);
        link.is_ok_and(|link| self.programmed.contains(&(link.name.clone(), address)))
    }

    /// Forgets what the table stored.
    pub fn forget_stored(&mut self) {
        self.keep_stored(&Self::default());
    }

    /// Takes what the table stores from an earlier state.
    pub fn keep_stored(&mut self, before: &Self) {
        self.reverse_path.clone_from(&before.reverse_path);
        self.marks.clone_from(&before.marks);
        self.programmed.clone_from(&before.programmed);
    }

    /// The pairs of a map with numbers as values.
    fn stored<K: FromStr + Ord>(&self, map: &str) -> BTreeMap<K, u32> {
        let pairs = self.table.iter().flat_map(|table| table.pairs(map));
        let read = |(key, value): (&Value, &Value)| {
            let key = key.as_str()?.parse().ok()?;
            Some((key, u32::try_from(value.as_u64()?).ok()?))
        };
        pairs.filter_map(read).collect()
    }

    /// The interface with this MAC.
    ///
    /// # Errors
    /// The number of interfaces with this MAC, if it is not exactly one.
    pub fn link_by_mac(&self, mac: Mac) -> Result<&Link, usize> {
        self.indexed_by_mac(mac).map(|(_, link)| link)
    }

    /// The interface with this MAC, and its index.
    ///
    /// # Errors
    /// The number of interfaces with this MAC, if it is not exactly one.
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

    /// Whether Cilium runs on the node. Its routing mode is visible only in its BPF maps and programs.
    #[must_use]
    pub fn has_cilium(&self) -> bool {
        self.links.values().any(|link| link.name == CILIUM)
    }

    /// Whether Calico's BPF programs pass the packets of the pods of the node.
    #[must_use]
    pub fn has_calico_bpf(&self) -> bool {
        self.links.values().any(|link| link.name == CALICO_BPF)
    }

    /// Whether another program gave the interface an address.
    #[must_use]
    pub fn has_address(&self, link: u32) -> bool {
        self.addresses
            .iter()
            .any(|local| local.link == link && !local.ours)
    }

    /// Whether another program gave the node this address.
    #[must_use]
    pub fn is_local(&self, address: Ipv4Addr) -> bool {
        self.addresses
            .iter()
            .any(|local| local.address == address && !local.ours)
    }
}
