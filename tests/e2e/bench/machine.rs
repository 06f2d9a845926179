//! Describes the measured binary and the machine.

use std::process::Command;

/// The machine, the commit and the day.
#[derive(Clone, Debug)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory: String,
    pub kernel: String,
    /// The commit, with `+` if files differ from it.
    pub commit: String,
    pub date: String,
    /// `release` if `MOORING_BIN` names the measured binary, else `debug`.
    pub binary: &'static str,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The value of a line `name: value`.
fn field(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

fn git(arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(mooring_cluster::repository())
        .output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

impl Machine {
    pub fn here() -> Self {
        let cpu = field(&read("/proc/cpuinfo"), "model name");
        let kib = field(&read("/proc/meminfo"), "MemTotal");
        let kib = kib.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        let commit = git(&["rev-parse", "--short", "HEAD"]);
        // Changes in the docs do not count, because a run itself writes figures into them.
        let differs = git(&[
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--",
            ".",
            ":!docs",
            ":!README.md",
        ]);
        let differs = if differs.is_empty() { "" } else { "+" };
        let now = jiff::Timestamp::now();
        let binary = if std::env::var_os("MOORING_BIN").is_some() {
            "release"
        } else {
            "debug"
        };
        Self {
            cpu: cpu.unwrap_or_else(|| "unknown CPU".to_owned()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory: kib.map_or_else(String::new, |kib| {
                format!("{} GiB", (kib + (1 << 19)) >> 20)
            }),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            commit: format!("{commit}{differs}"),
            date: now.to_string().chars().take(10).collect(),
            binary,
        }
    }

    /// The description in two lines.
    pub fn sentences(&self) -> String {
        let (commit, date, binary) = (&self.commit, &self.date, self.binary);
        let (cpu, cores, memory, kernel) = (&self.cpu, self.cores, &self.memory, &self.kernel);
        format!(
            "Measured at commit {commit} on {date}: {binary} binary, {cores} cores ({cpu}), {memory}, Linux {kernel}.\n\
             The control plane, the emulator of EC2 and the load share the machine."
        )
    }
}
