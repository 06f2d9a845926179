//! `mooring-dev demo`: shows the work of Mooring with real kubectl output.

mod queries;
mod steps;

use std::path::PathBuf;
use std::time::Duration;

use mooring_cluster::{ClusterOptions, target};

use self::queries::{holder, location};
use self::steps::{annotation_removed, cleaned_up, node_fails, partner};
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
