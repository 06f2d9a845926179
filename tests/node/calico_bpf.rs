use mooring::node::desired::State;

use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, World};

/// Where Calico's BPF programs pass packets around netfilter, the address of a pod is reported as not supported.
pub fn the_bpf_data_plane_of_calico_is_reported(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    assert_eq!(
        node.reconcile(&objects).reports["one"].state,
        State::Programmed
    );
    node.run("ip link add bpfin.cali type veth peer name bpfout.cali");
    let report = node.reconcile(&objects).reports["one"].clone();
    assert_eq!(report.state, State::Unsupported);
    assert!(
        report.message.contains("linuxDataplane"),
        "{}",
        report.message
    );
}
