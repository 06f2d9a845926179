//! The life cycle of a network interface.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Ec2;
use super::addresses::no_room;
use super::error::{Code, Ec2Error};
use super::id::{AttachmentId, InstanceId, NetworkInterfaceId, SubnetId};
use super::objects::{Attachment, InstanceState, NetworkInterface, Tags};
use super::request::Changed;

impl Ec2 {
    pub(super) fn create_interface(
        &mut self,
        subnet: SubnetId,
        address: Option<Ipv4Addr>,
        description: String,
        tags: Tags,
    ) -> Result<Changed, Ec2Error> {
        let primary = self.primary_for(self.subnet(subnet)?, address)?;
        let interface = NetworkInterface {
            id: NetworkInterfaceId(self.next()),
            subnet,
            primary,
            secondary: BTreeSet::new(),
            prefixes: BTreeSet::new(),
            attachment: None,
            description,
            tags,
        };
        self.interfaces.insert(interface.id, interface.clone());
        Ok(Changed::NetworkInterface(interface))
    }

    pub(super) fn attach(
        &mut self,
        id: NetworkInterfaceId,
        instance_id: InstanceId,
        device_index: u32,
    ) -> Result<Changed, Ec2Error> {
        let interface = self.interface(id)?;
        let instance = self.instance(instance_id)?;
        if interface.attachment.is_some() {
            return Err(Ec2Error::new(
                Code::InterfaceInUse,
                format!("Interface: [{id}] in use."),
            ));
        }
        if instance.state == InstanceState::Terminated {
            return Err(Ec2Error::new(
                Code::IncorrectInstanceState,
                format!("Instance '{instance_id}' is not 'running' or 'stopped'."),
            ));
        }
        if self.subnet(interface.subnet)?.zone != self.subnet(instance.subnet)?.zone {
            return Err(Ec2Error::new(
                Code::InvalidParameterCombination,
                "You may not attach a network interface to an instance if they are not in the same \
                 availability zone",
            ));
        }
        let attached = self.interfaces_of(instance_id);
        if attached.len() >= instance.kind.interfaces() {
            return Err(Ec2Error::new(
                Code::AttachmentLimitExceeded,
                format!(
                    "Interface count {} exceeds the limit for {}",
                    attached.len() + 1,
                    instance.kind
                ),
            ));
        }
        let occupied = attached
            .iter()
            .filter_map(|other| other.attachment.as_ref())
            .any(|attachment| attachment.device_index == device_index);
        if occupied {
            return Err(Ec2Error::new(
                Code::InvalidParameterValue,
                format!(
                    "Instance '{instance_id}' already has an interface attached at device index \
                     '{device_index}'."
                ),
            ));
        }
        // An interface with more addresses than the limit of the instance. Not confirmed on a real account.
        if interface.slots() > self.limit_of(instance.kind) {
            return Err(no_room());
        }
        let attachment = AttachmentId(self.next());
        self.interface_mut(id)?.attachment = Some(Attachment {
            id: attachment,
            instance: instance_id,
            device_index,
            delete_on_termination: false,
        });
        Ok(Changed::Attached(attachment))
    }

    pub(super) fn detach(&mut self, id: AttachmentId) -> Result<Changed, Ec2Error> {
        let tie = |interface: &NetworkInterface| interface.attachment.filter(|tie| tie.id == id);
        let found = self
            .interfaces
            .values_mut()
            .find_map(|interface| tie(interface).map(|tie| (interface, tie)));
        let Some((interface, tie)) = found else {
            return Err(Ec2Error::new(
                Code::AttachmentNotFound,
                format!("An interface attachment with ID '{id}' does not exist"),
            ));
        };
        if tie.device_index == 0 {
            return Err(Ec2Error::new(
                Code::OperationNotPermitted,
                "The network interface at device index 0 cannot be detached.",
            ));
        }
        interface.attachment = None;
        Ok(Changed::Done)
    }

    pub(super) fn delete_interface(&mut self, id: NetworkInterfaceId) -> Result<Changed, Ec2Error> {
        if self.interface(id)?.attachment.is_some() {
            return Err(Ec2Error::new(
                Code::InvalidParameterValue,
                format!("Network interface '{id}' is currently in use."),
            ));
        }
        self.interfaces.remove(&id);
        Ok(Changed::Done)
    }
}
