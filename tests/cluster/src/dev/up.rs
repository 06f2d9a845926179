//! `mooring-dev up`.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use mooring_cluster::{run, target};

use crate::down::running;
use crate::screen::Screen;
use crate::serve::{environment_file, pid_file};

pub(crate) fn up() -> Result<(), String> {
    if let Some(pid) = running() {
        println!("already up (process {pid}); `make down` ends it");
        return Ok(());
    }
    let folder = target().join("dev");
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(said)?;
    // Left by a supervisor that was killed.
    let _ = std::fs::remove_file(environment_file());
    let log = folder.join("serve.log");
    let output = File::create(&log).map_err(said)?;
    let errors = output.try_clone().map_err(said)?;
    let own = std::env::current_exe().map_err(said)?;
    // A session of its own: closing this terminal does not end it.
    let mut supervisor = Command::new("setsid")
        .arg(own)
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| {
            format!("starting the supervisor through setsid (of util-linux): {error}")
        })?;
    std::fs::write(pid_file(), supervisor.id().to_string()).map_err(said)?;

    let screen = Screen::new();
    let started = run(screen.until(
        "control plane, EC2, three nodes and Mooring start",
        Duration::from_mins(2),
        || {
            let ended = supervisor.try_wait();
            async move {
                match ended {
                    Ok(Some(status)) => Ok(Err(format!("the supervisor ended: {status}"))),
                    Ok(None) if environment_file().exists() => Ok(Ok(())),
                    Ok(None) => Err("not ready"),
                    Err(error) => Ok(Err(error.to_string())),
                }
            }
        },
    ));
    if let Err(error) = started.and_then(|started| started) {
        // It may hang: what it has started dies with it.
        let _ = supervisor.kill();
        let _ = std::fs::remove_file(pid_file());
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        return Err(format!("{log}\n{error}"));
    }
    println!(
        "up after {} s: 3 nodes, block `partners`, Mooring",
        screen.elapsed().as_secs()
    );
    println!("\n  . target/dev/env\n  kubectl get nodes,ipblocks\n\n`make down` ends it");
    Ok(())
}
