//! The steps of the demo, in their order, and the packets between the pod and a partner.

use mooring_cluster::Cluster;
use serde_json::Value;

use super::manifests::manifest;
use super::queries::{Holder, get, holder, location};
use super::{ADDRESS, BLOCK, FAILOVER, GRACE, LIMIT, NAME, SELECTOR};
use crate::packets::{PARTNERS, Packets};
use crate::screen::Screen;
use crate::world::World;

/// `with_node_part`: the node part passes the packets.
pub(super) async fn block_and_address(
    screen: &mut Screen,
    world: &World,
    with_node_part: bool,
) -> Result<(), String> {
    let cluster = &world.cluster;
    screen.step("A block of addresses that the company owns, and one address of it");
    let failover = format!("failoverAfter: {}s", FAILOVER.as_secs());
    let node = format!("node: {{routes: [{{to: {PARTNERS}}}]}}");
    let mut lines = vec![failover.as_str()];
    if with_node_part {
        lines.push(&node);
    }
    let block = manifest(screen, "block.yaml", &world.sample("ipblock.yaml", &lines)?)?;
    let ip = manifest(screen, "ip.yaml", &world.sample("ip.yaml", &[])?)?;
    screen
        .kubectl(cluster, &format!("apply -f {block} -f {ip}"))
        .await?;
    screen
        .kubectl(
            cluster,
            &format!("wait --for=condition=Ready --timeout=20s ipblock/{BLOCK} ip/{NAME}"),
        )
        .await?;
    screen.kubectl(cluster, "get ipblocks").await?;
    Ok(())
}

/// Returns the holder.
pub(super) async fn deployment(screen: &mut Screen, world: &World) -> Result<Holder, String> {
    let cluster = &world.cluster;
    screen.step("A Deployment whose pod asks for it by an annotation");
    let deployment = manifest(
        screen,
        "deployment.yaml",
        &world.sample("deployment.yaml", &[])?,
    )?;
    screen
        .kubectl(cluster, &format!("apply -f {deployment}"))
        .await?;
    rollout_ends(screen, cluster).await?;
    let first = holder(screen, cluster, None).await?;
    screen
        .kubectl(cluster, &format!("describe ip {NAME}"))
        .await?;
    location(screen, cluster).await;
    Ok(first)
}

async fn rollout_ends(screen: &Screen, cluster: &Cluster) -> Result<(), String> {
    let status = format!("rollout status deployment/{NAME} --timeout=30s");
    screen.kubectl(cluster, &status).await?;
    Ok(())
}

async fn show_pods(screen: &Screen, cluster: &Cluster) -> Result<(), String> {
    let pods = format!("get pods -l {SELECTOR} -o wide");
    screen.kubectl(cluster, &pods).await?;
    Ok(())
}

/// Returns the new holder.
pub(super) async fn rollout(
    screen: &mut Screen,
    cluster: &Cluster,
    first: &Holder,
) -> Result<Holder, String> {
    screen.step("A rollout with the default strategy: the new pod takes the address over");
    screen
        .kubectl(cluster, &format!("rollout restart deployment/{NAME}"))
        .await?;
    rollout_ends(screen, cluster).await?;
    let second = holder(screen, cluster, Some(first)).await?;
    screen.kubectl(cluster, "get ips").await?;
    show_pods(screen, cluster).await?;
    location(screen, cluster).await;
    Ok(second)
}

pub(super) async fn node_fails(
    screen: &mut Screen,
    cluster: &Cluster,
    packets: &mut Result<Packets, String>,
    holder_before: &Holder,
) -> Result<Holder, String> {
    screen.step(&format!(
        "{} fails: the address follows the pod",
        holder_before.node
    ));
    screen.note(&format!(
        "Its kubelet stops reporting. Here Kubernetes notices after {} s (its default is 50 s), and the block's\n\
         failoverAfter of {} s (default 30 s) says how long the pod may stay there.",
        GRACE.as_secs(),
        FAILOVER.as_secs()
    ));
    cluster.fail_node(&holder_before.node).await;
    if let Ok(packets) = packets {
        packets.node_ends(&holder_before.node);
    }
    let holder = holder(screen, cluster, Some(holder_before)).await?;
    screen
        .kubectl(
            cluster,
            &format!("wait --for=condition=Ready --timeout=20s ip/{NAME}"),
        )
        .await?;
    screen.kubectl(cluster, "get nodes").await?;
    show_pods(screen, cluster).await?;
    screen.kubectl(cluster, "get ips -o wide").await?;
    location(screen, cluster).await;
    Ok(holder)
}

/// The partner and the pod connect to each other, if there is a network.
pub(super) async fn partner(
    screen: &mut Screen,
    cluster: &Cluster,
    packets: &mut Result<Packets, String>,
    holder: &Holder,
) -> Result<(), String> {
    let packets = match packets {
        Ok(packets) => packets,
        Err(why) => {
            screen.note(&format!("No packets are shown: {why}"));
            return Ok(());
        }
    };
    let pod = get(cluster, &format!("pod {}", holder.pod)).await?;
    let address = pod
        .pointer("/status/podIP")
        .and_then(Value::as_str)
        .ok_or("the pod has no address of its own")?;
    let [out, back] = packets
        .connect(cluster, &holder.node, address)
        .await
        .map_err(|seen| format!("partner and pod do not reach each other: {seen}"))?;
    screen.note(&format!(
        "Packets: a partner whose firewall accepts {ADDRESS} alone gets a connection from the pod, and sees {out}.\n\
         The partner connects to {ADDRESS}, and the pod at {address} sees {back}."
    ));
    if let Err(refused) = packets.ask_from_node(&holder.node) {
        screen.note(&format!(
            "What {} itself sends is not accepted: {refused}",
            holder.node
        ));
    }
    Ok(())
}

pub(super) async fn annotation_removed(
    screen: &mut Screen,
    cluster: &Cluster,
) -> Result<(), String> {
    screen.step("The annotation is removed from the running pod: the address is detached");
    let holder = holder(screen, cluster, None).await?;
    screen
        .kubectl(
            cluster,
            &format!("annotate pod {} ip.wgtwo.com/ip-", holder.pod),
        )
        .await?;
    screen
        .until("no interface has the address", LIMIT, || async {
            match cluster.ec2().address_on(ADDRESS).await {
                Some(interface) => Err(interface),
                None => Ok(()),
            }
        })
        .await?;
    screen
        .until("the IP has no holder", LIMIT, || async {
            let ip = get(cluster, &format!("ip {NAME}")).await?;
            if ip.pointer("/status/claimed") == Some(&Value::Bool(true)) {
                Err(ip.to_string())
            } else {
                Ok(())
            }
        })
        .await?;
    screen.kubectl(cluster, "get ips").await?;
    screen.kubectl(cluster, "get events --field-selector involvedObject.kind=IP --sort-by=.metadata.creationTimestamp")
        .await?;
    location(screen, cluster).await;
    Ok(())
}

pub(super) async fn cleaned_up(screen: &mut Screen, cluster: &Cluster) -> Result<(), String> {
    screen.step("Everything is deleted: nothing is left in EC2, nothing is left reserved");
    screen.kubectl(cluster, "get ipaddresses").await?;
    screen
        .kubectl(
            cluster,
            &format!("delete deployment/{NAME} ip/{NAME} --timeout=30s"),
        )
        .await?;
    // Delete the block after its last IP is gone: a block with IPs is not deleted.
    screen
        .kubectl(cluster, &format!("delete ipblock/{BLOCK} --timeout=30s"))
        .await?;
    screen
        .until("no IPAddress of Mooring is left", LIMIT, || async {
            let left = get(
                cluster,
                &format!("ipaddresses {ADDRESS} --ignore-not-found"),
            )
            .await?;
            if left.is_null() {
                Ok(())
            } else {
                Err(left.to_string())
            }
        })
        .await?;
    screen
        .kubectl(cluster, "get ips,ipblocks,ipaddresses")
        .await?;
    let state = cluster.ec2().state().await;
    let left: Vec<_> = state
        .network_interfaces
        .iter()
        .flat_map(|interface| &interface.secondary)
        .collect();
    if !left.is_empty() {
        return Err(format!("EC2 still has {left:?}"));
    }
    screen.note(&format!(
        "EC2: {} interfaces, no secondary address on any",
        state.network_interfaces.len()
    ));
    Ok(())
}
