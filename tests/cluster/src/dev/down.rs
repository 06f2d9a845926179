//! `mooring-dev down`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use mooring_cluster::run;

use crate::screen::Screen;
use crate::serve::{environment_file, pid_file};

/// The process id of the supervisor, if it runs.
pub(crate) fn running() -> Option<u32> {
    let pid: u32 = std::fs::read_to_string(pid_file())
        .ok()?
        .trim()
        .parse()
        .ok()?;
    // Another program may have the process id of a killed supervisor.
    let command = std::fs::read(process(pid).join("cmdline")).ok()?;
    let words: Vec<_> = command.split(|&byte| byte == 0).collect();
    let is_ours = words
        .first()
        .is_some_and(|word| word.ends_with(b"mooring-dev"))
        && words.get(1) == Some(&&b"serve"[..]);
    is_ours.then_some(pid)
}

fn process(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

pub(crate) fn down() -> Result<(), String> {
    let Some(pid) = running() else {
        println!("nothing is up");
        let _ = std::fs::remove_file(pid_file());
        let _ = std::fs::remove_file(environment_file());
        return Ok(());
    };
    let signalled = Command::new("kill").arg(pid.to_string()).status();
    if !signalled.is_ok_and(|status| status.success()) {
        return Err(format!("SIGTERM could not be sent to process {pid}"));
    }
    let screen = Screen::new();
    run(screen.until(
        &format!("Mooring and the control plane end (process {pid})"),
        Duration::from_secs(30),
        || async { !process(pid).exists() },
    ))?;
    let _ = std::fs::remove_file(pid_file());
    let _ = std::fs::remove_file(environment_file());
    println!(
        "down after {} s: Mooring, the control plane and EC2 ended",
        screen.elapsed().as_secs()
    );
    Ok(())
}
