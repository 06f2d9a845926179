//! The names that users type in kubectl mean our kinds, although Kubernetes has the kind `IPAddress`. Also checks the
//! columns.

use serde_json::Value;

use crate::harness::scene::Scene;

scenes![
    shared every_name_of_the_kind_ip_means_ours,
    shared columns_are_as_documented,
    shared every_field_is_described,
    shared ips_are_found_by_address_and_by_node,
];

/// The column names of a table.
fn head(table: &str) -> Vec<&str> {
    let first = table.lines().next().unwrap_or_default();
    first.split_whitespace().collect()
}

async fn every_name_of_the_kind_ip_means_ours(scene: &Scene) {
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    for word in ["ip", "ips", "sip", "ips.ip.wgtwo.com"] {
        let name = scene
            .kubectl(&format!("get {word} {} -o name", ip.name))
            .await;
        let name = name.success();
        let full = format!("ip.ip.wgtwo.com/{}", ip.name);
        assert_eq!(name.trim(), full, "kubectl get {word}");
    }
    let all = scene.kubectl("get staticip -o name").await.success();
    assert!(
        all.contains(&format!("ip.ip.wgtwo.com/{}", ip.name)),
        "{all}"
    );
    let described = scene.kubectl(&format!("describe ip {}", ip.name)).await;
    let described = described.success();
    assert!(
        described.contains("ip.wgtwo.com/v1alpha1") && described.contains(&ip.address),
        "{described}"
    );
    // The kind `IPAddress` of Kubernetes keeps its name.
    let reserved = scene
        .kubectl(&format!("get ipaddress {} -o name", ip.address))
        .await;
    let full = format!("ipaddress.networking.k8s.io/{}", ip.address);
    assert_eq!(reserved.success().trim(), full);
    let names = "get crd ips.ip.wgtwo.com ipblocks.ip.wgtwo.com -o \
                 jsonpath={.items[*].status.conditions[?(@.type==\"NamesAccepted\")].status}";
    assert_eq!(scene.kubectl(names).await.success().trim(), "True True");
}

async fn columns_are_as_documented(scene: &Scene) {
    let block = scene.block().await;
    let ip = scene.ip("web", 10).await;
    let table = async |arguments: String| scene.kubectl(&arguments).await.success();
    let narrow = [
        "NAME", "ADDRESS", "READY", "CLAIMED", "ASSIGNED", "POD", "NODE", "AGE",
    ];
    let shown = table(format!("get ips {}", ip.name)).await;
    assert_eq!(head(&shown), narrow);
    let row: Vec<&str> = shown.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(
        row[..4],
        [&ip.name, &ip.address, "True", "false"],
        "{shown}"
    );
    let wide: Vec<&str> = narrow
        .into_iter()
        .chain(["BLOCK", "REASON", "ENI", "LAST-MOVED"])
        .collect();
    assert_eq!(
        head(&table(format!("get ips {} -o wide", ip.name)).await),
        wide
    );
    let shown = table(format!("get ipblocks {block}")).await;
    let columns = [
        "NAME", "CIDR", "SUBNET", "CAPACITY", "RESERVED", "ATTACHED", "FREE", "READY",
    ];
    assert_eq!(head(&shown), [&columns[..], &["AGE"]].concat());
    scene
        .eventually(
            "the block's row counts",
            crate::harness::scene::SOON,
            async || {
                let shown = table(format!("get ipblocks {block} --no-headers")).await;
                let row: Vec<&str> = shown.split_whitespace().collect();
                // AWS reserves five addresses of a /24.
                let counts = ["251", "1", "0", "250", "True"];
                if row.get(3..8) == Some(&counts[..]) {
                    Ok(())
                } else {
                    Err(shown)
                }
            },
        )
        .await;
}

/// Collects the paths of the fields of a schema that have no description.
fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if field["description"].as_str().is_none_or(str::is_empty) {
            found.push(path.clone());
        }
        undescribed(field, &path, found);
        undescribed(&field["items"], &path, found);
        undescribed(&field["additionalProperties"], &path, found);
    }
}

async fn every_field_is_described(scene: &Scene) {
    for kind in ["ips", "ipblocks", "ipnodes"] {
        let name = format!("{kind}.ip.wgtwo.com");
        let definition = scene.kubectl(&format!("get crd {name} -o json")).await;
        let definition: Value = serde_json::from_str(&definition.success()).unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert!(
            schema["description"]
                .as_str()
                .is_some_and(|text| text.len() > 20)
        );
        let mut found = Vec::new();
        for part in ["spec", "status"] {
            undescribed(&schema["properties"][part], part, &mut found);
            assert!(
                !schema["properties"][part]["description"].is_null(),
                "{part}"
            );
        }
        assert!(found.is_empty(), "no description in {name}: {found:?}");
    }
    // The API server publishes the schema of a kind some time after it serves the kind.
    scene
        .eventually(
            "kubectl explain knows the field",
            crate::harness::scene::SOON,
            async || {
                let output = scene.kubectl("explain ip.spec.address").await;
                let all = format!("{}{}", output.stdout, output.stderr);
                let ours = [
                    "GROUP:      ip.wgtwo.com",
                    "FIELD: address <string>",
                    "the lowest free\n    address of the block",
                ];
                if ours.iter().all(|part| all.contains(part)) {
                    Ok(())
                } else {
                    Err(all)
                }
            },
        )
        .await;
    for field in [
        "ip",
        "ip.status.previous.networkInterfaceID",
        "ipblock.spec.failoverAfter",
        "ipblock.spec.fastFailover",
    ] {
        let text = scene.kubectl(&format!("explain {field}")).await.success();
        assert!(
            text.contains("DESCRIPTION:") && !text.contains("<empty>"),
            "{text}"
        );
    }
}

async fn ips_are_found_by_address_and_by_node(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let (web, other) = (scene.ip("web", 10).await, scene.ip("other", 11).await);
    scene.pod("web", &web).await;
    scene.expect_attached(&web, "web").await;
    let found = async |selector: String| {
        let arguments = format!("get ips -o name --field-selector {selector}");
        scene.kubectl(&arguments).await.success().trim().to_owned()
    };
    let full = |name: &str| format!("ip.ip.wgtwo.com/{name}");
    assert_eq!(
        found(format!("status.node={}", node.name)).await,
        full(&web.name)
    );
    assert_eq!(
        found(format!("spec.address={}", other.address)).await,
        full(&other.name)
    );
    assert_eq!(
        found(format!("status.address={}", other.address)).await,
        full(&other.name)
    );
    let both = format!("status.address={},status.node={}", other.address, node.name);
    assert_eq!(found(both).await, "");
}
