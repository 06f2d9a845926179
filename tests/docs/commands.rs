//! The commands, the policy and the Events that users must find as they are.

use std::collections::BTreeSet;

use mooring_plan::outcome::Action;
use serde_json::Value;

use crate::{pages, read};

/// Other projects use the same names for their own kinds, and `ip` is a short name of the `IPAddress` of Kubernetes, a name
/// that others use too.
#[test]
fn a_command_that_changes_or_deletes_objects_names_their_group() {
    const BARE: [&str; 8] = [
        "ip",
        "ips",
        "ipaddress",
        "ipaddresses",
        "ipblock",
        "ipblocks",
        "ipnode",
        "ipnodes",
    ];
    let (mut wrong, mut right) = (Vec::new(), 0);
    for page in pages().iter().filter(|page| page.starts_with("docs/")) {
        for command in read(page).split("kubectl ").skip(1) {
            let command = command.split(['`', '\n']).next().unwrap();
            let mut words = command.split_whitespace();
            if !matches!(
                words.next(),
                Some("annotate" | "delete" | "edit" | "label" | "patch")
            ) {
                continue;
            }
            let kinds = words.flat_map(|word| word.split(','));
            let kinds: Vec<_> = kinds.filter_map(|kind| kind.split('/').next()).collect();
            if kinds.iter().any(|kind| BARE.contains(kind)) {
                wrong.push(format!("{page}: kubectl {command}"));
            }
            right += usize::from(kinds.iter().any(|kind| kind.ends_with(".ip.wgtwo.com")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(right > 5, "{right} commands name the group");
}

/// Every block has its own subnet.
#[test]
fn the_iam_policy_has_each_action_and_lists_several_subnets() {
    let page = read("docs/install.md");
    let (_, section) = page.split_once("\n## IAM policy\n").unwrap();
    let (_, policy) = section.split_once("```json\n").unwrap();
    let (policy, _) = policy.split_once("```").unwrap();
    let policy: Value = serde_json::from_str(policy).unwrap();
    let actions = |statement: &Value| {
        let actions = statement["Action"].as_array().unwrap().iter();
        let actions = actions.map(|action| action.as_str().unwrap().to_owned());
        actions.collect::<BTreeSet<_>>()
    };
    let named = |mutates: bool| {
        let those = Action::ALL.iter().filter(|it| it.mutates() == mutates);
        those.map(|action| format!("ec2:{action}")).collect()
    };
    let [reads, writes] = policy["Statement"].as_array().unwrap().as_slice() else {
        panic!("{policy:#}");
    };
    assert_eq!(
        (actions(reads), actions(writes)),
        (named(false), named(true))
    );
    let subnets = &writes["Condition"]["StringEquals"]["ec2:Subnet"];
    assert!(
        subnets.as_array().is_some_and(|list| list.len() > 1),
        "{subnets}"
    );
}

#[test]
fn every_event_about_a_certificate_has_a_row_with_what_to_do() {
    let (reference, operate) = (read("docs/reference.md"), read("docs/operate.md"));
    let source = read("src/cli/certificate.rs");
    let reasons = source.split(".warn(").skip(1);
    let reasons: BTreeSet<_> = reasons
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    for reason in reasons {
        assert!(operate.contains(&format!("\n| `{reason}` |")), "{reason}");
        assert!(reference.contains(&format!("`{reason}`")), "{reason}");
    }
}
