//! The judge finds a violation in histories that violate a rule, and accepts a history that does not.

mod histories;
mod holding;
mod taints;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::histories::{assign, claim, guarded, moment, node, none, pod, rightly, with, write};
use super::{Case, Seen, judge};
use crate::api_server::{Entry, Verb};
use crate::cloud::Call;
use crate::decisions::Decided;

const ADDRESS: &str = "10.0.1.40";

fn judged(history: &[Entry], calls: &[Call]) -> Result<Seen, String> {
    judged_by(history, calls, &rightly(history))
}

fn case<'a>(history: &'a [Entry], calls: &'a [Call], decided: &'a [Decided]) -> Case<'a> {
    Case {
        history,
        calls,
        decided,
        foreign: &[],
        one_at_a_time: true,
        interval: Duration::from_secs(10),
        restored: &[],
        within_bounds: true,
        news_within: Some(Duration::from_secs(5)),
    }
}

fn judged_by(history: &[Entry], calls: &[Call], decided: &[Decided]) -> Result<Seen, String> {
    let case = case(history, calls, decided);
    judge(&case).map_err(|broken| broken.sentence)
}

fn found(history: &[Entry], calls: &[Call], what: &str) {
    let verdict = judged(history, calls);
    assert!(
        verdict
            .as_ref()
            .is_err_and(|sentence| sentence.starts_with(what)),
        "{what} was to be found: {verdict:?}"
    );
}

#[test]
fn a_correct_history_passes_and_its_move_is_counted() {
    let before = json!([{"address": ADDRESS, "networkInterfaceID": "eni-1"}]);
    let history = [
        node(),
        pod(2, "one", false),
        claim(3, "one", "eni-1", false, none()),
        claim(4, "one", "eni-1", true, none()),
        pod(5, "one", true),
        pod(6, "one", false),
        pod(7, "two", false),
        claim(8, "two", "eni-2", false, before.clone()),
        claim(9, "two", "eni-2", true, before),
        pod(10, "two", true),
    ];
    let calls = [assign(3, "eni-1", None), assign(8, "eni-2", Some("eni-1"))];
    assert_eq!(
        judged(&history, &calls),
        Ok(Seen {
            moves: 1,
            attached: 2
        })
    );
}

#[test]
fn a_block_label_on_a_node_with_the_instance_of_an_older_one_is_found() {
    let node = |version: u64, name: &str, body: Value| {
        let mut answer = node().outcome.unwrap().body.as_ref().clone();
        answer["metadata"]["name"] = json!(name);
        answer["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:0{version}Z"));
        write(version, "nodes", name, "", body, answer)
    };
    let label = "ip.wgtwo.com.node-restriction.kubernetes.io/public";
    let labelled = json!({"metadata": {"labels": {label: ""}}});
    let history = [
        node(1, "a", guarded()),
        node(2, "b", guarded()),
        node(2, "b", labelled),
    ];
    found(&history, &[], "S2: Node b is labelled");
}

#[test]
fn an_empty_history_is_no_proof() {
    found(&[], &[], "nothing happened");
    found(&[node(), pod(2, "one", false)], &[], "nothing happened");
}

#[test]
fn two_pods_with_a_true_gate_are_found() {
    let history = [
        claim(1, "two", "eni-1", true, none()),
        claim(2, "one", "eni-1", true, none()),
        pod(3, "one", true),
        pod(4, "two", true),
    ];
    found(&history, &[], "S1");
}

#[test]
fn a_pod_of_an_ip_that_is_gone_counts_for_its_address() {
    let mut end = claim(4, "one", "eni-1", true, none());
    end.request.verb = Verb::Delete;
    "a person".clone_into(&mut end.request.user);
    let again = claim(5, "two", "eni-1", true, none());
    let again = with(again, "/metadata/uid", json!("again"));
    let annotation = "/metadata/annotations/ip.wgtwo.com~1ip-uid";
    let other = with(pod(6, "two", true), annotation, json!("again"));
    let history = [
        claim(2, "one", "eni-1", true, none()),
        pod(3, "one", true),
        end,
        again,
        other,
    ];
    found(&history, &[], "S1");
}

#[test]
fn a_call_with_an_open_gate_is_found() {
    let history = [
        node(),
        claim(2, "one", "eni-1", true, none()),
        pod(3, "one", true),
        claim(4, "one", "eni-1", false, none()),
    ];
    found(&history, &[assign(4, "eni-1", None)], "S1");
}

#[test]
fn a_call_without_a_claim_is_found() {
    found(
        &[node(), pod(2, "one", false)],
        &[assign(3, "eni-1", None)],
        "S3",
    );
}

#[test]
fn a_claim_after_its_call_is_found() {
    let history = [
        node(),
        pod(2, "one", false),
        claim(5, "one", "eni-1", false, none()),
    ];
    found(&history, &[assign(4, "eni-1", None)], "S3");
}

#[test]
fn a_claim_for_a_pod_that_is_elsewhere_is_found() {
    let history = [
        pod(2, "one", false),
        claim(3, "one", "eni-1", false, none()),
    ];
    found(&history, &[assign(3, "eni-1", None)], "S2");
}

#[test]
fn a_call_without_a_present_explanation_is_found() {
    let history = [
        node(),
        pod(2, "one", false),
        claim(3, "one", "eni-1", false, none()),
        claim(5, "one", "eni-2", false, none()),
    ];
    let mut late = assign(3, "eni-1", None);
    late.executed[0].moment = moment(6);
    found(&history, &[late], "S2");
}

#[test]
fn an_address_that_is_taken_from_a_foreign_interface_is_found() {
    let history = [
        node(),
        pod(2, "one", false),
        claim(3, "one", "eni-1", false, none()),
    ];
    found(&history, &[assign(3, "eni-1", Some("eni-9"))], "S4");
}

#[test]
fn a_reassigning_call_that_its_ip_does_not_allow_is_found() {
    let claim = claim(3, "one", "eni-1", false, none());
    let claim = with(claim, "/spec/reassign", json!(false));
    let history = [node(), pod(2, "one", false), claim];
    found(&history, &[assign(3, "eni-1", None)], "S4");
}

#[test]
fn an_unguarded_write_is_found() {
    let mut claim = claim(3, "one", "eni-1", false, none());
    claim.request.body = Arc::new(json!({"metadata": {"uid": "ip"}}));
    found(&[claim], &[], "S3");
    let mut gate = pod(4, "one", true);
    let conditions = gate.request.body["status"].clone();
    gate.request.body = Arc::new(json!({"metadata": {"uid": "one"}, "status": conditions}));
    found(&[gate], &[], "S1");
}

#[test]
fn a_write_guarded_by_another_version_than_its_decision_is_found() {
    let history = [
        node(),
        claim(3, "one", "eni-1", false, none()),
        pod(4, "one", true),
    ];
    let found = |decided: &[Decided], what: &str| {
        let verdict = judged_by(&history, &[], decided);
        let sentence = verdict.expect_err("it breaks a rule");
        assert!(
            sentence.starts_with("S3") && sentence.contains(what),
            "{sentence}"
        );
    };
    let mut decided = rightly(&history);
    decided[1].version = "0".to_owned();
    found(&decided, "is guarded by version 1, and was decided from 0");
    let mut decided = rightly(&history);
    decided[2].at += Duration::from_secs(1);
    found(&decided, "decided from none");
}

#[test]
fn the_second_write_of_a_step_is_guarded_by_the_result_of_the_first() {
    let reservation = |version, guard: &str| {
        let answer = json!({"metadata": {"name": ADDRESS, "uid": "r", "resourceVersion": "7"}});
        let body = json!({"metadata": {"uid": "r", "resourceVersion": guard}});
        write(version, "ipaddresses", ADDRESS, "", body, answer)
    };
    let history = [reservation(3, "1"), reservation(4, "7")];
    let decided = &rightly(&history)[..1];
    let verdict = judged_by(&history, &[], decided);
    // Nothing else happened, which is another violation.
    assert!(verdict.is_err_and(|sentence| sentence.starts_with("nothing happened")));
    let history = [reservation(3, "1"), reservation(4, "8")];
    let verdict = judged_by(&history, &[], decided);
    assert!(verdict.is_err_and(|sentence| sentence.starts_with("S3")));
}
