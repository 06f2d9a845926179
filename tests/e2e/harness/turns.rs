//! Limits how many scenes run at a time.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::sync::{Semaphore, SemaphorePermit};

static SHARED: LazyLock<Semaphore> = LazyLock::new(|| permits("MOORING_E2E_SHARED", 8));
static ALONE: LazyLock<Semaphore> = LazyLock::new(|| permits("MOORING_E2E_ALONE", 4));

/// The scenes that wait for a turn in the shared cluster.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// The turns in the shared cluster that no scene needs now.
static UNUSED: AtomicUsize = AtomicUsize::new(0);
/// A separate cluster uses as much of the machine as this number of scenes in the shared cluster.
const COST: usize = 2;

fn permits(variable: &str, default: usize) -> Semaphore {
    Semaphore::new(mooring_cluster::count(variable, default))
}

/// Where a scene runs.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// In the shared cluster.
    Shared,
    /// In a separate cluster.
    Alone,
}

/// The permission to run, until it is dropped.
pub struct Turn {
    permit: Option<SemaphorePermit<'static>>,
    place: Place,
}

impl Turn {
    /// Waits until a scene may run there.
    pub async fn wait(place: Place) -> Self {
        let permit = match place {
            Place::Alone => ALONE.acquire().await,
            Place::Shared => {
                WAITING.fetch_add(1, SeqCst);
                let permit = SHARED.acquire().await;
                WAITING.fetch_sub(1, SeqCst);
                permit
            }
        };
        Self {
            permit: Some(permit.expect("never closed")),
            place,
        }
    }
}

impl Drop for Turn {
    /// All scenes wait from the start. So when none waits for the shared cluster, its turns are not needed any more,
    /// and scenes with separate clusters get them.
    fn drop(&mut self) {
        if self.place == Place::Alone || WAITING.load(SeqCst) > 0 {
            return;
        }
        if let Some(permit) = self.permit.take() {
            permit.forget();
        }
        if (UNUSED.fetch_add(1, SeqCst) + 1).is_multiple_of(COST) {
            ALONE.add_permits(1);
        }
    }
}
