//! A second `mooring-dev up` restarts the processes that have ended since, and names them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use mooring_cluster::{eventually, run, target};

/// A running cluster of `up` in a separate folder. It is ended when this is dropped.
struct Dev(PathBuf);

impl Dev {
    fn new() -> Self {
        let folder = target().join(format!("dev-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn run(&self, command: &str) -> Output {
        let mut dev = Command::new(env!("CARGO_BIN_EXE_mooring-dev"));
        let dev = dev.arg(command).env("MOORING_DEV", &self.0);
        dev.output().unwrap()
    }

    /// The output of a command, which must succeed.
    #[track_caller]
    fn succeeds(&self, command: &str) -> String {
        let output = self.run(command);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {stdout}\n{stderr}");
        stdout
    }

    fn supervisor(&self) -> u32 {
        let pid = std::fs::read_to_string(self.0.join("pid")).unwrap();
        pid.parse().unwrap()
    }

    /// The running child process of the supervisor with this name.
    fn child(&self, name: &str) -> Option<u32> {
        let parent = self.supervisor().to_string();
        std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .find_map(|entry| {
                let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
                let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                // pid (name) state parent ...
                let (before, after) = stat.rsplit_once(") ")?;
                let (state, after) = after.split_once(' ')?;
                let found = before.ends_with(&format!("({name}"))
                    && state != "Z"
                    && after.split(' ').next() == Some(&parent);
                found.then_some(pid)
            })
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.run("down");
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kill(pid: u32) {
    let mut kill = Command::new("kill");
    let killed = kill.args(["-KILL", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// Whether all threads of a process have ended, so that its parent can notice it. The first thread can be a zombie
/// before the others end.
fn is_gone(pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let Ok(stat) = std::fs::read_to_string(process.join("stat")) else {
        return true;
    };
    let threads = std::fs::read_dir(process.join("task")).map_or(0, Iterator::count);
    stat.contains(") Z ") && threads <= 1
}

#[test]
fn ended_processes_are_restarted_and_named_and_the_others_stay() {
    let dev = Dev::new();
    dev.succeeds("up");
    let supervisor = dev.supervisor();
    assert!(
        dev.succeeds("up").contains("already up"),
        "nothing has ended"
    );
    for (name, process) in [("Mooring", "mooring"), ("kwok", "kwok")] {
        let dead = dev.child(process).expect("it runs");
        kill(dead);
        run(eventually(
            "it has ended",
            Duration::from_secs(10),
            || async { is_gone(dead) },
        ));
        let stdout = dev.succeeds("up");
        let reported = format!("{name} had ended (signal: 9 (SIGKILL)) and was started again");
        assert!(
            stdout.contains(&reported) && !stdout.contains("already"),
            "{stdout}"
        );
        assert!(
            dev.child(process).is_some_and(|pid| pid != dead),
            "{stdout}"
        );
        assert_eq!(dev.supervisor(), supervisor, "the rest stays");
    }
    assert!(dev.succeeds("up").contains("already up"), "all of it runs");
    // The emulator keeps its state in memory, so a new one would be another cloud.
    let emulator = dev.child("ec2-emulator").expect("it runs");
    kill(emulator);
    run(eventually(
        "it has ended",
        Duration::from_secs(10),
        || async { is_gone(emulator) },
    ));
    let output = dev.run("up");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && stderr.contains("`make down`, then `make up`"),
        "{stderr}"
    );
    assert!(dev.succeeds("down").contains("down after"));
}
