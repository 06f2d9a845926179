//! The life cycle of an instance.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Ec2;
use super::error::{Code, Ec2Error};
use super::id::{AttachmentId, InstanceId, NetworkInterfaceId, SubnetId};
use super::instance_type::InstanceType;
use super::objects::{Attachment, Instance, InstanceState, NetworkInterface, Tags};
use super::request::{Changed, StateChange};

/// The parameters of `RunInstances`.
pub(super) struct Launch {
    pub subnet: SubnetId,
    pub kind: InstanceType,
    pub count: usize,
    pub address: Option<Ipv4Addr>,
    pub delete_on_termination: bool,
    pub tags: Tags,
    pub interface_tags: Tags,
}

impl Ec2 {
    pub(super) fn run_instances(&mut self, launch: &Launch) -> Result<Changed, Ec2Error> {
        let subnet = self.subnet(launch.subnet)?;
        if launch.address.is_some() && launch.count > 1 {
            return Err(Ec2Error::new(
                Code::InvalidParameterCombination,
                "A primary address can be given for one instance only.",
            ));
        }
        let addresses = match launch.address {
            Some(_) => BTreeSet::from([self.primary_for(subnet, launch.address)?]),
            None => self.free_addresses(subnet, launch.count)?,
        };
        let launched = addresses
            .into_iter()
            .map(|primary| self.launch(launch, primary))
            .collect();
        Ok(Changed::Instances(launched))
    }

    fn launch(&mut self, launch: &Launch, primary: Ipv4Addr) -> Instance {
        let instance = Instance {
            id: InstanceId(self.next()),
            kind: launch.kind,
            state: InstanceState::Running,
            subnet: launch.subnet,
            tags: launch.tags.clone(),
            impaired: None,
        };
        let interface = NetworkInterface {
            id: NetworkInterfaceId(self.next()),
            subnet: launch.subnet,
            primary,
            secondary: BTreeSet::new(),
            prefixes: BTreeSet::new(),
            attachment: Some(Attachment {
                id: AttachmentId(self.next()),
                instance: instance.id,
                device_index: 0,
                delete_on_termination: launch.delete_on_termination,
            }),
            description: String::new(),
            tags: launch.interface_tags.clone(),
        };
        self.instances.insert(instance.id, instance.clone());
        self.interfaces.insert(interface.id, interface);
        instance
    }

    pub(super) fn start(&mut self, ids: &BTreeSet<InstanceId>) -> Result<Changed, Ec2Error> {
        self.not_terminated(ids)?;
        self.set_state(ids, InstanceState::Running)
    }

    /// The interfaces of a stopped instance keep their addresses (EC2 User Guide, "Stop and start").
    pub(super) fn stop(&mut self, ids: &BTreeSet<InstanceId>) -> Result<Changed, Ec2Error> {
        self.not_terminated(ids)?;
        self.set_state(ids, InstanceState::Stopped)
    }

    /// Interfaces with `delete_on_termination` are deleted with the instance. The others stay, without an attachment.
    pub(super) fn terminate(&mut self, ids: &BTreeSet<InstanceId>) -> Result<Changed, Ec2Error> {
        let changed = self.set_state(ids, InstanceState::Terminated)?;
        let ended = |interface: &NetworkInterface| {
            interface
                .attachment
                .filter(|attachment| ids.contains(&attachment.instance))
        };
        self.interfaces.retain(|_, interface| {
            !ended(interface).is_some_and(|attachment| attachment.delete_on_termination)
        });
        for interface in self.interfaces.values_mut() {
            if ended(interface).is_some() {
                interface.attachment = None;
            }
        }
        Ok(changed)
    }

    /// Sets since when a status check of the instance fails. None: it passes. No call of EC2 sets this.
    ///
    /// # Errors
    /// `InvalidInstanceID.NotFound`
    pub fn set_impaired(&mut self, id: InstanceId, since: Option<String>) -> Result<(), Ec2Error> {
        self.instance_mut(id)?.impaired = since;
        Ok(())
    }

    /// Checks that all exist and none is terminated.
    fn not_terminated(&self, ids: &BTreeSet<InstanceId>) -> Result<(), Ec2Error> {
        for id in ids {
            if self.instance(*id)?.state == InstanceState::Terminated {
                return Err(Ec2Error::new(
                    Code::IncorrectInstanceState,
                    format!(
                        "The instance '{id}' is not in a state from which it can be started or \
                         stopped."
                    ),
                ));
            }
        }
        Ok(())
    }

    fn set_state(
        &mut self,
        ids: &BTreeSet<InstanceId>,
        current: InstanceState,
    ) -> Result<Changed, Ec2Error> {
        for id in ids {
            self.instance(*id)?;
        }
        let mut changes = Vec::with_capacity(ids.len());
        for id in ids {
            let instance = self.instance_mut(*id)?;
            changes.push(StateChange {
                instance: *id,
                previous: instance.state,
                current,
            });
            instance.state = current;
        }
        Ok(Changed::States(changes))
    }
}
