//! Reads and changes the nftables table with the program `nft`.
//!
//! The crate `nftables` (0.6.3) is not used: its types have no verdict maps, and it does not return the stderr of nft.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::error::KernelError;
use super::limit::LIMIT;
use crate::node::settings::{NodeSettings, TABLE};
use crate::node::table::Table;

/// Reads the table of Mooring. None: it does not exist.
pub(super) async fn list() -> Result<Option<Table>, KernelError> {
    // Without this flag the listing has names where /etc/protocols exists, and numbers elsewhere.
    let arguments = ["--json", "--numeric-protocol", "list", "table", "ip", TABLE];
    match run(&arguments, "").await {
        Ok(listing) => Ok(Some(Table::parse(&listing)?)),
        // The message of nft for a table that does not exist: strerror(ENOENT) in the locale C.
        Err(Failed::Refused(reason)) if reason.contains("No such file or directory") => Ok(None),
        Err(failed) => Err(failed.while_doing("listing the nftables table mooring")),
    }
}

pub(super) async fn update(commands: &Value) -> Result<(), KernelError> {
    change(commands, "updating the nftables table mooring").await
}

pub(super) async fn replace(table: &Table) -> Result<(), KernelError> {
    change(&table.replace(), "replacing the nftables table mooring").await
}

pub(super) async fn remove() -> Result<(), KernelError> {
    change(&Table::remove(), "removing the nftables table mooring").await
}

/// Runs `nft --check` on a table that has every kind of rule. It changes nothing.
pub(super) async fn check(settings: &NodeSettings) -> Result<(), KernelError> {
    let table = crate::node::complete_table::complete(settings)
        .replace()
        .to_string();
    let checked = run(&["--check", "--json", "--file", "-"], &table).await;
    let what = "checking that nft and the kernel have what the nftables table mooring needs";
    checked.map(drop).map_err(|failed| failed.while_doing(what))
}

/// Runs one transaction.
async fn change(commands: &Value, what: &'static str) -> Result<(), KernelError> {
    let done = run(&["--json", "--file", "-"], &commands.to_string()).await;
    done.map(drop).map_err(|failed| failed.while_doing(what))
}

enum Failed {
    /// `nft` could not be started or awaited.
    NotRun(io::Error),
    /// `nft` failed with this message.
    Refused(String),
    /// `nft` did not end within this time.
    TooSlow(Duration),
}

impl Failed {
    fn while_doing(self, what: &'static str) -> KernelError {
        let reason = match self {
            Self::NotRun(error) => format!("nft cannot be run ({error}): the image needs nftables"),
            Self::Refused(reason) => reason,
            Self::TooSlow(limit) => return KernelError::NftTooSlow { what, limit },
        };
        KernelError::Nft { what, reason }
    }
}

async fn run(arguments: &[&str], input: &str) -> Result<String, Failed> {
    let mut nft = Command::new("nft");
    nft.args(arguments).env("LC_ALL", "C");
    run_within(LIMIT, nft, input).await
}

async fn run_within(limit: Duration, nft: Command, input: &str) -> Result<String, Failed> {
    // The end of the future kills the process.
    timeout(limit, output(nft, input))
        .await
        .unwrap_or(Err(Failed::TooSlow(limit)))
}

async fn output(mut nft: Command, input: &str) -> Result<String, Failed> {
    let mut nft = nft
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(Failed::NotRun)?;
    if let Some(mut stdin) = nft.stdin.take() {
        // Without the permission to change the network nft exits before it reads stdin. Its message on stderr is more
        // useful than the write error.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = nft.wait_with_output().await.map_err(Failed::NotRun)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failed::Refused(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// Whether the process runs: it exists, and is no zombie.
    fn runs(process: &str) -> bool {
        let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after_name = state.rsplit(')').next().unwrap_or_default();
        !after_name.is_empty() && !after_name.starts_with(" Z")
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_in_time_is_killed() {
        let name = format!("mooring-nft-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let mut program = Command::new("sh");
        let script = format!("echo $$ > {}; exec sleep 30", file.display());
        program.args(["-c", &script]);
        let limit = Duration::from_secs(2);
        let failed = run_within(limit, program, "").await.unwrap_err();
        let message = failed.while_doing("listing the table").to_string();
        let process = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert!(
            message.contains("listing the table: nft was killed"),
            "{message}"
        );
        let begin = Instant::now();
        while runs(process.trim()) {
            assert!(begin.elapsed() < Duration::from_secs(10), "it still runs");
            tokio::task::yield_now().await;
        }
    }
}
