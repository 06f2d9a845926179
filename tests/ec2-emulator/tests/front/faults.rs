use serde_json::{Value, json};

use crate::client::{ADDRESS, Server, error_of, server};

const ASSIGN: &str = "AssignPrivateIpAddresses";

async fn fault(server: &Server, fault: Value) -> u64 {
    server.post("faults", &fault).await["id"].as_u64().unwrap()
}

#[tokio::test]
async fn a_call_dropped_before_its_execution_has_no_effect() {
    let server = server().await;
    fault(&server, json!({ "action": ASSIGN, "kind": "drop_before" })).await;
    assert_eq!(server.assign(&server.a, ADDRESS).await, None);
    assert!(server.holders(ADDRESS).await.is_empty());
    assert_eq!(server.count(ASSIGN, "DroppedBefore").await, 1);
    // Without a number the fault applies to one call only.
    assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 200);
}

#[tokio::test]
async fn a_call_dropped_after_its_execution_has_no_answer() {
    let server = server().await;
    fault(&server, json!({ "action": ASSIGN, "kind": "drop_after" })).await;
    assert_eq!(server.assign(&server.a, ADDRESS).await, None);
    assert_eq!(server.holders(ADDRESS).await, server.a);
    assert_eq!(server.count(ASSIGN, "DroppedAfter").await, 1);
}

#[tokio::test]
async fn an_error_has_the_requested_status_and_code() {
    let server = server().await;
    for (order, status, code) in [
        (
            json!({ "kind": "error", "status": 502, "code": "Bad" }),
            502,
            "Bad",
        ),
        (json!({ "kind": "error" }), 500, "InternalError"),
        (
            json!({ "kind": "error", "code": "UnauthorizedOperation" }),
            403,
            "UnauthorizedOperation",
        ),
        (
            json!({ "kind": "error", "code": "Unavailable" }),
            503,
            "Unavailable",
        ),
        (json!({ "kind": "throttle" }), 503, "RequestLimitExceeded"),
    ] {
        fault(&server, order).await;
        let refused = error_of(server.assign(&server.a, ADDRESS).await);
        assert_eq!(refused, (status, code.to_owned()));
        assert_eq!(server.count(ASSIGN, code).await, 1);
    }
    assert!(server.holders(ADDRESS).await.is_empty());
}

#[tokio::test]
async fn an_error_after_the_execution_does_not_undo_it() {
    let server = server().await;
    fault(
        &server,
        json!({ "action": ASSIGN, "kind": "error", "when": "after" }),
    )
    .await;
    assert_eq!(error_of(server.assign(&server.a, ADDRESS).await).0, 500);
    assert_eq!(server.holders(ADDRESS).await, server.a);
}

#[tokio::test]
async fn a_dry_run_is_refused_where_the_call_would_be() {
    let server = server().await;
    let dry = "Action=DeleteNetworkInterface&NetworkInterfaceId=eni-00000000000000003&DryRun=true";
    fault(
        &server,
        json!({ "kind": "error", "code": "UnauthorizedOperation" }),
    )
    .await;
    assert_eq!(
        error_of(server.call(dry).await),
        (403, "UnauthorizedOperation".to_owned())
    );
    assert_eq!(
        error_of(server.call(dry).await),
        (412, "DryRunOperation".to_owned())
    );
}

#[tokio::test]
async fn a_doubled_call_is_twice_in_the_history_and_once_in_the_counters() {
    let server = server().await;
    let before = server.get("history").await.as_array().unwrap().len();
    fault(&server, json!({ "action": ASSIGN, "kind": "twice" })).await;
    assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 200);
    let history = server.get(&format!("history?since={before}")).await;
    let repeated: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["repeated"])
        .collect();
    assert_eq!(repeated, [false, true]);
    assert_eq!(server.count(ASSIGN, "Success").await, 1);
}

#[tokio::test]
async fn other_actions_interfaces_and_addresses_are_not_affected() {
    let server = server().await;
    let order = json!({
        "action": ASSIGN,
        "network_interface_id": server.a,
        "address": ADDRESS,
        "kind": "throttle",
        "times": 2,
        "skip": 1,
    });
    let id = fault(&server, order).await;
    assert_eq!(
        server.assign(&server.a, ADDRESS).await.unwrap().0,
        200,
        "skipped"
    );
    assert_eq!(
        server.assign(&server.a, "10.0.0.98").await.unwrap().0,
        200,
        "another address"
    );
    assert_eq!(
        server.assign(&server.b, "10.0.0.97").await.unwrap().0,
        200,
        "another interface"
    );
    let describe = format!(
        "Action=DescribeNetworkInterfaces&NetworkInterfaceId.1={}",
        server.a
    );
    assert_eq!(
        server.call(&describe).await.unwrap().0,
        200,
        "another action"
    );
    let pending = server.get("faults").await["pending"].clone();
    assert_eq!(pending[0]["id"], id);
    assert_eq!(pending[0]["times"], 2);
    for _ in 0..2 {
        assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 503);
    }
    assert_eq!(
        server.assign(&server.a, ADDRESS).await.unwrap().0,
        200,
        "used up"
    );
    assert_eq!(server.get("faults").await["pending"], json!([]));
}

#[tokio::test]
async fn a_permanent_fault_lasts_until_it_is_cleared() {
    let server = server().await;
    let id = fault(&server, json!({ "kind": "throttle", "forever": true })).await;
    for _ in 0..3 {
        assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 503);
    }
    assert_eq!(server.delete(&format!("faults/{id}")).await, 200);
    assert_eq!(server.delete(&format!("faults/{id}")).await, 404);
    assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 200);
}

#[tokio::test]
async fn an_invalid_fault_is_refused() {
    let server = server().await;
    for order in [
        json!({ "kind": "delay" }),
        json!({ "kind": "drop_before", "ms": 5 }),
        json!({ "kind": "error", "status": 200 }),
        json!({ "kind": "throttle", "times": 0 }),
        json!({ "kind": "throttle", "times": 1, "forever": true }),
        json!({ "kind": "throttle", "adress": ADDRESS }),
        json!({ "kind": "throttle", "action": "AssignPrivateIpAddress" }),
        json!({ "kind": "explode" }),
    ] {
        let (status, body) = server.try_post("faults", &order).await;
        assert!((400..500).contains(&status), "{order}: {status} {body}");
    }
    assert_eq!(server.get("faults").await["pending"], json!([]));
}

#[tokio::test]
async fn a_fault_can_match_assigns_that_allow_reassignment() {
    let server = server().await;
    let order = json!({ "kind": "drop_before", "action": ASSIGN, "allow_reassignment": true });
    fault(&server, order).await;
    assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 200);
    let order = json!({ "kind": "error", "action": ASSIGN, "allow_reassignment": false });
    fault(&server, order).await;
    assert_eq!(error_of(server.assign(&server.a, ADDRESS).await).0, 500);
    // The first fault applies to the next call that allows reassignment.
    let allowed = server.reassign(&server.b, ADDRESS).await;
    assert_eq!(allowed, None);
    assert_eq!(server.holders(ADDRESS).await, server.a);
}
