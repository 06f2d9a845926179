//! `mooring node`.

use std::time::Duration;

use clap::Args as ClapArgs;
use rustls::crypto::aws_lc_rs;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::clients::clients;
use super::signals::signals;
use crate::node::kernel::{KernelEvents, Part, boot_id};
use crate::node::objects::Objects;
use crate::node::probe::{Limits, ProbeResults};
use crate::node::reconcile::{NodeReconciler, Reports};
use crate::node::reconcile_loop::run as reconcile;
use crate::node::settings::NodeSettings;
use crate::node::{probe, report, watch as objects};
use crate::supervise::BoxError;
use crate::telemetry::{self, LogFormat};

/// Time limit of `--cleanup`.
const CLEANUP: Duration = Duration::from_secs(30);

/// The flags of `mooring node`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The name of this Node
    #[arg(long, env = "MOORING_NODE_NAME", default_value = "")]
    node_name: String,
    /// Remove everything of Mooring from the kernel of this node, and end
    #[arg(long)]
    cleanup: bool,
    /// Bits of packet and connection marks that no other program on the node uses
    #[arg(long, env = "MOORING_MARK_MASK", default_value = "0x000f0000", value_parser = mark)]
    mark_mask: u32,
    /// Priority of the rules (ip rule)
    #[arg(long, env = "MOORING_RULE_PRIORITY", default_value_t = 600)]
    rule_priority: u32,
    /// The number before the first route table; each network interface has one, and there are as many as marks
    #[arg(long, env = "MOORING_FIRST_TABLE", default_value_t = 10_600)]
    first_table: u32,
    /// Cilium on this node routes pods in the stack of the host (bpf.hostLegacyRouting=true), so they pass netfilter
    #[arg(long, env = "MOORING_CILIUM_LEGACY_ROUTING")]
    cilium_legacy_routing: bool,
    /// Format of the log
    #[arg(long, env = "MOORING_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

fn mark(text: &str) -> Result<u32, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

/// Runs until a signal arrives. The state of the kernel is kept, so that traffic continues.
pub fn run(args: Args) -> Result<(), BoxError> {
    telemetry::init(args.log_format)?;
    let settings = NodeSettings::new(args.mark_mask, args.rule_priority, args.first_table)?
        // A cleanup routes nothing, so it is possible with any earlier mask.
        .with_cilium_legacy_routing(args.cilium_legacy_routing && !args.cleanup)?;
    if args.node_name.is_empty() && !args.cleanup {
        return Err(
            "--node-name is needed: the name of the Node, by the downward API (spec.nodeName)"
                .into(),
        );
    }
    // Fails only if a provider is installed already, and no other code installs one.
    let _ = aws_lc_rs::default_provider().install_default();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(start(args, settings))
}

async fn start(args: Args, settings: NodeSettings) -> Result<(), BoxError> {
    let mut signals = signals()?;
    let mut reconciler = NodeReconciler::open(settings)?;
    if args.cleanup {
        return tokio::time::timeout(CLEANUP, cleanup(&mut reconciler))
            .await
            .unwrap_or_else(|_| {
                let limit = CLEANUP.as_secs();
                Err(format!("the kernel was not clean within {limit} s: run it again").into())
            });
    }
    reconciler.check().await?;
    let events = KernelEvents::open()?;
    let boot = boot_id();
    if let Err(error) = &boot {
        let error = telemetry::chain(error);
        tracing::warn!(
            error,
            "the IPNode does not say which boot of the node it describes"
        );
    }
    let boot = boot.ok();
    let client = clients().await?.general;
    let (out, mut shown) = watch::channel(None);
    let (reported, reports) = watch::channel(Reports::new());
    let (restored, restorations) = watch::channel(0);
    let mut tasks: JoinSet<Result<&'static str, BoxError>> = JoinSet::new();
    let (watching, node) = (client.clone(), args.node_name.clone());
    tasks.spawn(async move {
        objects::run(watching, node, restorations, out).await;
        Ok("the watch of the objects")
    });
    tasks.spawn(async move {
        // Until all lists are complete, the kernel is not changed.
        shown.wait_for(Option::is_some).await?;
        tracing::info!("all objects are known");
        let (found, outcomes) = watch::channel(ProbeResults::new());
        let probing = probe::run(reconciler.orders(), found, Limits::default());
        let reporting = report::run(client, args.node_name, boot, reports, outcomes, restored);
        let reconciling = reconcile(reconciler, events, shown, reported);
        tokio::select! {
            () = reporting => {}
            () = probing => {}
            ended = reconciling => ended?,
        }
        Ok("the comparison with the kernel")
    });
    tokio::select! {
        signal = signals.recv() => {
            tracing::info!(signal, "ending; what is programmed stays");
            Ok(())
        }
        ended = tasks.join_next() => match ended {
            Some(ended) => Err(format!("{} ended unexpectedly", ended??).into()),
            None => Ok(()),
        },
    }
}

async fn cleanup(reconciler: &mut NodeReconciler) -> Result<(), BoxError> {
    let outcome = reconciler.reconcile(&Objects::default(), Part::All).await?;
    for change in &outcome.changes {
        tracing::info!(%change, "removed");
    }
    match outcome.errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
