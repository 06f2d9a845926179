//! Reconciles the kernel with the desired state.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use tokio::sync::watch;

use super::desired::{Desired, Report, State, desired};
use super::difference::{Change, difference};
use super::kernel::{Kernel, KernelError, Part};
use super::objects::Objects;
use super::probe::{self, Order, Orders};
use super::settings::NodeSettings;
use super::slots;
use super::state::{KernelState, NextHop, Selector};
use super::undone::{depends_on, is_of_table, undone};
use crate::telemetry::chain;

/// One change can make another one necessary. If more rounds are needed, another program undoes the changes.
const ROUNDS: usize = 4;

/// The reports, by the name of the IP.
pub type Reports = BTreeMap<String, Report>;

/// The result of one reconciliation.
#[derive(Debug)]
pub struct ReconcileResult {
    /// The report for each IP.
    pub reports: Reports,
    /// The changes that were made, in order.
    pub changes: Vec<Change>,
    /// The changes that the kernel refused.
    pub errors: Vec<KernelError>,
}

/// Compares the kernel with the desired state and applies the changes.
pub struct NodeReconciler {
    kernel: Kernel,
    settings: NodeSettings,
    shown: Option<KernelState>,
    /// What was known before a failed read. Only what the table stores is used of it.
    unread: Option<KernelState>,
    uncorrected: Option<BTreeSet<Ipv4Addr>>,
    orders: watch::Sender<Orders>,
}

impl NodeReconciler {
    /// Opens the kernel of the present network namespace. Changes nothing.
    ///
    /// # Errors
    /// A netlink socket cannot be opened.
    pub fn open(settings: NodeSettings) -> Result<Self, KernelError> {
        Ok(Self {
            kernel: Kernel::open(settings)?,
            settings,
            shown: None,
            unread: None,
            uncorrected: None,
            orders: watch::channel(Orders::new()).0,
        })
    }

    /// The probes to run: one for each programmed address of a block with a probe.
    #[must_use]
    pub fn orders(&self) -> watch::Receiver<Orders> {
        self.orders.subscribe()
    }

    /// Checks that the node has what Mooring needs.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub async fn check(&self) -> Result<(), KernelError> {
        self.kernel.check().await
    }

    /// The changes that are necessary now, in order, and the desired state that they lead to.
    ///
    /// # Errors
    /// The kernel cannot be read.
    pub async fn compare(
        &mut self,
        objects: &Objects,
        part: Part,
    ) -> Result<(Vec<Change>, Desired), KernelError> {
        let before = self.shown.take();
        let observed = match (part, &before) {
            (Part::Routes, Some(before)) => self.kernel.observe_routes(before).await,
            _ => self.kernel.observe().await,
        };
        let before = before.or_else(|| self.unread.take());
        let mut shown = match observed {
            Ok(shown) => shown,
            Err(error) => {
                self.unread = before;
                return Err(error);
            }
        };
        // If another program deleted the table, what it stored is lost: keep our copy.
        if let (Some(before), true) = (before, shown.table.is_none()) {
            shown.keep_stored(&before);
        }
        shown.uncorrected.clone_from(&self.uncorrected);
        let desired = desired(objects, &shown, &self.settings);
        let changes = difference(&desired, &shown, &self.settings);
        if !desired.enabled && changes.is_empty() {
            // The node is clean: users can set another `rp_filter` from now on.
            shown.forget_stored();
        }
        self.shown = Some(shown);
        Ok((changes, desired))
    }

    /// Makes one change.
    ///
    /// # Errors
    /// The kernel refuses the change.
    pub async fn apply(&self, change: &Change) -> Result<(), KernelError> {
        self.kernel.apply(change).await
    }

    /// Applies all changes that are necessary and possible.
    ///
    /// # Errors
    /// The kernel cannot be read.
    pub async fn reconcile(
        &mut self,
        objects: &Objects,
        part: Part,
    ) -> Result<ReconcileResult, KernelError> {
        let (mut made, mut refused) = (Vec::new(), Vec::new());
        let (mut changes, mut desired) = self.compare(objects, part).await?;
        self.withdraw_orders(&desired);
        for _ in 0..ROUNDS {
            refused.clear();
            if changes.is_empty() {
                break;
            }
            for change in changes {
                if depends_on(&change, &refused) {
                    continue;
                }
                let done = self.kernel.apply(&change).await;
                if let Change::ForgetConnections(expected) = &change {
                    self.uncorrected = done.is_err().then(|| expected.gone().clone());
                }
                match done {
                    Ok(()) => made.push(change),
                    Err(error) => refused.push((change, error)),
                }
            }
            (changes, desired) = self.compare(objects, Part::All).await?;
        }
        refused.extend(undone(changes, &refused));
        let mut orders = self.possible_orders(&desired);
        let reports = self.reports(desired, &refused);
        orders.retain(|ip, order| {
            let programmed = reports
                .get(ip)
                .is_some_and(|reported| reported.state == State::Programmed);
            programmed && !refused.iter().any(|(change, _)| self.stops(change, order))
        });
        self.orders.send_if_modified(|before| {
            let differs = *before != orders;
            *before = orders;
            differs
        });
        Ok(ReconcileResult {
            reports,
            changes: made,
            errors: refused.into_iter().map(|(_, error)| error).collect(),
        })
    }

    fn possible_orders(&self, desired: &Desired) -> Orders {
        self.shown
            .as_ref()
            .map(|shown| probe::orders(desired, shown, &self.settings))
            .unwrap_or_default()
    }

    /// Stops the probes that the new state changes, before the kernel handles their packets in another way.
    fn withdraw_orders(&self, desired: &Desired) {
        let possible = self.possible_orders(desired);
        self.orders.send_if_modified(|orders| {
            let before = orders.len();
            orders.retain(|ip, order| possible.get(ip) == Some(order));
            orders.len() != before
        });
    }

    /// Whether the probe cannot work until this change is made.
    fn stops(&self, change: &Change, order: &Order) -> bool {
        let table = match change {
            Change::AddRoute(route) | Change::ReplaceRoute(route) => route.table,
            Change::AddRule(rule) => rule.table,
            _ => return false,
        };
        order.mark.is_some() && table == self.settings.probe_table()
    }

    fn reports(&self, desired: Desired, refused: &[(Change, KernelError)]) -> Reports {
        let Some(shown) = &self.shown else {
            return desired.reports;
        };
        let slots = slots::slots(&desired, shown, &self.settings);
        let mut reports = desired.reports;
        for (address, to) in &desired.addresses {
            let link = shown.indexed_by_mac(to.mac).ok().map(|(index, _)| index);
            let slot = slots.get(&to.mac).copied();
            let stops = |change: &Change| match change {
                change if is_of_table(change) => true,
                // A route of one IP does not concern the others on the same ENI.
                Change::AddRoute(route) | Change::ReplaceRoute(route) => {
                    Some(route.link) == link
                        && matches!(route.via, NextHop::Gateway(via) if to.uses(route.to, via))
                }
                Change::AddRule(rule) => match &rule.selector {
                    Selector::From(from) | Selector::FromToSingle(from) => from == address,
                    Selector::Mark { mark, .. } | Selector::WayBack { mark, .. } => {
                        slot.is_some_and(|slot| self.settings.mark(slot) == *mark)
                    }
                },
                Change::AddAddress(local) => local.address == *address,
                Change::SetReversePath { link: changed, .. } => Some(*changed) == link,
                _ => false,
            };
            let obstacle = refused.iter().find(|(change, _)| stops(change));
            if let (Some((_, error)), Some(report)) = (obstacle, reports.get_mut(&to.ip)) {
                report.state = State::Failed;
                report.message = chain(error);
            }
        }
        reports
    }
}
