//! Executes the steps of blocks.

use mooring::api::read;
use mooring_plan::cloud::Subnet;
use mooring_plan::facts::Fact;
use mooring_plan::names::BlockName;
use mooring_plan::step::{BlockStep, Read};
use serde_json::json;

use super::super::promises::time;
use super::{Execution, next, version_of};

impl Execution {
    pub(super) fn block_step(&mut self, name: &BlockName, step: BlockStep) {
        match step {
            BlockStep::ReadSubnet(id) => {
                self.deliver(Fact::SubnetRead(
                    id,
                    Subnet::untagged(vec!["203.0.113.0/24".parse().unwrap()]),
                ));
            }
            BlockStep::ReadLimits(types) => {
                let limits = types.into_iter().map(|kind| (kind, 3)).collect();
                self.deliver(Fact::LimitsRead(limits));
            }
            BlockStep::Label { node, present: on } => {
                let Some(node) = self.cluster.nodes.get_mut(&node) else {
                    return;
                };
                if on {
                    node.labels.insert(name.node_label(), String::new());
                } else {
                    node.labels.remove(&name.node_label());
                }
                let node = node.clone();
                self.deliver(Fact::Node(node));
            }
            BlockStep::ReadIp(of) => {
                let fact = self.read(&of.clone(), Read::Ip(of));
                self.deliver(fact);
            }
            BlockStep::Release(reservation) => {
                self.cluster.reservations.remove(&reservation.address);
                self.deliver(Fact::ReservationGone(reservation.address, reservation.uid));
            }
            BlockStep::AddFinalizer { .. }
            | BlockStep::RemoveFinalizer { .. }
            | BlockStep::DropReleaseBrake { .. }
            | BlockStep::Status { .. } => self.write_block(name, step),
        }
    }

    fn write_block(&mut self, name: &BlockName, step: BlockStep) {
        let object = self.cluster.blocks.get_mut(name).unwrap();
        let version = version_of(object).unwrap();
        object.metadata.resource_version = Some(next(version).to_string());
        match step {
            BlockStep::AddFinalizer { .. } => {
                let finalizers = object.metadata.finalizers.get_or_insert_default();
                finalizers.push(mooring::api::names::BLOCK_FINALIZER.to_owned());
            }
            BlockStep::RemoveFinalizer { .. } => {
                let block = read::block(object).unwrap();
                assert!(block.deleting, "{block:?}");
                self.cluster.blocks.remove(name);
                return self.deliver(Fact::BlockGone(name.clone()));
            }
            BlockStep::DropReleaseBrake { .. } => {
                let annotations = object.metadata.annotations.as_mut().unwrap();
                annotations.remove(mooring::api::names::RELEASE_BRAKE_ANNOTATION);
            }
            BlockStep::Status { status, .. } => {
                let before = object.data.get("status").cloned().unwrap_or_default();
                let before = serde_json::from_value(before).unwrap_or_default();
                let patch = read::block_status_patch(&status, &before, &time()).unwrap();
                json_patch::merge(&mut object.data, &json!({ "status": patch }));
                assert_eq!(read::block(object).unwrap().status, status);
            }
            _ => {}
        }
        let fact = self.cluster.block_fact(name);
        self.deliver(fact.unwrap());
    }
}
