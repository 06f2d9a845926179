//! Removal of the annotation `take-from`, and the Event for one that had no effect.
//! Rules: R4.26, R8.18.

use alloc::format;
use alloc::string::String;

use super::{Next, World};
use crate::facts::{Facts, SubnetFacts};
use crate::names::IpName;
use crate::objects::Claim;
use crate::step::Write;
use crate::time::Instant;

impl World<'_> {
    /// Removes the annotation if there is one, and if it is not for the address of an edit that waits.
    pub(crate) fn remove_take_from(&self) -> Next {
        match &self.ip.take_from {
            Some(_) if self.other_address().is_none() => Next::write(Write::DropTakeFrom {
                ip: self.ip.name.clone(),
                version: self.ip.version,
            }),
            _ => Next::Idle,
        }
    }

    /// As [`Self::remove_take_from`], for a recorded claim. The annotation stays while the last inventory shows the
    /// address on the ENI that it names: if the next one agrees, the address is taken from there.
    pub(crate) fn remove_unneeded_take_from(&self) -> Next {
        let named = self.ip.take_from.as_ref();
        let needed = self.ip.status.address.is_some_and(|address| {
            let on = self.shown_on(address);
            self.shown_on_foreign(address) && on == named
        });
        if needed {
            return Next::Idle;
        }
        self.remove_take_from()
    }

    /// The message if the annotation names an ENI that does not have the address. If the annotation was used,
    /// `previous` or the claim names that ENI, and there is no message.
    fn unused_take_from(&self) -> Option<String> {
        let named = self.ip.take_from.as_ref()?;
        let address = self.ip.status.address?;
        let status = &self.ip.status;
        let taken = status
            .previous
            .iter()
            .any(|entry| entry.address == address && &entry.interface == named);
        let target = status.claim.as_ref().and_then(Claim::target);
        let place = target.map(|target| &target.place.interface);
        let on = self.locate(address).on;
        let looked = self.subnet().and_then(SubnetFacts::inventory).is_some();
        if taken || place == Some(named) || on.as_ref() == Some(named) {
            return None;
        }
        let found = match &on {
            Some(on) if self.explained(address, on) => {
                format!("it is on {on}, where Mooring put it: no annotation is needed")
            }
            Some(on) => format!("it is on {on}: if Mooring may take it from there, name {on}"),
            None if looked => "it is on no interface of the subnet: no annotation is needed".into(),
            None => "if AddressInUse names another interface, name that one".into(),
        };
        Some(format!(
            "{address} is not on {named}, which the annotation ip.wgtwo.com/take-from named, so the annotation was \
             removed; {found}"
        ))
    }
}

impl Facts {
    /// The message of the Event after the removal of the annotation `take-from`, if the annotation had no effect.
    pub(crate) fn unused_take_from(&self, ip: &IpName, now: Instant) -> Option<String> {
        World::of(self, ip, now)?.unused_take_from()
    }
}
