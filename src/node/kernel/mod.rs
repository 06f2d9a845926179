//! The effects: what the kernel of the present network namespace shows, and the changes to it.

mod conntrack;
mod error;
mod events;
mod nft;
mod route;
mod route_messages;

pub use error::KernelError;
pub use events::{Events, Part};

use super::difference::Change;
use super::settings::NodeSettings;
use super::state::KernelState;

/// The kernel of the network namespace in which it was opened.
pub struct Kernel {
    route: route::Routing,
    settings: NodeSettings,
}

impl Kernel {
    /// Opens it. Has to be called within a tokio runtime whose threads are in the network namespace.
    ///
    /// # Errors
    /// A netlink socket cannot be opened.
    pub fn open(settings: NodeSettings) -> Result<Self, KernelError> {
        Ok(Self {
            route: route::Routing::open(settings)?,
            settings,
        })
    }

    /// Says what is missing on this node: the kernel's version, `nft`, the right to change the network.
    ///
    /// # Errors
    /// What is missing.
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

    /// What it shows now.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn observe(&self) -> Result<KernelState, KernelError> {
        let mut state = self.route.observe().await?;
        state.table = nft::list().await?;
        state.read_reverse_path();
        Ok(state)
    }

    /// What it shows now, with a table that was read before.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn observe_routes(&self, before: &KernelState) -> Result<KernelState, KernelError> {
        let mut state = self.route.observe().await?;
        state.table.clone_from(&before.table);
        state.reverse_path.clone_from(&before.reverse_path);
        Ok(state)
    }

    /// Does one change. Doing it a second time is not an error.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub async fn apply(&self, change: &Change) -> Result<(), KernelError> {
        match change {
            Change::UpdateTable(commands) => nft::update(commands).await,
            Change::ReplaceTable(table) => nft::replace(table).await,
            Change::RemoveTable => nft::remove().await,
            Change::ForgetConnections(expected) => conntrack::forget(expected).await.map(drop),
            other => self.route.apply(other).await,
        }
    }
}
