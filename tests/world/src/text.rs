//! Steps as text, for the trace of a failed test and the report of a violation.

use mooring_plan::step::{Step, Write};

/// A step in one line.
pub fn brief(step: &Step) -> String {
    match step {
        Step::Write(Write::Status {
            version,
            change,
            status,
            ..
        }) => {
            let holders = status.previous.iter().map(|entry| {
                let holder = entry.holder.as_ref().map_or("", |(_, uid)| uid.as_str());
                format!("{} on {} for {holder}", entry.address, entry.interface)
            });
            let claim = status.claim.as_ref().map_or_else(
                || "no claim".to_owned(),
                |claim| {
                    let hold = format!("{:?}", claim.phase);
                    let hold = hold.split('(').next().unwrap_or_default().to_owned();
                    let on = claim.target().map(|target| &target.place.interface);
                    format!("{} {hold} {}", claim.uid, on.map_or("", |on| on.as_str()))
                },
            );
            let address = status.address.map(|address| address.to_string());
            let attached = status.conditions.attached.as_ref();
            format!(
                "status {change:?} from {version}: {} {claim}, previous [{}]{} ({})",
                address.unwrap_or_default(),
                holders.collect::<Vec<_>>().join(", "),
                if status.refused.is_some() {
                    ", refused"
                } else {
                    ""
                },
                attached.map_or("", |condition| condition.reason.as_str()),
            )
        }
        Step::Write(Write::Gate(gate)) => {
            let (status, why) = (gate.status, gate.reason.as_str());
            let version = gate.version.map(|version| format!(" of {version}"));
            format!(
                "gate of {}{}: {status} ({why})",
                gate.uid,
                version.unwrap_or_default()
            )
        }
        Step::Write(Write::Release(seen)) => format!("release {}", seen.address),
        other => format!("{other:?}"),
    }
}
