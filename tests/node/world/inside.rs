//! The namespaces of the test, and work in one of them.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Set in the process that is in the namespaces.
const INSIDE: &str = "MOORING_NODE_TEST_INSIDE";
const NAMES: &str = "/run/netns";

pub enum Entered {
    /// This process is in namespaces of its own.
    Here,
    /// Another process was, and has ended.
    Ended(ExitCode),
}

/// Runs the test again in namespaces of its own, unless it is there already.
pub fn enter() -> Entered {
    if std::env::var_os(INSIDE).is_some() {
        shell("mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up");
        return Entered::Here;
    }
    let root = rustix::process::geteuid().is_root();
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount"]);
    if !root {
        command.args(["--user", "--map-root-user"]);
    }
    let status = command
        .arg(std::env::current_exe().unwrap())
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .status();
    match status {
        Ok(status) if status.success() => Entered::Ended(ExitCode::SUCCESS),
        // The tests ran, and one failed.
        Ok(status) if status.code() == Some(101) => Entered::Ended(ExitCode::from(101)),
        Ok(_) => {
            eprintln!(
                "these tests need network namespaces: as root (in a container: --privileged), or where users may \
                 make user namespaces; and the tools that .ci/need names"
            );
            Entered::Ended(ExitCode::FAILURE)
        }
        Err(error) => {
            eprintln!("unshare cannot be run ({error}): apt-get install util-linux");
            Entered::Ended(ExitCode::FAILURE)
        }
    }
}

/// Runs a shell command in the namespace of this thread, and returns what it prints.
pub fn shell(command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).output().unwrap();
    assert!(
        output.status.success(),
        "{command}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Moves the calling thread into a network namespace.
pub fn enter_network(name: &str) {
    let file = File::open(Path::new(NAMES).join(name)).unwrap();
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

/// Does something on a thread in a network namespace.
pub fn within<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let there = scope.spawn(|| {
            enter_network(name);
            work()
        });
        there
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a shell command in a network namespace.
pub fn run(name: &str, command: &str) -> String {
    within(name, || shell(command))
}
