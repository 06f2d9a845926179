//! The steps of a block, apart from those of its IPs: its finalizer, its status and annotation, the labels of nodes, what
//! it reads of EC2, and the release of reservations that no IP has.
//! Rules: R3.7, R5.35.

mod counts;
mod deletion;
mod finding;
mod ownerless;
mod ready;
mod refused_steps;
mod status;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::decide::usable_in;
use crate::facts::{Facts, NodeSeen, SubnetFacts};
use crate::names::{BlockName, IpName};
use crate::objects::{Block, BlockSpec, BlockStatus, Condition, Ip, READY};
use crate::reason::Reason;
use crate::step::{BlockStep, Notice, Regarding};
use crate::time::Instant;
use ready::is_ready;

impl Facts {
    /// The block in which the address of an IP is reserved.
    #[must_use]
    pub fn block_of(&self, name: &IpName) -> Option<BlockName> {
        self.ips.get(name)?.status.block.clone()
    }

    /// The steps that a block needs now, which are independent of each other, and its notices. A write that has failed
    /// waits for its backoff.
    #[must_use]
    pub fn block_steps(&self, name: &BlockName, now: Instant) -> (Vec<BlockStep>, Vec<Notice>) {
        let Some(block) = self.blocks.get(name).filter(|_| self.synced()) else {
            return (Vec::new(), Vec::new());
        };
        let (mut steps, mut notices) = self.needed_steps(block, now);
        notices.extend(self.refused_step(block, &steps).map(|message| Notice {
            on: Regarding::Block(block.name.clone(), block.uid.clone()),
            reason: Reason::WriteRefused,
            message,
        }));
        if let Some(failures) = self.block_failures.get(name) {
            steps.retain(|step| failures.is_due(step, now));
        }
        (steps, notices)
    }

    /// The steps of a block, whether they have failed or not, and the notices about what they show.
    fn needed_steps(&self, block: &Block, now: Instant) -> (Vec<BlockStep>, Vec<Notice>) {
        let name = &block.name;
        let ips: Vec<&Ip> = self.ips.values().filter(|ip| lies_in(ip, block)).collect();
        let mut steps = Vec::new();
        if block.deleting {
            let left = ips.iter().any(|ip| ip.status.block.as_ref() == Some(name));
            if block.finalizer && !left && !self.has_reservations(block) {
                steps.extend(self.node_labels(block, None));
                if steps.is_empty() {
                    steps.push(BlockStep::RemoveFinalizer {
                        version: block.version,
                    });
                }
                return (self.alone(block, steps), Vec::new());
            }
        } else if !block.finalizer {
            steps.push(BlockStep::AddFinalizer {
                version: block.version,
            });
            return (self.alone(block, steps), Vec::new());
        }
        let Ok(spec) = &block.spec else {
            let message = block.spec.as_ref().err().cloned().unwrap_or_default();
            steps.extend(write_status(
                block,
                BlockStatus {
                    conditions: not_ready(block, Reason::Invalid, message),
                    ..block.status.clone()
                },
            ));
            return (steps, Vec::new());
        };
        let subnet = self.subnets.get(&spec.subnet);
        if subnet.is_none_or(SubnetFacts::needs_read)
            && subnet
                .and_then(|subnet| subnet.unread.as_ref())
                .is_none_or(|unread| unread.backoff.until <= now)
        {
            steps.push(BlockStep::ReadSubnet(spec.subnet.clone()));
        }
        let carriers = self.carriers(spec, subnet);
        let types = carriers
            .iter()
            .filter_map(|(node, _)| node.instance_type.as_ref());
        let unknown = self.limits_to_ask(types, now);
        if !unknown.is_empty() {
            steps.push(BlockStep::ReadLimits(unknown));
        }
        let (ownerless, release) = self.ownerless_step(block, spec, subnet, now).unzip();
        steps.extend(ownerless);
        let mut writes = Vec::new();
        if spec.node_selector.is_none() && subnet.is_some_and(|subnet| subnet.inventory().is_some())
        {
            let labels = self.node_labels(block, Some((spec, subnet)));
            // With the label, pods would be scheduled to nodes for an address that cannot be reserved.
            let ready = is_ready(block, spec, subnet);
            let put_on = |step: &BlockStep| matches!(step, BlockStep::Label { present: true, .. });
            writes.extend(labels.into_iter().filter(|step| ready || !put_on(step)));
        }
        if self.release_brake_is_used(block, &ips) {
            writes.push(BlockStep::DropReleaseBrake {
                version: block.version,
            });
        }
        // A refused release is reported also while its IP is read.
        let refused = self.refused_step(block, steps.iter().chain(&release).chain(&writes));
        let (status, notices) = self.block_status(block, spec, &ips, &carriers, refused, now);
        // The status says what the other writes wait for, so it comes before them.
        steps.extend(write_status(block, status));
        steps.extend(writes);
        (steps, notices)
    }

    /// Steps that come before everything else of the block. If one of them is refused, its condition says so.
    fn alone(&self, block: &Block, mut steps: Vec<BlockStep>) -> Vec<BlockStep> {
        if let Some(message) = self.refused_step(block, &steps) {
            let mut status = block.status.clone();
            let conditions = not_ready(block, Reason::WriteRefused, message);
            status.conditions.extend(conditions);
            steps.extend(write_status(block, status));
        }
        steps
    }

    /// True if Mooring still reserves an address of the block: for an IP that was edited to another block, or for none.
    fn has_reservations(&self, block: &Block) -> bool {
        block.spec.as_ref().is_ok_and(|spec| {
            let mut within = self.reservations.within(spec.range.cidr());
            within.any(|reservation| reservation.managed)
        })
    }

    /// The steps that correct the labels of this block on nodes. `by` is None: the label is removed from all nodes.
    fn node_labels(
        &self,
        block: &Block,
        by: Option<(&BlockSpec, Option<&SubnetFacts>)>,
    ) -> Vec<BlockStep> {
        let label = block.name.node_label();
        let mut steps = Vec::new();
        for NodeSeen { node, .. } in self.nodes.values() {
            let labelled = node.labels.contains_key(&label);
            let usable = by.is_some_and(|(spec, subnet)| {
                subnet.is_some_and(|subnet| self.carrier(spec, subnet, node).is_some())
            });
            // One inventory without a usable interface is not enough to remove the label. The question costs as much as
            // that about the last inventory, so it is asked only of a node that has the label and should not.
            let surely = || {
                by.is_none_or(|(spec, subnet)| {
                    subnet.is_some_and(|subnet| match self.instance_of(node) {
                        Ok(instance) => subnet.inventory_before().is_some_and(|before| {
                            usable_in(before, spec, subnet.cni, instance).is_none()
                        }),
                        Err(_) => true,
                    })
                })
            };
            if usable && !labelled {
                steps.push(BlockStep::Label {
                    node: node.name.clone(),
                    present: true,
                });
            } else if !usable && labelled && surely() {
                steps.push(BlockStep::Label {
                    node: node.name.clone(),
                    present: false,
                });
            }
        }
        steps
    }
}

fn lies_in(ip: &Ip, block: &Block) -> bool {
    ip.status.block.as_ref() == Some(&block.name)
}

/// The condition `Ready` of a block that cannot be used.
fn not_ready(block: &Block, reason: Reason, message: String) -> BTreeMap<String, Condition> {
    let condition = Condition {
        status: false,
        reason,
        message,
        generation: block.generation,
    };
    BTreeMap::from([(READY.to_string(), condition)])
}

fn write_status(block: &Block, status: BlockStatus) -> Option<BlockStep> {
    (status != block.status).then_some(BlockStep::Status {
        version: block.version,
        status,
    })
}
