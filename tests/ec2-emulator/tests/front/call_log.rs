use serde_json::json;

use crate::client::{ADDRESS, server};

#[tokio::test]
async fn by_action_and_outcome() {
    let server = server().await;
    server.assign(&server.a, ADDRESS).await;
    server.assign(&server.a, ADDRESS).await;
    server.assign(&server.b, ADDRESS).await;
    server.call("Action=DescribeNetworkInterfaces").await;
    server.get("state").await;
    let expected = json!({
        "AssignPrivateIpAddresses": { "Success": 2, "InvalidParameterValue": 1 },
        "DescribeNetworkInterfaces": { "Success": 1 },
    });
    assert_eq!(server.get("calls").await, expected);
    server.post("reset-counters", &json!({})).await;
    assert_eq!(server.get("calls").await, json!({}));
}

#[tokio::test]
async fn with_request_result_and_former_holder() {
    let server = server().await;
    let since = server.get("history").await.as_array().unwrap().len();
    server.assign(&server.a, ADDRESS).await;
    server.assign(&server.b, ADDRESS).await;
    server.call("Action=DescribeNetworkInterfaces").await;
    let history = server.get(&format!("history?since={since}")).await;
    let [first, second] = history.as_array().unwrap().as_slice() else {
        panic!("not two: {history:#}");
    };

    assert_eq!(first["sequence"], since + 1);
    assert_eq!(first["action"], "AssignPrivateIpAddresses");
    assert_eq!(first["network_interface_id"], server.a);
    assert_eq!(first["addresses"], json!([ADDRESS]));
    assert_eq!(first["allow_reassignment"], false);
    assert_eq!(first["result"], "Success");
    assert!(
        first["at_ms"].is_u64() && first["unix_ms"].is_u64(),
        "{first}"
    );

    assert_eq!(second["sequence"], since + 2);
    assert_eq!(second["result"], "InvalidParameterValue");
    assert_eq!(second["found_on"], json!({ ADDRESS: server.a }));
    assert!(second["at_ms"].as_u64() >= first["at_ms"].as_u64());
}
