//! The supervisor that `up` leaves running: the parent of all processes, until it receives a signal.

use std::path::{Path, PathBuf};

use mooring_cluster::{ClusterOptions, control_plane_binary, target};
use tokio::signal::unix::{SignalKind, signal};

use crate::world::World;

/// The folder for the files of `up`: `MOORING_DEV`, or `dev` in the build folder.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("MOORING_DEV").map_or_else(|| target().join("dev"), PathBuf::from)
}

/// The file of the environment, written when the cluster is ready.
pub(crate) fn environment_file() -> PathBuf {
    folder().join("env")
}

/// The file of the process id.
pub(crate) fn pid_file() -> PathBuf {
    folder().join("pid")
}

/// The file with the restarted processes.
pub(crate) fn revived_file() -> PathBuf {
    folder().join("revived")
}

/// The restarted processes, or the error.
pub(crate) type Revived = Result<Vec<String>, String>;

pub(crate) async fn serve() -> Result<(), String> {
    let listen = |kind| signal(kind).map_err(|error| format!("listening for a signal: {error}"));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut revive = listen(SignalKind::hangup())?;
    let world = tokio::select! {
        world = World::start(ClusterOptions::default()) => world,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    world
        .cluster
        .try_apply(&world.sample("ipblock.yaml", &[])?)
        .await
        .map_err(|error| error.to_string())?;
    write_whole(&environment_file(), &environment(&world))?;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = revive.recv() => {
                let revived: Revived = world.revive().await;
                let text = serde_json::to_string(&revived).map_err(|error| error.to_string())?;
                write_whole(&revived_file(), &text)?;
            }
        }
    }
    world.stop().await;
    for file in [environment_file(), pid_file(), revived_file()] {
        // Another process may have done it already.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// The environment for a shell.
fn environment(world: &World) -> String {
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
    lines.join("\n") + "\n"
}

/// Writes a file atomically.
fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text)
        .and_then(|()| std::fs::rename(&draft, path))
        .map_err(|error| format!("writing {}: {error}", path.display()))
}
