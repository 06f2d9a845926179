//! The schemas of the kinds refuse wrong objects even without the webhook configurations.

use serde_json::{Value, json};

use crate::harness::requests::{block_named, ip_named};
use crate::harness::scene::Scene;

scenes![
    alone bad_ips_are_refused_without_the_webhook,
    alone bad_blocks_are_refused_without_the_webhook,
    alone bad_routes_are_refused_without_the_webhook,
];

async fn no_webhook(scene: &Scene) {
    let hooks = "get mutatingwebhookconfigurations,validatingwebhookconfigurations -o name";
    assert_eq!(
        scene.kubectl(hooks).await.success(),
        "",
        "webhooks are registered"
    );
}

async fn bad_ips_are_refused_without_the_webhook(scene: &Scene) {
    no_webhook(scene).await;
    let canonical = "must be an IPv4 address in canonical form";
    let six = "IPv6 is not supported yet";
    let equal = "a name that is an address must equal spec.address";
    let long = "x".repeat(64);
    let bad: &[(&str, Value, &str)] = &[
        ("web", json!({"address": "203.0.113.07"}), canonical),
        ("web", json!({"address": "203.0.113"}), canonical),
        ("web", json!({"address": "203.0.113.256"}), canonical),
        ("web", json!({"address": "203.0.113.7/32"}), canonical),
        ("web", json!({"address": " 203.0.113.7"}), canonical),
        ("web", json!({"address": "web"}), canonical),
        ("web", json!({"address": ""}), canonical),
        ("web", json!({"address": "2001:db8::7"}), six),
        ("web", json!({"address": "::ffff:203.0.113.7"}), canonical),
        (
            "web",
            json!({}),
            "give an address, or a block that one is allocated from",
        ),
        ("203.0.113.8", json!({"address": "203.0.113.7"}), equal),
        ("203.0.113.8", json!({"block": "partners"}), equal),
        (
            &long,
            json!({"address": "203.0.113.7"}),
            "at most 63 characters",
        ),
        ("web", json!({"block": long}), "spec.block"),
        (
            "web",
            json!({"block": "partners", "allowedNamespaces": ["a", "Default"]}),
            "each must be a namespace's name",
        ),
        (
            "web",
            json!({"address": "203.0.113.7", "nonsense": 1}),
            "unknown field",
        ),
    ];
    for (name, spec, message) in bad {
        if *message == "unknown field" {
            let object = ip_named(name, spec).to_string();
            let output = scene.cluster().kubectl_with(["apply", "-f", "-"], &object);
            assert!(output.await.failure().contains(message), "{object}");
            continue;
        }
        let answer = scene.would_create(&ip_named(name, spec)).await;
        answer.rejected(&[message]);
    }
    for (name, spec) in [
        ("web", json!({"address": "203.0.113.7"})),
        ("web", json!({"block": "partners"})),
        ("203.0.113.7", json!({"address": "203.0.113.7"})),
        (
            &"x".repeat(63),
            json!({"address": "203.0.113.7", "allowedNamespaces": ["a"]}),
        ),
    ] {
        let answer = scene.would_create(&ip_named(name, &spec)).await;
        assert_eq!(answer.accepted()["spec"]["reassign"], false);
    }
    // The same rules apply to a change.
    let name = scene.named("web");
    scene.remember_ip(&name);
    let made = scene
        .creates(&ip_named(&name, &json!({"address": "203.0.113.7"})))
        .await;
    made.accepted();
    let change = json!({"spec": {"address": "203.0.113.007"}});
    scene
        .would_change("IP", &name, &change)
        .await
        .rejected(&[canonical]);
    let change = json!({"spec": {"address": null}});
    scene
        .would_change("IP", &name, &change)
        .await
        .rejected(&["give an address, or a block"]);
}

async fn bad_blocks_are_refused_without_the_webhook(scene: &Scene) {
    no_webhook(scene).await;
    let subnet = "subnet-0123456789abcdef0";
    let good = json!({"cidr": "203.0.113.0/24", "subnetID": subnet});
    let with = |changes: Value| crate::harness::objects::merged(good.clone(), &changes);
    let excluded = "each must be an IPv4 address or a canonical IPv4 CIDR";
    let time = "must be a length of time";
    let id = "must be the id of a subnet";
    let chosen =
        |key: &str, value: &str| with(json!({"nodeSelector": {"matchLabels": {key: value}}}));
    let own = "by labels of your own";
    let bad: &[(Value, &str)] = &[
        // The canonical form is in the message.
        (with(json!({"cidr": "203.0.113.5/24"})), "203.0.113.0/24"),
        (with(json!({"cidr": "10.1.2.3/16"})), "10.1.0.0/16"),
        (with(json!({"cidr": "203.0.113.0"})), "203.0.113.0/32"),
        (
            with(json!({"cidr": "203.0.113.0/33"})),
            "must be an IPv4 CIDR",
        ),
        (
            with(json!({"cidr": "203.0.113.00/24"})),
            "must be an IPv4 CIDR",
        ),
        (
            with(json!({"cidr": "2001:db8::/32"})),
            "IPv6 is not supported yet",
        ),
        (with(json!({"cidr": null})), "spec.cidr: Required value"),
        (with(json!({"subnetID": "subnet-1"})), id),
        (with(json!({"subnetID": "vpc-0123456789abcdef0"})), id),
        (with(json!({"subnetID": "subnet-0123456789ABCDEF0"})), id),
        (
            with(json!({"subnetID": null})),
            "spec.subnetID: Required value",
        ),
        (with(json!({"excluded": ["203.0.113.1", "x"]})), excluded),
        (with(json!({"excluded": ["203.0.113.5/30"]})), excluded),
        (with(json!({"excluded": ["2001:db8::1"]})), excluded),
        (with(json!({"failoverAfter": "soon"})), time),
        (with(json!({"failoverAfter": "-5s"})), time),
        (with(json!({"failoverAfter": ""})), time),
        (
            with(json!({"failoverAfter": "25h"})),
            "must not be longer than 24h",
        ),
        (
            with(json!({"nodeSelector": {}})),
            "matchLabels: Required value",
        ),
        (
            chosen("ip.wgtwo.com.node-restriction.kubernetes.io/partners", ""),
            own,
        ),
        (chosen("ip.wgtwo.com/x", ""), own),
        (chosen("role", "a b"), "each value must be a label's"),
        (chosen("role", &"x".repeat(64)), "Too long"),
        (
            with(json!({"allowedNamespaces": ["Default"]})),
            "each must be a namespace's name",
        ),
    ];
    for (spec, message) in bad {
        let answer = scene.would_create(&block_named("partners", spec)).await;
        answer.rejected(&[message]);
    }
    let long = block_named(&"x".repeat(64), &good);
    scene
        .would_create(&long)
        .await
        .rejected(&["at most 63 characters"]);
    let name = scene.named("partners");
    scene.remember_block(&name);
    let made = scene.creates(&block_named(&name, &good)).await.accepted();
    assert_eq!(made["spec"]["failoverAfter"], "30s");
    assert_eq!(made["spec"]["fastFailover"], false);
    let change = json!({"spec": {"subnetID": "subnet-11111111111111111"}});
    let answer = scene.would_change("IPBlock", &name, &change).await;
    answer.rejected(&["the subnet cannot be changed: delete the IPs of this block and the block"]);
    let change = json!({"spec": {"cidr": "203.0.112.0/23", "excluded": ["203.0.113.1"]}});
    scene
        .would_change("IPBlock", &name, &change)
        .await
        .accepted();
}

async fn bad_routes_are_refused_without_the_webhook(scene: &Scene) {
    no_webhook(scene).await;
    let to = "must be a canonical IPv4 CIDR, such as 198.51.100.0/24";
    let via = "must be an IPv4 address in canonical form";
    let internal = "each must be a canonical IPv4 CIDR";
    let many: Vec<Value> = (0..65)
        .map(|at| json!({"to": format!("198.51.100.{at}/32")}))
        .collect();
    let routes = [
        (json!([{"to": "198.51.100.1/24"}]), to),
        (json!([{"to": "198.51.100.0"}]), to),
        (json!([{"to": "2001:db8::/32"}]), to),
        (json!([{"to": "partner"}]), to),
        (json!([{"via": "203.0.113.1"}]), "to: Required value"),
        (
            json!([{"to": "198.51.100.0/24", "via": "203.0.113.01"}]),
            via,
        ),
        (
            json!([{"to": "198.51.100.0/24", "via": "2001:db8::1"}]),
            via,
        ),
        (
            json!([{"to": "198.51.100.0/24", "optional": "yes"}]),
            "must be of type boolean",
        ),
        (json!(many), "must have at most 64 items"),
    ];
    let block = |node: Value| {
        let spec =
            json!({"cidr": "203.0.113.0/24", "subnetID": "subnet-0123456789abcdef0", "node": node});
        block_named("partners", &spec)
    };
    for (routes, message) in routes {
        let ip = json!({"address": "203.0.113.7", "routes": routes});
        scene
            .would_create(&ip_named("web", &ip))
            .await
            .rejected(&[message]);
        let answer = scene.would_create(&block(json!({"routes": routes}))).await;
        answer.rejected(&[message]);
    }
    for network in ["10.0.0.1/8", "10.0.0.0", "fd00::/8", "lan"] {
        let answer = scene
            .would_create(&block(json!({"internal": [network]})))
            .await;
        answer.rejected(&[internal]);
    }
    let good = json!({
        "routes": [{"to": "0.0.0.0/0"}, {"to": "198.51.100.0/24", "via": "203.0.113.200", "optional": true}],
        "internal": ["10.0.0.0/8"],
    });
    let made = scene.would_create(&block(good)).await.accepted();
    assert_eq!(made["spec"]["node"]["routes"][0]["optional"], false);
}
