//! `mooring-dev up`.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use mooring_cluster::run;

use crate::down::running;
use crate::screen::Screen;
use crate::serve::{Revived, environment_file, folder, pid_file, revived_file};

/// The time limit for the supervisor to restart processes.
const REVIVAL: Duration = Duration::from_mins(2);

/// Makes the supervisor restart the processes that have ended, because it is the parent of all of them.
fn revive(supervisor: u32) -> Result<(), String> {
    // The signal is sent only when the supervisor handles it.
    if !environment_file().exists() {
        println!("being started already (process {supervisor})");
        return Ok(());
    }
    let answer = revived_file();
    let _ = std::fs::remove_file(&answer);
    let signalled = Command::new("kill")
        .args(["-HUP", &supervisor.to_string()])
        .status();
    if !signalled.is_ok_and(|status| status.success()) {
        return Err(format!("process {supervisor} could not be asked"));
    }
    let screen = Screen::new();
    let sentence = "processes that have ended are started again";
    let text = run(screen.until(sentence, REVIVAL, || async {
        match std::fs::read_to_string(&answer) {
            Ok(text) => Ok(Ok(text)),
            Err(_) if running() == Some(supervisor) => Err("no answer yet"),
            Err(_) => Ok(Err(format!("process {supervisor} ended: `make up` again"))),
        }
    }))??;
    let revived: Revived = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let revived = revived?;
    for sentence in &revived {
        println!("{sentence}");
    }
    let already = if revived.is_empty() {
        "already"
    } else {
        "all is"
    };
    println!("{already} up (process {supervisor}); `make down` ends it");
    Ok(())
}

pub(crate) fn up() -> Result<(), String> {
    if let Some(pid) = running() {
        return revive(pid);
    }
    let folder = folder();
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    // Files of a supervisor that was killed.
    let _ = std::fs::remove_file(environment_file());
    let log = folder.join("serve.log");
    let output = File::create(&log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let own = std::env::current_exe().map_err(failed)?;
    // A separate session, so that closing this terminal does not end it.
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
    std::fs::write(pid_file(), supervisor.id().to_string()).map_err(failed)?;

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
        // The supervisor may hang. Its child processes end together with it.
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
