//! Tests which subject must have the right to use an IP.
//! Rule: R8.20.

use mooring_plan::admission::DenyReason::Forbidden;
use mooring_plan::admission::usage::{Requester, ServiceAccount, Subject, TrustedControllers, Use};
use mooring_plan::names::IpName;

use super::refused;

fn requester(user: &str, groups: &[&str]) -> Requester {
    Requester(Subject {
        user: user.to_owned(),
        uid: "uid-1".to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        extra: [("scopes".to_owned(), vec!["all".to_owned()])].into(),
    })
}

/// A pod in namespace "shop" with this `ServiceAccount` uses the IP "partner".
fn usage(account: Option<&str>) -> Use {
    Use {
        pod: "shop/web-0".to_owned(),
        ip: IpName::from("partner"),
        account: ServiceAccount::of_pod("shop", account),
    }
}

fn trusting(users: &[&str]) -> TrustedControllers {
    users.iter().map(|&user| user.to_owned()).collect()
}

fn account(name: &str) -> Subject {
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    ];
    Subject {
        user: format!("system:serviceaccount:shop:{name}"),
        groups: groups.map(str::to_owned).into(),
        ..Subject::default()
    }
}

const ARGO: &str = "system:serviceaccount:argo:workflow-controller";

#[test]
fn the_right_of_the_user_counts_whatever_account_the_pod_has() {
    let alice = requester("alice", &["team", "system:authenticated"]);
    for named in [None, Some("gateway")] {
        let subject = usage(named).subject(&alice, &trusting(&[ARGO]));
        // UID, groups and extra are included, because an authorizer can use each of them.
        assert_eq!(subject, alice.0);
    }
}

#[test]
fn for_pods_of_kubernetes_controllers_the_account_of_the_pod_counts() {
    let controller = requester(
        "system:serviceaccount:kube-system:replicaset-controller",
        &[
            "system:serviceaccounts",
            "system:serviceaccounts:kube-system",
            "system:authenticated",
        ],
    );
    let subject = usage(Some("gateway")).subject(&controller, &trusting(&[]));
    assert_eq!(subject, account("gateway"));
    for named in [None, Some("")] {
        let subject = usage(named).subject(&controller, &trusting(&[]));
        assert_eq!(subject, account("default"));
    }
}

#[test]
fn for_pods_of_a_trusted_controller_the_account_of_the_pod_counts() {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:argo"];
    let argo = requester(ARGO, &groups);
    let subject = |trusted: &[&str]| usage(Some("gateway")).subject(&argo, &trusting(trusted));
    assert_eq!(subject(&["someone", ARGO]), account("gateway"));
    // The entry must equal the whole user name.
    for other in [
        "system:serviceaccounts:argo",
        "system:serviceaccount:argo:workflow",
        "",
    ] {
        assert_eq!(subject(&[other]), argo.0, "{other}");
    }
}

#[test]
fn other_accounts_and_users_named_like_the_group_are_no_controllers() {
    let elsewhere = requester(
        "system:serviceaccount:shop:kube-system",
        &["system:serviceaccounts", "system:serviceaccounts:shop"],
    );
    let posing = requester("system:serviceaccounts:kube-system", &[]);
    let nobody = requester("", &[]);
    for requester in [elsewhere, posing, nobody] {
        let subject = usage(Some("gateway")).subject(&requester, &trusting(&[""]));
        assert_eq!(subject, requester.0);
    }
}

#[test]
fn a_refusal_names_pod_ip_and_user_and_what_to_bind_where() {
    let usage = usage(Some("gateway"));
    let denial = refused::<()>(
        Err(usage.refused(&account("gateway"))),
        Forbidden,
        &[
            "pod shop/web-0",
            "IP \"partner\"",
            "user \"system:serviceaccount:shop:gateway\"",
            "in namespace \"shop\"",
            "verb \"use\" on ips.ip.wgtwo.com \"partner\"",
        ],
    );
    assert!(!denial.is_from_cache(), "no cache of ours is behind it");
    assert_eq!(usage.namespace(), "shop");
}
