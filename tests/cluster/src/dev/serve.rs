//! What `up` leaves running: the parent of every process, until it is told to end.

use std::path::PathBuf;

use mooring_cluster::{ClusterOptions, control_plane_binary, target};
use tokio::signal::unix::{SignalKind, signal};

use crate::world::World;

/// Where the environment is written once everything is ready.
pub(crate) fn environment_file() -> PathBuf {
    target().join("dev/env")
}

/// Where the process id is.
pub(crate) fn pid_file() -> PathBuf {
    target().join("dev/pid")
}

pub(crate) async fn serve() -> Result<(), String> {
    let listen = |kind| signal(kind).map_err(|error| format!("listening for a signal: {error}"));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let world = tokio::select! {
        world = World::start(ClusterOptions::default()) => world,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    world
        .cluster
        .try_apply(&world.sample("ipblock.yaml", None)?)
        .await
        .map_err(|error| error.to_string())?;
    write(&world)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    world.stop().await;
    for file in [environment_file(), pid_file()] {
        // Somebody may have been quicker.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// Writes the environment in one piece: whoever sees the file sees all of it.
fn write(world: &World) -> Result<(), String> {
    let kubectl = control_plane_binary("kubernetes", "kubectl");
    let folders: Vec<String> = [kubectl.parent(), Some(target().join("debug").as_path())]
        .into_iter()
        .flatten()
        .map(|folder| folder.display().to_string())
        .collect();
    let mut lines = vec![
        "# To be sourced: . target/dev/env".to_owned(),
        format!(
            "export KUBECONFIG='{}'",
            world.cluster.kubeconfig().display()
        ),
        format!(
            "export MOORING_METRICS_URL='{}/metrics'",
            world.mooring.http_url()
        ),
        format!("export PATH=\"{}:$PATH\"", folders.join(":")),
    ];
    for (key, value) in world.cluster.ec2().environment() {
        lines.push(format!("export {key}='{value}'"));
    }
    lines.push(format!("# logs: {}/logs", world.cluster.folder().display()));
    let path = environment_file();
    let draft = path.with_extension("draft");
    std::fs::write(&draft, lines.join("\n") + "\n")
        .and_then(|()| std::fs::rename(&draft, &path))
        .map_err(|error| format!("writing {}: {error}", path.display()))
}
