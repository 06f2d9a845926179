//! `mooring echo`, as a partner runs it.

use std::process::{Child, Command, Stdio};

use super::World;
use super::inside::within;
use crate::paths::workspace_binary;

/// A process `mooring echo`. It is killed when this is dropped.
pub struct Echo(Child);

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl World {
    /// Starts it in a namespace.
    pub fn echo(&self, name: &str, listen: &str) -> Echo {
        let started = within(&self.name(name), || {
            Command::new(workspace_binary("mooring", "MOORING_BIN"))
                .args(["echo", "--listen", listen])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        });
        Echo(started)
    }
}

impl Echo {
    /// Sends a signal to end it, and fails unless it ends with success.
    pub fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let ended = self.0.wait().unwrap();
        assert!(ended.success(), "{ended}");
    }
}
