//! Messages of rtnetlink, read and written.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use netlink_packet_core::{DefaultNla, NLA_F_NESTED};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{
    AddressAttribute, AddressMessage, AddressProtocol, AddressScope,
};
use netlink_packet_route::link::{
    AfSpecInet, AfSpecUnspec, InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use rtnetlink::{LinkUnspec, RouteMessageBuilder};

use crate::node::objects::Mac;
use crate::node::settings::PROTOCOL;
use crate::node::state::{Link, LocalAddress, NextHop, RouteEntry};

/// `IFLA_INET_CONF` (`linux/if_link.h`).
const IFLA_INET_CONF: u16 = 1;
/// `linux/ip.h`.
const IPV4_DEVCONF_RP_FILTER: u16 = 8;

pub(super) fn read_link(link: &LinkMessage) -> Link {
    let mut read = Link {
        name: String::new(),
        mac: None,
        own_mac: true,
        up: link.header.flags.contains(LinkFlags::Up),
        forwarding: false,
        rp_filter: 0,
    };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => read.name.clone_from(name),
            LinkAttribute::Address(mac) => {
                read.mac = <[u8; 6]>::try_from(mac.as_slice()).ok().map(Mac);
            }
            LinkAttribute::LinkInfo(infos) => {
                read.own_mac = infos.iter().all(|info| match info {
                    LinkInfo::Kind(kind) => matches!(kind, InfoKind::Veth),
                    _ => true,
                });
            }
            LinkAttribute::AfSpecUnspec(families) => {
                for family in families {
                    let AfSpecUnspec::Inet(specs) = family else {
                        continue;
                    };
                    for spec in specs {
                        let AfSpecInet::DevConf(conf) = spec else {
                            continue;
                        };
                        read.forwarding = conf.forwarding != 0;
                        read.rp_filter = u32::try_from(conf.rp_filter).unwrap_or(0);
                    }
                }
            }
            _ => {}
        }
    }
    read
}

pub(super) fn read_address(message: &AddressMessage) -> Option<LocalAddress> {
    let (mut address, mut local, mut ours) = (None, None, false);
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Address(IpAddr::V4(value)) => address = Some(*value),
            AddressAttribute::Local(IpAddr::V4(value)) => local = Some(*value),
            AddressAttribute::Protocol(protocol) => ours = u8::from(*protocol) == PROTOCOL,
            _ => {}
        }
    }
    Some(LocalAddress {
        link: message.header.index,
        address: local.or(address)?,
        prefix: message.header.prefix_len,
        ours,
    })
}

pub(super) fn address_message(local: &LocalAddress) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = local.prefix;
    message.header.index = local.link;
    message.header.scope = AddressScope::Universe;
    message.attributes = vec![
        AddressAttribute::Local(local.address.into()),
        AddressAttribute::Address(local.address.into()),
        AddressAttribute::Protocol(AddressProtocol::from(PROTOCOL)),
    ];
    message
}

pub(super) fn read_route(route: &RouteMessage) -> Option<RouteEntry> {
    let mut entry = RouteEntry {
        table: u32::from(route.header.table),
        to: Ipv4Net::default(),
        via: match route.header.kind {
            RouteType::Local => NextHop::Local,
            _ => NextHop::Gateway(Ipv4Addr::UNSPECIFIED),
        },
        link: 0,
    };
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Table(table) => entry.table = *table,
            RouteAttribute::Destination(RouteAddress::Inet(to)) => {
                entry.to = Ipv4Net::new(*to, route.header.destination_prefix_length).ok()?;
            }
            RouteAttribute::Gateway(RouteAddress::Inet(via)) => {
                entry.via = NextHop::Gateway(*via);
            }
            RouteAttribute::Oif(link) => entry.link = *link,
            _ => {}
        }
    }
    Some(entry)
}

pub(super) fn route_message(route: &RouteEntry) -> RouteMessage {
    let message = RouteMessageBuilder::<Ipv4Addr>::new()
        .table_id(route.table)
        .protocol(RouteProtocol::from(PROTOCOL))
        .destination_prefix(route.to.network(), route.to.prefix_len())
        .output_interface(route.link);
    match route.via {
        NextHop::Gateway(gateway) => message
            .scope(RouteScope::Universe)
            .gateway(gateway)
            .onlink()
            .build(),
        NextHop::Local => message
            .scope(RouteScope::Host)
            .kind(RouteType::Local)
            .build(),
    }
}

/// The request that sets `rp_filter` alone. (The request of the library would set all other values too.)
pub(super) fn reverse_path_message(link: u32, value: u32) -> LinkMessage {
    // struct nlattr { len: 8, type: IPV4_DEVCONF_RP_FILTER }, then the value: linux/ip.h, linux/netlink.h.
    let entry: Vec<u8> = [8_u16, IPV4_DEVCONF_RP_FILTER]
        .into_iter()
        .flat_map(u16::to_ne_bytes)
        .chain(value.to_ne_bytes())
        .collect();
    let conf = AfSpecInet::Other(DefaultNla::new(IFLA_INET_CONF | NLA_F_NESTED, entry));
    LinkUnspec::new_with_index(link)
        .append_extra_attribute(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet(vec![
            conf,
        ])]))
        .build()
}
