//! What the demo asks the API server and EC2: the objects, the holder of the address, and where the address is.

use mooring_cluster::Cluster;
use serde_json::Value;

use super::{ADDRESS, LIMIT, NAME};
use crate::screen::Screen;

/// The holder of the address.
pub(super) struct Holder {
    pub(super) pod: String,
    pub(super) node: String,
    uid: String,
}

/// Waits until the address is attached for another pod than before, and EC2 confirms this.
pub(super) async fn holder(
    screen: &Screen,
    cluster: &Cluster,
    before: Option<&Holder>,
) -> Result<Holder, String> {
    let sentence = if before.is_some() {
        "the address moves"
    } else {
        "the address is attached"
    };
    screen
        .until(sentence, LIMIT, || async {
            let ip = get(cluster, &format!("ip {NAME}")).await?;
            let text = |field: &str| {
                let value = ip.pointer(&format!("/status/{field}"));
                value.and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let holder = Holder {
                pod: text("pod")
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                node: text("node"),
                uid: text("podUID"),
            };
            let assigned = ip.pointer("/status/assigned") == Some(&Value::Bool(true));
            let there = cluster.ec2().address_on(ADDRESS).await.unwrap_or_default();
            let moved = before.is_none_or(|before| before.uid != holder.uid);
            if assigned && moved && there == text("networkInterfaceID") {
                Ok(holder)
            } else {
                Err(ip.to_string())
            }
        })
        .await
}

/// An object as JSON; null if kubectl prints nothing.
pub(super) async fn get(cluster: &Cluster, what: &str) -> Result<Value, String> {
    let output = cluster
        .kubectl(format!("get {what} -o json").split(' '))
        .await;
    if !output.ok {
        return Err(output.stderr);
    }
    if output.stdout.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&output.stdout).map_err(|error| error.to_string())
}

/// Shows the interface that has the address in EC2.
pub(super) async fn location(screen: &Screen, cluster: &Cluster) {
    let state = cluster.ec2().state().await;
    let there = state
        .network_interfaces
        .iter()
        .find(|interface| interface.secondary.iter().any(|one| one == ADDRESS));
    match there {
        Some(interface) => screen.note(&format!(
            "EC2: {ADDRESS} is on {} of {}",
            interface.network_interface_id,
            interface.instance_id.as_deref().unwrap_or("no instance")
        )),
        None => screen.note(&format!("EC2: {ADDRESS} is on no interface")),
    }
}
