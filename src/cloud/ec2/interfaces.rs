//! Network interfaces and the addresses on them.

use aws_sdk_ec2::types::{AttachmentStatus, Filter, NetworkInterface};
use mooring_plan::address::{Address, Cidr};
use mooring_plan::cloud::{Interface, Reassign};
use mooring_plan::names::{InstanceId, InterfaceId, MacAddress, SubnetId};
use mooring_plan::outcome::Action;

use super::answer::{Answer, list};
use super::classify::code;
use super::client::{Ec2, with_long_timeout, without_retry};
use crate::cloud::CloudError;

/// Interfaces in one page, the maximum (EC2 API reference, `DescribeNetworkInterfaces`).
const PAGE: i32 = 1000;

impl Ec2 {
    /// Assigns all of `addresses` to one interface, or none of them. To assign an address that the interface already
    /// has succeeds (EC2 API reference, `AssignPrivateIpAddresses`). Without addresses no call is made.
    ///
    /// # Errors
    /// [`CloudError::outcome`] contains the classified answer.
    pub async fn assign(
        &self,
        interface: &InterfaceId,
        addresses: &[Address],
        reassign: Reassign,
    ) -> Result<(), CloudError> {
        // Without an address EC2 would refuse the request, or choose an address if a count is given.
        if addresses.is_empty() {
            return Ok(());
        }
        let object = format!("{interface} ({})", list(addresses));
        let call = self
            .client
            .assign_private_ip_addresses()
            .network_interface_id(interface.as_str())
            .set_private_ip_addresses(Some(texts(addresses)))
            .allow_reassignment(reassign == Reassign::Allow)
            .customize()
            .config_override(without_retry());
        self.answer(Action::Assign, &object, call.send())
            .await
            .map(drop)
    }

    /// Unassigns all of `addresses` from one interface, or none of them. Without addresses no call is made.
    ///
    /// # Errors
    /// [`mooring_plan::outcome::Outcome::Done`] if an address was not on the interface.
    pub async fn unassign(
        &self,
        interface: &InterfaceId,
        addresses: &[Address],
    ) -> Result<(), CloudError> {
        if addresses.is_empty() {
            return Ok(());
        }
        let object = format!("{interface} ({})", list(addresses));
        let call = self
            .client
            .unassign_private_ip_addresses()
            .network_interface_id(interface.as_str())
            .set_private_ip_addresses(Some(texts(addresses)))
            .customize()
            .config_override(without_retry());
        self.answer(Action::Unassign, &object, call.send())
            .await
            .map(drop)
    }

    /// Lists all interfaces of a subnet. A page that gets no answer in the usual time is requested again with more
    /// time, and so are the pages after it: EC2 can need longer for 1,000 interfaces, and each attempt would be cut off.
    /// The usual time comes first, because a connection that hangs is left sooner then.
    ///
    /// # Errors
    /// If one page fails, the whole list fails.
    pub async fn interfaces(&self, subnet: &SubnetId) -> Result<Vec<Interface>, CloudError> {
        let answer = Answer {
            action: Action::DescribeInterfaces,
            object: subnet.as_str(),
        };
        let by_subnet = Filter::builder()
            .name("subnet-id")
            .values(subnet.as_str())
            .build();
        let (mut interfaces, mut token, mut long_timeout) = (Vec::new(), None, false);
        loop {
            let call = self
                .client
                .describe_network_interfaces()
                .filters(by_subnet.clone())
                .max_results(PAGE)
                .set_next_token(token.clone());
            let mut page = None;
            if !long_timeout {
                let asked = call.clone().send();
                match self.answer(answer.action, answer.object, asked).await {
                    Err(error) if error.code == code::TIMEOUT => long_timeout = true,
                    answered => page = Some(answered?),
                }
            }
            let page = if let Some(page) = page {
                page
            } else {
                let asked = call.customize().config_override(with_long_timeout()).send();
                self.answer(answer.action, answer.object, asked).await?
            };
            for interface in answer.has(page.network_interfaces, "set of interfaces")? {
                interfaces.push(read(answer, interface)?);
            }
            token = answer.next_page(token.as_deref(), page.next_token)?;
            if token.is_none() {
                return Ok(interfaces);
            }
        }
    }
}

fn read(answer: Answer<'_>, interface: NetworkInterface) -> Result<Interface, CloudError> {
    let id = answer.has(interface.network_interface_id, "interface id")?;
    let subnet = answer.has(interface.subnet_id, "subnet of an interface")?;
    let primary = interface
        .private_ip_address
        .map(|text| answer.reads::<Address, _>(&text, "primary address"))
        .transpose()?;
    let mut addresses = interface
        .private_ip_addresses
        .unwrap_or_default()
        .into_iter()
        .map(|address| {
            let text = answer.has(address.private_ip_address, "address in a set of addresses")?;
            answer.reads::<Address, _>(&text, "address")
        })
        .collect::<Result<std::collections::BTreeSet<_>, _>>()?;
    addresses.extend(primary);
    let prefixes = interface
        .ipv4_prefixes
        .unwrap_or_default()
        .into_iter()
        .map(|prefix| {
            let text = answer.has(prefix.ipv4_prefix, "prefix in a set of prefixes")?;
            answer.reads::<Cidr, _>(&text, "prefix")
        })
        .collect::<Result<Vec<_>, _>>()?;
    let attachment = interface
        .attachment
        .filter(|attachment| attachment.status != Some(AttachmentStatus::Detached));
    let attached = attachment
        .as_ref()
        .and_then(|attachment| attachment.status.as_ref());
    Ok(Interface {
        id: InterfaceId::new(id),
        mac: interface.mac_address.as_deref().map(MacAddress::from),
        subnet: SubnetId::new(subnet),
        attached: attached == Some(&AttachmentStatus::Attached),
        instance: attachment
            .as_ref()
            .and_then(|attachment| attachment.instance_id.as_deref())
            .map(InstanceId::from),
        device_index: attachment
            .as_ref()
            .and_then(|attachment| attachment.device_index)
            .and_then(|index| u32::try_from(index).ok()),
        primary,
        addresses,
        prefixes,
        tags: interface
            .tag_set
            .unwrap_or_default()
            .into_iter()
            .filter_map(|tag| Some((tag.key?, tag.value.unwrap_or_default())))
            .collect(),
        requester_managed: interface.requester_managed.unwrap_or(false),
    })
}

fn texts(addresses: &[Address]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}
