//! For all events in all orders the kernel reaches the same state, and at no step a packet leaves with a wrong source.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::kernel::{apply, changes, settle};
use super::scenes::{kernel, objects, with, with_probe};
use crate::node::difference::Change;
use crate::node::objects::{Objects, Route};
use crate::node::settings::NodeSettings;
use crate::node::state::{KernelState, NextHop, Selector};
use crate::node::table::Table;

/// Objects with up to four pods, each with or without its claim, on one or two interfaces, in a block with or without
/// a probe.
fn any_objects(interfaces: u8) -> impl Strategy<Value = Objects> {
    let pod = (0..interfaces, any::<bool>(), 0..4_u8, 0..3_u8);
    let pods = proptest::collection::vec(pod, 4);
    (pods, any::<bool>()).prop_map(|(pods, probe)| {
        let mut objects = objects();
        if probe {
            objects = with_probe(objects);
        }
        for (number, (interface, host, state, routes)) in (1..).zip(pods) {
            if state == 0 {
                continue;
            }
            objects = with(objects, number, interface + 1, host && number > 2);
            let ip = objects.ips.get_mut(&format!("ip-{number}")).unwrap();
            for more in 0..routes {
                ip.routes.push(Route {
                    to: format!("192.0.2.{}/32", more + 1).parse().unwrap(),
                    via: (more == 1).then(|| "203.0.113.200".parse().unwrap()),
                    optional: more == 0,
                });
            }
            match state {
                1 => ip.claim = None,
                2 => ip.claim.as_mut().unwrap().assigned = false,
                _ => {}
            }
        }
        objects
    })
}

/// Whether the change affects only what Mooring owns.
fn ours(change: &Change) -> bool {
    match change {
        Change::RemoveAddress(local) | Change::AddAddress(local) => local.ours,
        Change::SetReversePath { name, .. } => name != "eth0",
        _ => true,
    }
}

/// The chain that guards each pod.
fn guards(kernel: &KernelState) -> BTreeMap<String, String> {
    let pairs = kernel.table.iter().flat_map(|table| table.pairs("guarded"));
    let chain = |jump: &Value| jump["jump"]["target"].as_str().unwrap().to_owned();
    pairs
        .map(|(pod, jump)| (pod.to_string(), chain(jump)))
        .collect()
}

/// Checks that each pod whose packets pass has all the rules that set their source.
fn right(table: &Table) -> Result<(), String> {
    let value = |map: &str, key: &Value| {
        let mut pairs = table.pairs(map);
        pairs
            .find(|(present, _)| *present == key)
            .map(|(_, value)| value.clone())
    };
    for (pod, jump) in table.pairs("guarded") {
        let target = jump["jump"]["target"].as_str().unwrap();
        let chain = table
            .chains
            .get(target)
            .filter(|chain| !chain.rules.is_empty());
        if chain.is_none() {
            return Err(format!("{pod} is guarded by {target}, which is empty"));
        }
        let Some(of) = target.strip_prefix("guard_") else {
            continue;
        };
        let leaving = value("leaving", pod).map(|jump| jump["jump"]["target"].clone());
        if leaving != Some(Value::from(format!("leave_{of}"))) {
            return Err(format!(
                "{pod} passes by {target} and leaves by {leaving:?}"
            ));
        }
        let source = table
            .pairs("as_address")
            .find(|(key, _)| key["concat"][1] == *pod);
        let reached = source.map(|(_, address)| value("to_pod", address));
        if reached != Some(Some(pod.clone())) {
            return Err(format!("{pod} passes without its address"));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_order_of_events_ends_in_the_same_state(
        history in proptest::collection::vec(any_objects(1), 0..4),
        end in any_objects(1),
    ) {
        let mut direct = kernel();
        settle(&end, &mut direct);
        let mut led = kernel();
        for objects in &history {
            settle(objects, &mut led);
        }
        settle(&end, &mut led);
        prop_assert_eq!(led, direct);
    }

    #[test]
    fn an_empty_desired_state_leaves_nothing(history in proptest::collection::vec(any_objects(2), 1..4)) {
        let mut kernel = kernel();
        let before = kernel.clone();
        for objects in &history {
            settle(objects, &mut kernel);
        }
        settle(&Objects::default(), &mut kernel);
        prop_assert_eq!(kernel, before);
    }

    #[test]
    fn an_interruption_after_any_step_lets_no_packet_out_with_a_wrong_source(
        before in any_objects(2), after in any_objects(2), end in 0..20_usize,
    ) {
        let mut kernel = kernel();
        settle(&before, &mut kernel);
        let mut expected = kernel.clone();
        settle(&after, &mut expected);
        let (first, last, mut forgotten) = (guards(&kernel), guards(&expected), false);
        let changes = changes(&after, &kernel);
        // If no address was or is programmed, there are no conntrack entries to delete.
        let forgets = changes.iter().any(|change| matches!(change, Change::ForgetConnections(_)));
        for change in changes.iter().take(end) {
            prop_assert!(ours(change), "{change}");
            apply(&mut kernel, change);
            forgotten |= matches!(change, Change::ForgetConnections(_));
            for (pod, guard) in guards(&kernel) {
                let opened = guard.starts_with("guard_") && first.get(&pod) != Some(&guard);
                prop_assert!(forgotten || !opened, "{pod} is open before its connections are forgotten");
            }
            for (pod, guard) in first.iter().filter(|(pod, _)| !last.contains_key(*pod)) {
                let open = !guards(&kernel).contains_key(pod);
                let only_closed = !forgets && guard.starts_with("closed_");
                prop_assert!(forgotten || only_closed || !open, "{pod} with {guard} is free before its connections are forgotten");
            }
            let table = kernel.table.as_ref().unwrap();
            prop_assert_eq!(right(table), Ok(()), "after {}", change);
            prop_assert!(marks_have_routes(&kernel), "after {change}: marks without a way");
            prop_assert!(probe_returns(&kernel), "after {change}: what is sent back to the probe goes to a pod");
        }
        settle(&after, &mut kernel);
        prop_assert_eq!(kernel, expected);
    }
}

/// Each mark that the table restores has its rule, and the table of the rule a default route.
fn marks_have_routes(kernel: &KernelState) -> bool {
    let table = kernel.table.as_ref().unwrap();
    table.pairs("restore").all(|(mark, _)| {
        kernel.rules.iter().any(|rule| {
            let marked = matches!(rule.selector, Selector::Mark { mark: of, .. } if *mark == of);
            marked
                && kernel
                    .routes
                    .iter()
                    .any(|route| route.table == rule.table && route.to.prefix_len() == 0)
        }) || !table.pairs("arrived").any(|(_, jump)| {
            let target = jump["jump"]["target"].as_str().unwrap_or_default();
            table.pairs("restore").any(|(of, restore)| {
                of == mark
                    && restore["goto"]["target"].as_str()
                        == Some(&target.replace("mark", "restore"))
            })
        })
    })
}

/// Whether the replies to a probe connection reach the node part, by a rule and a local route.
fn probe_returns(kernel: &KernelState) -> bool {
    let settings = NodeSettings::default();
    let table = kernel.table.as_ref().unwrap();
    let probes = table
        .chains
        .get("probe")
        .is_some_and(|chain| !chain.rules.is_empty());
    let rule = kernel.rules.iter().any(|rule| {
        let marked =
            matches!(rule.selector, Selector::Mark { mark, .. } if mark == settings.probe_mark());
        marked && rule.table == settings.probe_table()
    });
    let mut routes = kernel.routes.iter();
    let route =
        routes.any(|route| route.table == settings.probe_table() && route.via == NextHop::Local);
    !probes || rule && route
}
