//! Runs the node part in a thread of the test, in the network namespace of a node.

use std::thread;
use std::time::Duration;

use mooring::node::kernel::{KernelEvents, Part};
use mooring::node::objects::Objects;
use mooring::node::probe::{self, Limits, ProbeResults};
use mooring::node::reconcile::{NodeReconciler, ReconcileResult, Reports};
use mooring::node::reconcile_loop::run;
use mooring::node::settings::NodeSettings;
use mooring_cluster::network::{Node, enter_network, within};
use tokio::sync::watch;

/// Runs the node part on a node.
pub trait RunNodePart {
    /// Compares and applies once, as the node part does.
    fn reconcile(&self, objects: &Objects) -> ReconcileResult;

    /// The same as `reconcile`, with other settings.
    fn reconcile_with(&self, settings: NodeSettings, objects: &Objects) -> ReconcileResult;

    /// Runs `work` with a node part that starts before it and ends after it.
    fn with<T: Send>(
        &self,
        work: impl FnOnce(&tokio::runtime::Runtime, &mut NodeReconciler) -> T + Send,
    ) -> T;

    /// Starts a node part that runs until the returned value is dropped.
    fn start(&self, objects: Objects) -> Running;
}

impl RunNodePart for Node<'_> {
    fn reconcile(&self, objects: &Objects) -> ReconcileResult {
        self.reconcile_with(NodeSettings::default(), objects)
    }

    fn reconcile_with(&self, settings: NodeSettings, objects: &Objects) -> ReconcileResult {
        let outcome = with_settings(*self, settings, |runtime, reconciler| {
            runtime
                .block_on(reconciler.reconcile(objects, Part::All))
                .unwrap()
        });
        assert!(outcome.errors.is_empty(), "{:#?}", outcome.errors);
        outcome
    }

    fn with<T: Send>(
        &self,
        work: impl FnOnce(&tokio::runtime::Runtime, &mut NodeReconciler) -> T + Send,
    ) -> T {
        with_settings(*self, NodeSettings::default(), work)
    }

    fn start(&self, objects: Objects) -> Running {
        let (sender, objects) = watch::channel(Some(objects));
        let (report_sender, reports) = watch::channel(Reports::new());
        let (found, outcomes) = watch::channel(ProbeResults::new());
        let name = self.world.name(self.name);
        let thread = thread::spawn(move || {
            enter_network(&name);
            runtime().block_on(async {
                let reconciler = NodeReconciler::open(NodeSettings::default()).unwrap();
                let limits = Limits {
                    time: Duration::from_millis(500),
                    ..Limits::default()
                };
                let probing = probe::run(reconciler.orders(), found, limits);
                let reconciling = run(
                    reconciler,
                    KernelEvents::open().unwrap(),
                    objects,
                    report_sender,
                );
                tokio::select! {
                    () = probing => {}
                    ended = reconciling => ended.unwrap(),
                }
            });
        });
        Running {
            objects: Some(sender),
            reports,
            outcomes,
            thread: Some(thread),
        }
    }
}

/// Runs `work` with a node part that has these settings.
fn with_settings<T: Send>(
    node: Node<'_>,
    settings: NodeSettings,
    work: impl FnOnce(&tokio::runtime::Runtime, &mut NodeReconciler) -> T + Send,
) -> T {
    within(&node.world.name(node.name), || {
        let runtime = runtime();
        let guard = runtime.enter();
        let mut reconciler = NodeReconciler::open(settings).unwrap();
        drop(guard);
        work(&runtime, &mut reconciler)
    })
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A running node part.
pub struct Running {
    objects: Option<watch::Sender<Option<Objects>>>,
    pub reports: watch::Receiver<Reports>,
    pub outcomes: watch::Receiver<ProbeResults>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    /// Replaces the objects that the node part sees.
    pub fn show(&self, objects: Objects) {
        self.objects.as_ref().unwrap().send_replace(Some(objects));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.objects.take());
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap();
        }
    }
}
