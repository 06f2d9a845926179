//! Whatever happens in whatever order, the kernel comes to the same state, by ways on which no packet leaves wrongly.

use proptest::prelude::*;
use serde_json::Value;

use super::kernel::{apply, changes, settle};
use super::scenes::{kernel, objects, with};
use crate::node::difference::Change;
use crate::node::objects::{Objects, Route};
use crate::node::state::KernelState;
use crate::node::table::Table;

/// Objects with up to four pods, each with or without its claim, on one interface or on two.
fn any_objects(interfaces: u8) -> impl Strategy<Value = Objects> {
    let pod = (0..interfaces, any::<bool>(), 0..4_u8, 0..3_u8);
    proptest::collection::vec(pod, 4).prop_map(|pods| {
        let mut wish = objects();
        for (number, (interface, host, state, routes)) in (1..).zip(pods) {
            if state == 0 {
                continue;
            }
            wish = with(wish, number, interface + 1, host && number > 2);
            let ip = wish.ips.get_mut(&format!("ip-{number}")).unwrap();
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
        wish
    })
}

/// Nothing that other programs made.
fn ours(change: &Change) -> bool {
    match change {
        Change::RemoveAddress(local) | Change::AddAddress(local) => local.ours,
        Change::SetReversePath { name, .. } => name != "eth0",
        _ => true,
    }
}

/// Each pod whose packets pass has everything that gives them their source.
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
        for wish in &history {
            settle(wish, &mut led);
        }
        settle(&end, &mut led);
        prop_assert_eq!(led, direct);
    }

    #[test]
    fn nothing_is_left_after_nothing_is_wished(history in proptest::collection::vec(any_objects(2), 1..4)) {
        let mut kernel = kernel();
        let before = kernel.clone();
        for wish in &history {
            settle(wish, &mut kernel);
        }
        settle(&Objects::default(), &mut kernel);
        prop_assert_eq!(kernel, before);
    }

    #[test]
    fn every_step_can_be_the_last_and_lets_no_packet_leave_wrongly(
        before in any_objects(2), after in any_objects(2), end in 0..20_usize,
    ) {
        let mut kernel = kernel();
        settle(&before, &mut kernel);
        let mut expected = kernel.clone();
        settle(&after, &mut expected);
        for change in changes(&after, &kernel).iter().take(end) {
            prop_assert!(ours(change), "{change}");
            apply(&mut kernel, change);
            let table = kernel.table.as_ref().unwrap();
            prop_assert_eq!(right(table), Ok(()), "after {}", change);
            prop_assert!(ways(&kernel), "after {change}: marks without a way");
        }
        settle(&after, &mut kernel);
        prop_assert_eq!(kernel, expected);
    }
}

/// Each mark that the table restores has its rule, and the table of the rule a default route.
fn ways(kernel: &KernelState) -> bool {
    let table = kernel.table.as_ref().unwrap();
    table.pairs("restore").all(|(mark, _)| {
        kernel.rules.iter().any(|rule| {
            let marked = matches!(rule.selector, crate::node::state::Selector::Mark { mark: of, .. } if *mark == of);
            marked && kernel.routes.iter().any(|route| route.table == rule.table && route.to.prefix_len() == 0)
        }) || !table.pairs("arrived").any(|(_, jump)| {
            let target = jump["jump"]["target"].as_str().unwrap_or_default();
            table.pairs("restore").any(|(of, restore)| {
                of == mark && restore["jump"]["target"].as_str() == Some(&target.replace("mark", "restore"))
            })
        })
    })
}
