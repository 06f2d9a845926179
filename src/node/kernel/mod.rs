//! Reads and changes the kernel of the present network namespace.

mod conntrack;
mod diverting;
mod error;
mod events;
mod limit;
mod nft;
mod route;
mod route_messages;

use std::fs;

pub use error::KernelError;
pub use events::{KernelEvents, Part};
use limit::in_time;

use super::difference::Change;
use super::settings::NodeSettings;
use super::state::KernelState;

/// A UUID that the kernel makes at each start. It is the same in all namespaces of the node.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The present boot of this node, as its kubelet reports it too.
///
/// # Errors
/// The file cannot be read.
pub fn boot_id() -> Result<String, KernelError> {
    let text = fs::read_to_string(BOOT_ID).map_err(|source| KernelError::File {
        path: BOOT_ID,
        source,
    })?;
    Ok(text.trim().to_owned())
}

/// The kernel of the network namespace in which [`Kernel::open`] was called.
pub struct Kernel {
    route: route::Routing,
    settings: NodeSettings,
}

impl Kernel {
    /// Opens the sockets. Must be called within a tokio runtime whose threads are in the network namespace.
    ///
    /// # Errors
    /// A netlink socket cannot be opened.
    pub fn open(settings: NodeSettings) -> Result<Self, KernelError> {
        Ok(Self {
            route: route::Routing::open(settings)?,
            settings,
        })
    }

    /// Checks that the node has what Mooring needs: the kernel version, `nft`, the permission to change the network.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub async fn check(&self) -> Result<(), KernelError> {
        let uname = rustix::system::uname();
        let release = uname.release().to_string_lossy().into_owned();
        let mut numbers = release
            .split(['.', '-'])
            .map_while(|part| part.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < (5, 18) {
            let needed = "5.18";
            return Err(KernelError::TooOld { release, needed });
        }
        nft::check(&self.settings).await
    }

    /// Reads the present state of the kernel.
    ///
    /// # Errors
    /// The kernel cannot be read.
    pub async fn observe(&mut self) -> Result<KernelState, KernelError> {
        let mut state = self.route.observe().await?;
        state.table = nft::list().await?;
        state.read_stored();
        Ok(state)
    }

    /// Reads the present state of the kernel except the nftables table, which is taken from `before`.
    ///
    /// # Errors
    /// The kernel cannot be read.
    pub async fn observe_routes(
        &mut self,
        before: &KernelState,
    ) -> Result<KernelState, KernelError> {
        let mut state = self.route.observe().await?;
        state.table.clone_from(&before.table);
        state.keep_stored(before);
        Ok(state)
    }

    /// Makes one change. To make it a second time is not an error.
    ///
    /// # Errors
    /// The kernel refuses the change.
    pub async fn apply(&self, change: &Change) -> Result<(), KernelError> {
        match change {
            Change::UpdateTable(commands) => nft::update(commands).await,
            Change::ReplaceTable(table) => nft::replace(table).await,
            Change::RemoveTable => nft::remove().await,
            Change::ForgetConnections(expected) => conntrack::correct(expected).await.map(drop),
            other => in_time(change, self.route.apply(other)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use mooring_plan::names::BootId;

    use super::boot_id;

    #[test]
    fn the_boot_of_a_node_is_the_same_until_it_is_rebooted() {
        let boot = boot_id().unwrap();
        assert!(BootId::parse(&boot).is_some(), "{boot:?}");
        assert_eq!(boot_id().unwrap(), boot);
    }
}
