use serde_json::json;

use crate::client::{ADDRESS, Server, server, until};

const ASSIGN: &str = "AssignPrivateIpAddresses";

async fn hold(server: &Server, when: &str) -> u64 {
    let order = json!({ "action": ASSIGN, "kind": "hold", "when": when });
    server.post("faults", &order).await["id"].as_u64().unwrap()
}

fn assign_meanwhile(server: &Server) -> tokio::task::JoinHandle<Option<(u16, String)>> {
    let server = server.clone();
    tokio::spawn(async move { server.assign(&server.a, ADDRESS).await })
}

#[tokio::test]
async fn a_call_held_before_its_execution_is_shown_and_has_no_effect() {
    let server = server().await;
    let fault = hold(&server, "before").await;
    let call = assign_meanwhile(&server);
    let held = server.held(1).await;
    assert_eq!(held[0]["fault"], fault);
    assert_eq!(held[0]["action"], ASSIGN);
    assert_eq!(held[0]["when"], "before");
    assert_eq!(held[0]["network_interface_id"], server.a);
    assert_eq!(held[0]["addresses"], json!([ADDRESS]));
    assert!(server.holders(ADDRESS).await.is_empty());
    assert!(!call.is_finished());

    let released = server
        .post("release", &json!({ "hold": held[0]["hold"] }))
        .await;
    assert_eq!(released["released"], json!([held[0]["hold"]]));
    assert_eq!(call.await.unwrap().unwrap().0, 200);
    assert_eq!(server.holders(ADDRESS).await, server.a);
}

#[tokio::test]
async fn a_call_held_after_its_execution_only_delays_the_answer() {
    let server = server().await;
    let fault = hold(&server, "after").await;
    let call = assign_meanwhile(&server);
    server.held(1).await;
    assert_eq!(server.holders(ADDRESS).await, server.a);
    assert!(!call.is_finished());
    server.post("release", &json!({ "fault": fault })).await;
    assert_eq!(call.await.unwrap().unwrap().0, 200);
}

#[tokio::test]
async fn a_held_call_is_executed_late_even_without_its_client() {
    let server = server().await;
    hold(&server, "before").await;
    let call = assign_meanwhile(&server);
    server.held(1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    server.post("release", &json!({ "all": true })).await;
    until("the late call has landed", async || {
        let holders = server.holders(ADDRESS).await;
        if holders == server.a {
            Ok(())
        } else {
            Err(json!(holders))
        }
    })
    .await;
}

#[tokio::test]
async fn a_dropped_call_is_never_executed() {
    let server = server().await;
    hold(&server, "before").await;
    let call = assign_meanwhile(&server);
    let held = server.held(1).await;
    server
        .post("release", &json!({ "hold": held[0]["hold"], "drop": true }))
        .await;
    assert_eq!(call.await.unwrap(), None);
    assert!(server.holders(ADDRESS).await.is_empty());
    assert_eq!(server.count(ASSIGN, "DroppedBefore").await, 1);
}

#[tokio::test]
async fn clearing_faults_does_not_release_a_held_call() {
    let server = server().await;
    hold(&server, "before").await;
    let call = assign_meanwhile(&server);
    let held = server.held(1).await;
    assert_eq!(server.delete("faults").await, 200);
    assert_eq!(server.held(1).await, held);
    server.post("release", &json!({ "all": true })).await;
    assert_eq!(call.await.unwrap().unwrap().0, 200);
}

#[tokio::test]
async fn releasing_an_unknown_call_is_an_error() {
    let server = server().await;
    assert_eq!(
        server.try_post("release", &json!({ "hold": 7 })).await.0,
        404
    );
    assert_eq!(
        server.post("release", &json!({ "all": true })).await["released"],
        json!([])
    );
}
