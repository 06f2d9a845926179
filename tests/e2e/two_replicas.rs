//! Two IPs ask for the same address at the same time, each through a different replica of the webhook.

use std::collections::BTreeSet;

use mooring_cluster::{Mooring, MooringOptions};
use serde_json::{Value, json};

use crate::harness::requests::ip_named;
use crate::harness::scene::{SOON, Scene};

scenes![alone of_two_concurrent_ips_for_one_address_one_is_reserved];

/// The label that selects the second replica (`Cluster::register_webhooks`).
const REPLICA: &str = "test.mooring/replica";

fn asking(scene: &Scene, name: &str, address: &str, replica: usize) -> Value {
    let mut ip = ip_named(name, &json!({"address": address}));
    if replica > 0 {
        ip["metadata"]["labels"] = json!({REPLICA: replica.to_string()});
    }
    scene.remember_ip(name);
    ip
}

/// Waits until exactly one of these IPs is reserved, and the others have `AddressInUse`.
async fn one_is_reserved(scene: &Scene, address: &str, names: &[String]) {
    let sentence = format!("of {names:?} one has {address}, and the other reports it");
    scene
        .eventually(&sentence, SOON, async || {
            let (mut reserved, mut in_use) = (Vec::new(), Vec::new());
            for name in names {
                let ip = scene.get("IP", name).await.ok_or("no such IP")?;
                match crate::harness::expectations::condition(&ip, "Reserved") {
                    Some(("True", _, _)) => reserved.push(name.clone()),
                    Some(("False", "AddressInUse", message)) => in_use.push(message.to_owned()),
                    _ => {}
                }
            }
            let others = names.len() - 1;
            let reported = in_use
                .iter()
                .all(|message| message.contains(&reserved.join(" ")));
            if reserved.len() == 1 && in_use.len() == others && reported {
                Ok(())
            } else {
                Err(format!("reserved: {reserved:?}, not: {in_use:?}"))
            }
        })
        .await;
}

async fn of_two_concurrent_ips_for_one_address_one_is_reserved(scene: &Scene) {
    let start = async || {
        let options = MooringOptions {
            register_webhooks: false,
            ..MooringOptions::default()
        };
        scene.mooring_with(options).await
    };
    let (one, two) = tokio::join!(start(), start());
    scene.cluster().register_webhooks(&[&one, &two]).await;
    scene.block().await;
    let mut both_admitted = 0;
    let rounds = 20;
    for host in 10..10 + rounds {
        let address = scene.address(host);
        let names = [0, 1].map(|replica| scene.named(&format!("r{host}-{replica}")));
        let (first, second) = (
            asking(scene, &names[0], &address, 0),
            asking(scene, &names[1], &address, 1),
        );
        let answers = tokio::join!(scene.creates(&first), scene.creates(&second));
        let mut admitted = Vec::new();
        for (answer, name) in [(answers.0, &names[0]), (answers.1, &names[1])] {
            if answer.is_accepted() {
                admitted.push(name.clone());
            } else {
                answer.rejected(&[&address, "in use by IP"]);
            }
        }
        assert!(
            !admitted.is_empty(),
            "one of the two must be let in: {names:?}"
        );
        both_admitted += usize::from(admitted.len() == 2);
        one_is_reserved(scene, &address, &admitted).await;
    }
    let asked = |mooring: &std::sync::Arc<Mooring>| {
        let mooring = std::sync::Arc::clone(mooring);
        async move {
            let name = "mooring_admission_duration_seconds_count";
            mooring.metric(name, &["webhook=\"validate-ip\""]).await
        }
    };
    assert!(
        asked(&one).await > 0.0 && asked(&two).await > 0.0,
        "both replicas were asked"
    );
    eprintln!("both were let in by the webhook in {both_admitted} of {rounds} rounds");

    // Without the webhook both IPs are always accepted.
    scene.cluster().unregister_webhooks().await;
    let address = scene.address(99);
    let names = [0, 1].map(|replica| scene.named(&format!("unseen-{replica}")));
    let asking = [0, 1].map(|number| asking(scene, &names[number], &address, 0));
    let answers = tokio::join!(scene.creates(&asking[0]), scene.creates(&asking[1]));
    answers.0.accepted();
    answers.1.accepted();
    one_is_reserved(scene, &address, &names).await;
    expect_never_reserved_twice(scene);
    // After the first IP is gone, the other gets the address.
    let holds = scene
        .get("IPAddress", &address)
        .await
        .expect("it is reserved");
    let holder = holds["spec"]["parentRef"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let successor = names.iter().find(|name| **name != holder).unwrap();
    scene.delete("IP", &holder).await;
    scene
        .expect_condition("IP", successor, "Reserved", "True")
        .await;
    scene.cluster().register_webhooks(&[&one, &two]).await;
}

/// Checks in the history that no address was reported as reserved by two IPs. Called before the deletion of a holder.
fn expect_never_reserved_twice(scene: &Scene) {
    let mut reserved: BTreeSet<(String, String)> = BTreeSet::new();
    for event in scene
        .audit()
        .into_iter()
        .filter(|event| event.resource == "ips")
    {
        if event.is_write() && event.condition("Reserved") == Some("True") {
            let address = event.response["status"]["address"]
                .as_str()
                .unwrap_or_default();
            reserved.insert((address.to_owned(), event.name.clone()));
        }
    }
    let addresses: BTreeSet<&String> = reserved.iter().map(|(address, _)| address).collect();
    assert_eq!(
        addresses.len(),
        reserved.len(),
        "two were reserved: {reserved:?}"
    );
    assert!(
        reserved.len() >= 21,
        "every round has reserved one: {reserved:?}"
    );
}
