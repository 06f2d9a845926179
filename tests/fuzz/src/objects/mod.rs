//! Reads objects of Kubernetes into facts, and executes the decisions for some rounds. Checks that a claim is in the
//! status before EC2 is called, that no place is forgotten, and that a written status is read back unchanged.

mod carry_out;
mod cluster;
mod promises;

use std::collections::BTreeSet;

use mooring_plan::facts::Facts;
use mooring_plan::names::IpName;

use crate::json::documents;
use crate::objects::carry_out::Execution;
use crate::objects::cluster::{BEGIN, Cluster};

/// The maximum number of documents. More only take longer.
const MOST: usize = 40;
/// The number of rounds, six seconds apart. A detach ends with two inventories, ten seconds after its start.
const ROUNDS: u32 = 12;

/// The input is a sequence of JSON documents: objects of Kubernetes, and `NetworkInterface`s of EC2.
pub fn objects(data: &[u8]) {
    let _ = steps(data);
}

/// The same, and returns the kinds of steps that were executed.
#[must_use]
pub fn steps(data: &[u8]) -> BTreeSet<String> {
    let Some(documents) = documents(data).filter(|documents| documents.len() <= MOST) else {
        return BTreeSet::new();
    };
    let cluster = Cluster::of(documents);
    let facts = cluster.facts(false);
    no_order(&facts, &cluster.facts(true));
    let mut execution = Execution::new(cluster, facts);
    for _ in 0..ROUNDS {
        execution.round();
    }
    execution.taken
}

/// Checks that the order of watch events does not change decisions.
fn no_order(one: &Facts, other: &Facts) {
    let names: Vec<&IpName> = one.ip_names().collect();
    assert_eq!(names, other.ip_names().collect::<Vec<_>>());
    for name in names {
        assert_eq!(one.decide(name, BEGIN), other.decide(name, BEGIN), "{name}");
    }
    for name in one.block_names() {
        assert_eq!(
            one.block_steps(name, BEGIN),
            other.block_steps(name, BEGIN),
            "{name}"
        );
    }
}
