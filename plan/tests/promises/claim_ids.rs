//! What a claim says to the node part: its unique id, and the MAC address of its interface.
//! Rules: R4.34, R4.35.

use mooring_plan::names::{ClaimId, IpName, MacAddress};
use mooring_plan::step::{Step, Write};

use crate::programmed::programmed;

#[test]
fn a_claim_has_the_mac_of_its_interface_and_an_old_claim_gets_it() {
    let mut sim = programmed(&["n1"]);
    let mac = Some(MacAddress::from("mac-of-eni-n1"));
    assert_eq!(sim.the_ip("partner").status.mac, mac);
    sim.count_from_here();
    sim.kube
        .change_ip(&IpName::from("partner"), None, |ip| ip.status.mac = None);
    sim.settle();
    assert_eq!(sim.the_ip("partner").status.mac, mac, "{}", sim.story());
    sim.expect_attached("partner", "a");
}

#[test]
fn every_claim_has_a_unique_id_that_its_record_keeps() {
    let mut sim = programmed(&["n1"]);
    for _ in 0..3 {
        sim.found_on("203.0.113.10", None);
        sim.settle();
    }
    sim.expect_attached("partner", "a");
    let written = sim.taken.iter().filter_map(|(_, _, step)| match step {
        Step::Write(Write::Status { status, .. }) => status.claim.as_ref(),
        _ => None,
    });
    let mut ids: Vec<(ClaimId, bool)> = written.map(|claim| (claim.id, claim.recorded())).collect();
    ids.dedup();
    let claims: Vec<ClaimId> = ids
        .iter()
        .filter(|(_, recorded)| !recorded)
        .map(|(id, _)| *id)
        .collect();
    let records: Vec<ClaimId> = ids
        .iter()
        .filter(|(_, recorded)| *recorded)
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(claims.len(), 4, "{ids:?}");
    assert_eq!(claims, records, "{ids:?}");
    assert!(claims.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}
