//! `mooring-dev demo`: shows the work of Mooring with real kubectl output.

mod manifests;
mod queries;
mod steps;

use std::time::Duration;

use mooring_cluster::ClusterOptions;

use self::steps::{
    annotation_removed, block_and_address, cleaned_up, deployment, node_fails, partner, rollout,
};
use crate::packets::{POD_CIDR, Packets};
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
/// The number of calls of `Screen::step`.
const STEPS: u32 = 6;

/// Runs the demo. `packets` says whether a network for the packets of pods is possible, or why not.
pub(crate) async fn demo(packets: Result<(), String>) -> Result<(), String> {
    let mut screen = Screen::with_steps(STEPS);
    screen.note(
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
    block_and_address(screen, world, packets.is_ok()).await?;
    let first = deployment(screen, world).await?;
    partner(screen, cluster, &mut packets, &first).await?;
    let second = rollout(screen, cluster, &first).await?;
    let third = node_fails(screen, cluster, &mut packets, &second).await?;
    partner(screen, cluster, &mut packets, &third).await?;
    annotation_removed(screen, cluster).await?;
    cleaned_up(screen, cluster).await
}
