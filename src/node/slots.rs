//! Assigns a slot (mark and route table) to each ENI.

use std::collections::BTreeMap;

use super::desired::Desired;
use super::objects::Mac;
use super::settings::NodeSettings;
use super::state::KernelState;

/// The slot of each ENI that carries an address: the one stored before, else a free one.
/// An ENI for which no slot is free is left out.
#[must_use]
pub fn slots(
    desired: &Desired,
    kernel: &KernelState,
    settings: &NodeSettings,
) -> BTreeMap<Mac, u32> {
    let mut slots = BTreeMap::new();
    let mut missing = Vec::new();
    let shown = shown_slots(kernel, settings);
    for address in desired.addresses.values() {
        match shown.get(&address.mac) {
            Some(slot) if !slots.values().any(|taken| taken == slot) => {
                slots.insert(address.mac, *slot);
            }
            _ => missing.push(address.mac),
        }
    }
    for mac in missing {
        if slots.contains_key(&mac) {
            continue;
        }
        // Slots that were in use until now are taken last: connections can still have their mark.
        let free = |slot: &u32| !slots.values().any(|taken| taken == slot);
        let unused = |slot: &u32| !shown.values().any(|taken| taken == slot);
        let mut all = settings.slots().filter(free);
        if let Some(slot) = all.clone().find(unused).or_else(|| all.next()) {
            slots.insert(mac, slot);
        }
    }
    slots
}

fn shown_slots(kernel: &KernelState, settings: &NodeSettings) -> BTreeMap<Mac, u32> {
    let marks = kernel.marks.iter();
    marks
        .filter_map(|(mac, mark)| {
            let slot = settings.slot(*mark);
            let valid = settings.mark(slot) == *mark && settings.slots().contains(&slot);
            valid.then_some((*mac, slot))
        })
        .collect()
}
