//! A process that a test starts. It ends at the latest together with the test process.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A child process. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    program: Program,
    child: Mutex<Child>,
}

/// A command, and the file of its output.
#[derive(Debug)]
struct Program {
    name: String,
    binary: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
}

type Order = (Command, Sender<std::io::Result<Child>>);

/// Starts a command on a thread that runs as long as this process: the kernel's parent-death signal is sent
/// when the *thread* that started the child ends, and a test's thread ends before the cluster that others share.
/// There is one such thread for each network namespace, which the child inherits.
fn spawn(command: Command) -> std::io::Result<Child> {
    static SPAWNERS: Mutex<BTreeMap<u64, Sender<Order>>> = Mutex::new(BTreeMap::new());
    let namespace = std::fs::metadata("/proc/thread-self/ns/net")?.ino();
    let (reply, answer) = channel();
    SPAWNERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(namespace)
        .or_insert_with(start_spawner)
        .send((command, reply))
        .expect("the spawner exists until the process ends");
    answer.recv().expect("the spawner answers every order")
}

fn start_spawner() -> Sender<Order> {
    let (orders, inbox) = channel::<Order>();
    std::thread::Builder::new()
        .name("spawner".to_owned())
        .spawn(move || {
            for (mut command, reply) in inbox {
                // The receiver was dropped: the child is dropped too, and ends.
                let _ = reply.send(command.spawn());
            }
        })
        .expect("a thread can be started");
    orders
}

impl Program {
    fn launch(&self, stdout: Option<Stdio>) -> Child {
        let open = || {
            let file = File::options().create(true).append(true).open(&self.log);
            Stdio::from(file.expect("a log file can be opened"))
        };
        // setpriv lets the kernel kill the child when this process ends, also by SIGKILL, and executes the command.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.binary)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(stdout.unwrap_or_else(open))
            .stderr(open());
        spawn(command).unwrap_or_else(|error| {
            panic!(
                "starting {} through setpriv (of util-linux): {error}",
                self.name
            )
        })
    }
}

impl Process {
    /// Starts `binary` with its output in `<logs>/<name>.log` (appended if it was started before).
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(
        name: &str,
        binary: &Path,
        arguments: &[String],
        environment: &[(String, String)],
        logs: &Path,
    ) -> Self {
        Self::launch(name, binary, arguments, environment, logs, None)
    }

    /// As [`Process::start`], but the caller reads stdout ([`Process::take_stdout`]).
    pub(crate) fn start_piped(
        name: &str,
        binary: &Path,
        arguments: &[String],
        logs: &Path,
    ) -> Self {
        Self::launch(name, binary, arguments, &[], logs, Some(Stdio::piped()))
    }

    fn launch(
        name: &str,
        binary: &Path,
        arguments: &[String],
        environment: &[(String, String)],
        logs: &Path,
        stdout: Option<Stdio>,
    ) -> Self {
        let program = Program {
            name: name.to_owned(),
            binary: binary.to_owned(),
            arguments: arguments.to_vec(),
            environment: environment.to_vec(),
            log: logs.join(format!("{name}.log")),
        };
        let child = Mutex::new(program.launch(stdout));
        Self { program, child }
    }

    /// Starts it again with the same ports and arguments. If it still runs, sends SIGKILL first.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn restart(&self) {
        self.kill9();
        *self.lock() = self.program.launch(None);
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.lock().id()
    }

    /// The file of its output.
    pub fn log_path(&self) -> &Path {
        &self.program.log
    }

    /// The whole log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.program.log).unwrap_or_default()
    }

    pub(crate) fn take_stdout(&self) -> Option<std::process::ChildStdout> {
        self.lock().stdout.take()
    }

    /// Its exit status. `None` while it runs.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.lock().try_wait().expect("a child can be waited for")
    }

    /// Panics with the end of the log if the process has ended.
    pub(crate) fn assert_runs(&self) {
        if let Some(status) = self.ended() {
            panic!(
                "{} ended ({status}); its last lines:\n{}",
                self.program.name,
                tail(&self.log(), 25)
            );
        }
    }

    /// Sends SIGKILL, and waits until it has ended.
    pub fn kill9(&self) {
        let mut child = self.lock();
        // An error means that the process has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Sends a signal by name, such as `TERM`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) {
        if self.ended().is_none() {
            let _ = Command::new("kill")
                .args([format!("-{name}"), self.pid().to_string()])
                .status();
        }
    }

    /// Sends SIGTERM, and waits until it has ended.
    ///
    /// # Panics
    /// If it does not end within `limit`.
    pub async fn terminate(&self, limit: Duration) -> ExitStatus {
        self.signal("TERM");
        self.end(limit).await
    }

    /// Waits after a first signal until it has ended. (A second signal would end Mooring at once.)
    ///
    /// # Panics
    /// If it does not end within `limit`.
    pub async fn end(&self, limit: Duration) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(
                begin.elapsed() < limit,
                "{} runs {limit:?} after SIGTERM; its last lines:\n{}",
                self.program.name,
                tail(&self.log(), 25)
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill9();
    }
}

/// The last `count` lines of a text.
pub(crate) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
