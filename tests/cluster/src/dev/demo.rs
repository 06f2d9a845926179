//! `mooring-dev demo`: shows the work of Mooring with real kubectl output.

use std::path::PathBuf;
use std::time::Duration;

use mooring_cluster::{Cluster, ClusterOptions, target};
use serde_json::Value;

use crate::packets::{PARTNERS, POD_CIDR, Packets};
use crate::screen::Screen;
use crate::world::World;

/// The address in `config/samples/ip.yaml`, and the pod that asks for it.
const ADDRESS: &str = "203.0.113.10";
const NAME: &str = "sms-gateway";
const BLOCK: &str = "partners";
const SELECTOR: &str = "app=sms-gateway";

const GRACE: Duration = Duration::from_secs(10);
const FAILOVER: Duration = Duration::from_secs(3);
const LIMIT: Duration = Duration::from_secs(30);

/// Runs the demo. `packets` says whether a network for the packets of pods is possible, or why not.
pub(crate) async fn demo(packets: Result<(), String>) -> Result<(), String> {
    let mut screen = Screen::new();
    screen.say(
        "A real Kubernetes control plane on this machine; nodes and containers are simulated by KWOK,\n\
         EC2 by an emulator with EC2's rules. Everything ends with this program.",
    );
    let mut options = ClusterOptions {
        node_grace: GRACE,
        ..ClusterOptions::default()
    };
    if packets.is_ok() {
        POD_CIDR.clone_into(&mut options.pod_cidr);
    }
    let start = World::start(options);
    let world = screen
        .during(
            "etcd, kube-apiserver, controllers, scheduler, EC2, three nodes, Mooring",
            start,
        )
        .await;
    let packets = match packets {
        Ok(()) => Ok(Packets::start(&world.cluster, &world.interfaces, ADDRESS).await?),
        Err(why) => Err(why),
    };
    let shown = show(&mut screen, &world, packets).await;
    if let Err(error) = shown {
        let evidence = world.cluster.evidence().await;
        return Err(format!("\n{evidence}\n\nTHE DEMO FAILED: {error}"));
    }
    screen.during("everything ends", world.stop()).await;
    println!(
        "\ndone in {} s; nothing is left running",
        screen.elapsed().as_secs()
    );
    Ok(())
}

async fn show(
    screen: &mut Screen,
    world: &World,
    mut packets: Result<Packets, String>,
) -> Result<(), String> {
    let cluster = &world.cluster;
    screen.step("A block of addresses that the company owns, and one address of it");
    let failover = format!("failoverAfter: {}s", FAILOVER.as_secs());
    let node = format!("node: {{routes: [{{to: {PARTNERS}}}]}}");
    let mut lines = vec![failover.as_str()];
    if packets.is_ok() {
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

    screen.step("A Deployment whose pod asks for it by an annotation");
    let deployment = manifest(
        screen,
        "deployment.yaml",
        &world.sample("deployment.yaml", &[])?,
    )?;
    screen
        .kubectl(cluster, &format!("apply -f {deployment}"))
        .await?;
    screen
        .kubectl(
            cluster,
            &format!("rollout status deployment/{NAME} --timeout=30s"),
        )
        .await?;
    let first = holder(screen, cluster, None).await?;
    screen
        .kubectl(cluster, &format!("describe ip {NAME}"))
        .await?;
    location(screen, cluster).await;
    partner(screen, cluster, &mut packets, &first).await?;

    screen.step("A rollout with the default strategy: the new pod takes the address over");
    screen
        .kubectl(cluster, &format!("rollout restart deployment/{NAME}"))
        .await?;
    screen
        .kubectl(
            cluster,
            &format!("rollout status deployment/{NAME} --timeout=30s"),
        )
        .await?;
    let second = holder(screen, cluster, Some(&first)).await?;
    screen.kubectl(cluster, "get ips").await?;
    screen
        .kubectl(cluster, &format!("get pods -l {SELECTOR} -o wide"))
        .await?;
    location(screen, cluster).await;

    let third = node_fails(screen, cluster, &mut packets, &second).await?;
    partner(screen, cluster, &mut packets, &third).await?;
    annotation_removed(screen, cluster).await?;
    cleaned_up(screen, cluster).await
}

async fn node_fails(
    screen: &mut Screen,
    cluster: &Cluster,
    packets: &mut Result<Packets, String>,
    holder_before: &Holder,
) -> Result<Holder, String> {
    screen.step(&format!(
        "{} fails: the address follows the pod",
        holder_before.node
    ));
    screen.say(&format!(
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
    screen
        .kubectl(cluster, &format!("get pods -l {SELECTOR} -o wide"))
        .await?;
    screen.kubectl(cluster, "get ips -o wide").await?;
    location(screen, cluster).await;
    Ok(holder)
}

/// The partner and the pod connect to each other, if there is a network.
async fn partner(
    screen: &mut Screen,
    cluster: &Cluster,
    packets: &mut Result<Packets, String>,
    holder: &Holder,
) -> Result<(), String> {
    let packets = match packets {
        Ok(packets) => packets,
        Err(why) => {
            screen.say(&format!("No packets are shown: {why}"));
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
    screen.say(&format!(
        "Packets: a partner whose firewall accepts {ADDRESS} alone gets a connection from the pod, and sees {out}.\n\
         The partner connects to {ADDRESS}, and the pod at {address} sees {back}."
    ));
    if let Err(refused) = packets.ask_from_node(&holder.node) {
        screen.say(&format!(
            "What {} itself sends is not accepted: {refused}",
            holder.node
        ));
    }
    Ok(())
}

async fn annotation_removed(screen: &mut Screen, cluster: &Cluster) -> Result<(), String> {
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

async fn cleaned_up(screen: &mut Screen, cluster: &Cluster) -> Result<(), String> {
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
    screen.say(&format!(
        "EC2: {} interfaces, no secondary address on any",
        state.network_interfaces.len()
    ));
    Ok(())
}

/// The holder of the address.
struct Holder {
    pod: String,
    node: String,
    uid: String,
}

/// Waits until the address is attached for another pod than before, and EC2 confirms this.
async fn holder(
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
async fn get(cluster: &Cluster, what: &str) -> Result<Value, String> {
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
async fn location(screen: &Screen, cluster: &Cluster) {
    let state = cluster.ec2().state().await;
    let there = state
        .network_interfaces
        .iter()
        .find(|interface| interface.secondary.iter().any(|one| one == ADDRESS));
    match there {
        Some(interface) => screen.say(&format!(
            "EC2: {ADDRESS} is on {} of {}",
            interface.network_interface_id,
            interface.instance_id.as_deref().unwrap_or("no instance")
        )),
        None => screen.say(&format!("EC2: {ADDRESS} is on no interface")),
    }
}

/// Writes a manifest to a file, and shows it.
fn manifest(screen: &Screen, name: &str, text: &str) -> Result<String, String> {
    let folder: PathBuf = target().join("demo");
    let path = folder.join(name);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    screen.file(&shown(&path), text);
    Ok(shown(&path))
}

/// A path relative to the repository, as a user types it.
fn shown(path: &std::path::Path) -> String {
    path.strip_prefix(mooring_cluster::repository())
        .unwrap_or(path)
        .display()
        .to_string()
}
