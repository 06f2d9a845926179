//! Interfaces, addresses, rules and routes, by rtnetlink.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::{fs, io};

use futures::TryStreamExt as _;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::AddressAttribute;
use netlink_packet_route::route::{RouteProtocol, RouteType};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use rtnetlink::{Handle, RouteMessageBuilder};

use super::diverting::{Diverting, read_diverting};
use super::error::KernelError;
use super::limit::in_time;
use super::route_messages::{
    address_message, read_address, read_link, read_route, reverse_path_message, route_message,
};
use crate::node::difference::Change;
use crate::node::settings::{NodeSettings, PROTOCOL};
use crate::node::state::{KernelState, Rule, SUPPRESSED_PREFIX, Selector};

/// A connection to rtnetlink.
pub(super) struct Routing {
    handle: Handle,
    settings: NodeSettings,
    driver: tokio::task::JoinHandle<()>,
}

impl Drop for Routing {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Routing {
    pub(super) fn open(settings: NodeSettings) -> Result<Self, KernelError> {
        let (connection, handle, _) = rtnetlink::new_connection().map_err(|source| {
            let what = "rtnetlink";
            KernelError::Socket { what, source }
        })?;
        let driver = tokio::spawn(connection);
        Ok(Self {
            handle,
            settings,
            driver,
        })
    }

    /// Everything but the nftables table. After an error the next call uses a new socket: the old one can be the cause.
    pub(super) async fn observe(&mut self) -> Result<KernelState, KernelError> {
        let observed = in_time(&"reading the network of the node", self.read()).await;
        if observed.is_err() {
            *self = Self::open(self.settings)?;
        }
        observed
    }

    async fn read(&self) -> Result<KernelState, KernelError> {
        let mut state = KernelState {
            all_reverse_path: read_number(ALL_REVERSE_PATH)?,
            ..KernelState::default()
        };
        let mut links = self.handle.link().get().execute();
        while let Some(message) = links.try_next().await.map_err(reading("interfaces"))? {
            state
                .links
                .insert(message.header.index, read_link(&message));
        }
        let mut addresses = self.handle.address().get().execute();
        while let Some(message) = addresses.try_next().await.map_err(reading("addresses"))? {
            state.addresses.extend(read_address(&message));
        }
        let mut rules = self.handle.rule().get(rtnetlink::IpVersion::V4).execute();
        let mut diverting = BTreeSet::new();
        while let Some(message) = rules.try_next().await.map_err(reading("rules"))? {
            match read_diverting(&message, self.settings.rule_priority()) {
                Some(Diverting::Interface { table, name }) => {
                    diverting.insert((table, name));
                }
                Some(Diverting::Source(pod)) => {
                    state.diverted.insert(pod);
                }
                None => {}
            }
            state.rules.extend(self.read_rule(&message));
        }
        let cilium = state.has_cilium();
        let all = RouteMessageBuilder::<Ipv4Addr>::new().build();
        let mut routes = self.handle.route().get(all).execute();
        while let Some(message) = routes.try_next().await.map_err(reading("routes"))? {
            let Some(entry) = read_route(&message) else {
                continue;
            };
            // The table of such a rule has the route back to the pod.
            if !diverting.is_empty() && entry.to.prefix_len() == 32 {
                let link = state.links.get(&entry.link);
                let back = link.map(|link| (entry.table, link.name.clone()));
                if back.is_some_and(|back| diverting.contains(&back)) {
                    state.diverted.insert(entry.to.addr());
                }
            }
            let ours = u8::from(message.header.protocol) == PROTOCOL;
            let single = entry.to.prefix_len() == 32 && message.header.kind == RouteType::Unicast;
            if cilium && single && !ours {
                state.single_routes.insert(entry.to.addr());
            }
            if ours && self.settings.tables().contains(&entry.table) {
                state.routes.insert(entry);
            }
        }
        Ok(state)
    }

    fn read_rule(&self, rule: &RuleMessage) -> Option<Rule> {
        let (mut ours, mut priority, mut from, mut input) = (false, 0, None, None);
        let (mut mark, mut bits, mut suppressed) = (None, u32::MAX, None);
        let mut table = u32::from(rule.header.table);
        for attribute in &rule.attributes {
            match attribute {
                RuleAttribute::Protocol(protocol) => ours = u8::from(*protocol) == PROTOCOL,
                RuleAttribute::Priority(value) => priority = *value,
                RuleAttribute::FwMark(value) => mark = Some(*value),
                RuleAttribute::FwMask(value) => bits = *value,
                RuleAttribute::Source(IpAddr::V4(address)) => from = Some(*address),
                RuleAttribute::Iifname(name) => input = Some(name.clone()),
                RuleAttribute::Table(value) => table = *value,
                // The kernel shows all bits if nothing is suppressed.
                RuleAttribute::SuppressPrefixLen(value) => {
                    suppressed = Some(*value).filter(|value| *value != u32::MAX);
                }
                _ => {}
            }
        }
        let selector = match (mark, from, input, suppressed) {
            (Some(mark), None, None, None) => Selector::Mark { mark, mask: bits },
            (None, Some(from), None, None) => Selector::From(from),
            (None, Some(from), None, Some(SUPPRESSED_PREFIX)) => Selector::FromToSingle(from),
            (Some(mark), None, Some(link), Some(SUPPRESSED_PREFIX)) => Selector::WayBack {
                mark,
                mask: bits,
                link,
            },
            _ => return None,
        };
        (ours && priority == self.priority(&selector)).then_some(Rule { selector, table })
    }

    pub(super) async fn apply(&self, change: &Change) -> Result<(), KernelError> {
        let (done, harmless) = match change {
            Change::AddRoute(route) => {
                let request = self.handle.route().add(route_message(route));
                (request.execute().await, NONE)
            }
            Change::ReplaceRoute(route) => {
                let request = self.handle.route().add(route_message(route));
                (request.replace().execute().await, NONE)
            }
            Change::RemoveRoute(route) => {
                let request = self.handle.route().del(route_message(route));
                (request.execute().await, ABSENT)
            }
            Change::AddRule(rule) => {
                let mut request = self.handle.rule().add();
                *request.message_mut() = self.rule_message(rule);
                (request.execute().await, EXISTS)
            }
            Change::RemoveRule(rule) => {
                let request = self.handle.rule().del(self.rule_message(rule));
                (request.execute().await, ABSENT)
            }
            Change::AddAddress(local) => {
                let address = IpAddr::V4(local.address);
                let mut request = self.handle.address().add(local.link, address, local.prefix);
                let attributes = &mut request.message_mut().attributes;
                attributes.push(AddressAttribute::Protocol(PROTOCOL.into()));
                (request.execute().await, EXISTS)
            }
            Change::RemoveAddress(local) => {
                let request = self.handle.address().del(address_message(local));
                (request.execute().await, ABSENT)
            }
            Change::SetReversePath { link, value, .. } => {
                let message = reverse_path_message(*link, *value);
                (self.handle.link().set(message).execute().await, NO_DEVICE)
            }
            Change::UpdateTable(_)
            | Change::ReplaceTable(_)
            | Change::RemoveTable
            | Change::ForgetConnections(_) => {
                return Ok(());
            }
        };
        match done {
            Err(rtnetlink::Error::NetlinkError(error))
                if error
                    .code
                    .is_some_and(|code| harmless.contains(&-code.get())) =>
            {
                Ok(())
            }
            done => done.map_err(|source| KernelError::Route {
                what: change.to_string(),
                source,
            }),
        }
    }

    const fn priority(&self, selector: &Selector) -> u32 {
        if selector.single_routes() {
            self.settings.earlier_priority()
        } else {
            self.settings.rule_priority()
        }
    }

    fn rule_message(&self, rule: &Rule) -> RuleMessage {
        let mut message = RuleMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![
            RuleAttribute::Priority(self.priority(&rule.selector)),
            RuleAttribute::Protocol(RouteProtocol::from(PROTOCOL)),
            RuleAttribute::Table(rule.table),
        ];
        match &rule.selector {
            Selector::Mark { mark, mask } => message
                .attributes
                .extend([RuleAttribute::FwMark(*mark), RuleAttribute::FwMask(*mask)]),
            Selector::From(address) | Selector::FromToSingle(address) => {
                message.header.src_len = 32;
                message
                    .attributes
                    .push(RuleAttribute::Source((*address).into()));
            }
            Selector::WayBack { mark, mask, link } => message.attributes.extend([
                RuleAttribute::FwMark(*mark),
                RuleAttribute::FwMask(*mask),
                RuleAttribute::Iifname(link.clone()),
            ]),
        }
        if rule.selector.single_routes() {
            let suppressed = RuleAttribute::SuppressPrefixLen(SUPPRESSED_PREFIX);
            message.attributes.push(suppressed);
        }
        message
    }
}

/// `net.ipv4.conf.all.rp_filter`. The file shows the network namespace of the thread that reads it.
const ALL_REVERSE_PATH: &str = "/proc/sys/net/ipv4/conf/all/rp_filter";

fn read_number(path: &'static str) -> Result<u32, KernelError> {
    let text = fs::read_to_string(path);
    let number = text.and_then(|text| text.trim().parse().map_err(io::Error::other));
    number.map_err(|source| KernelError::File { path, source })
}

const NONE: &[i32] = &[];
/// `EEXIST`.
const EXISTS: &[i32] = &[17];
/// `ENOENT`, `ESRCH`, `ENODEV`, `EADDRNOTAVAIL`.
const ABSENT: &[i32] = &[2, 3, 19, 99];
/// `ENODEV`.
const NO_DEVICE: &[i32] = &[19];

fn reading(what: &'static str) -> impl Fn(rtnetlink::Error) -> KernelError {
    move |source| KernelError::Route {
        what: format!("reading {what}"),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn after_a_socket_has_failed_the_next_comparison_uses_another_one() {
        let mut routing = Routing::open(NodeSettings::default()).unwrap();
        routing.driver.abort();
        tokio::task::yield_now().await;
        routing.observe().await.unwrap_err();
        assert!(!routing.observe().await.unwrap().links.is_empty());
    }
}
