//! The network namespaces of the tests, and work in one of them.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// This variable is set in the process that is in the namespaces.
const INSIDE: &str = "MOORING_INSIDE_NAMESPACES";
const NAMES: &str = "/run/netns";
const PREPARE: &str = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up";

/// The process in which the work is done.
pub enum Entered {
    /// This process is in separate namespaces.
    Here,
    /// A child process was in separate namespaces, and has ended.
    Ended(ExitCode),
}

/// Runs this program again in separate namespaces, unless it is there already. The error says what is missing.
pub fn enter() -> Result<Entered, String> {
    if std::env::var_os(INSIDE).is_some() {
        shell(PREPARE);
        return Ok(Entered::Here);
    }
    permitted()?;
    let status = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .status()
        .map_err(|error| error.to_string())?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Entered::Ended(
        code.map_or(ExitCode::FAILURE, ExitCode::from),
    ))
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount"]);
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command
}

/// Checks whether namespaces with everything that the network needs are possible.
fn permitted() -> Result<(), String> {
    let needs = format!(
        "{PREPARE} && ip netns add trial && echo 1 > /proc/sys/net/ipv4/ip_forward && \
         nft list ruleset && iptables-nft --version"
    );
    let output = unshare()
        .args(["sh", "-ec", &needs])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("unshare cannot be run ({error}): apt-get install util-linux"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "network namespaces are needed: as root (in a container: --privileged), or where users may make user \
         namespaces; and the programs ip, nft and iptables-nft ({})",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
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

/// Moves the calling thread into a network namespace, and makes a runtime whose threads are there too.
pub fn runtime_in(name: String) -> tokio::runtime::Runtime {
    enter_network(&name);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(move || enter_network(&name))
        .enable_all()
        .build()
        .unwrap()
}

/// Runs a closure on a thread in a network namespace.
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
