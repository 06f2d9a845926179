use mooring::node::desired::State;

use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X, eventually};

/// The rules of the AWS VPC CNI for a pod with a security group, with a veth as its branch interface. In the mode
/// `strict` they take all packets of the pod, and this is reported. In the mode `standard` the address works.
pub fn pods_with_a_security_group_work_in_the_mode_standard(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.run(
        "ip link add vlan.eth.1 type veth peer name trunk
         ip link set trunk up
         ip link set vlan.eth.1 up
         ip route add 10.77.0.1 dev vlan.eth.1 scope link table 101
         ip route add default via 10.77.0.1 dev vlan.eth.1 table 101",
    );
    let strict = "ip rule add pref 10 iif vlan.eth.1 lookup 101
         ip rule add pref 10 iif eniclient lookup 101
         ip route add 10.77.0.20/32 dev eniclient scope link table 101
         ip rule del pref 512 to 10.77.0.20 lookup main
         ip route del 10.77.0.20/32 dev eniclient";
    let standard = "ip rule del pref 10 iif vlan.eth.1 lookup 101
         ip rule del pref 10 iif eniclient lookup 101
         ip route del 10.77.0.20/32 dev eniclient scope link table 101
         ip route add 10.77.0.20/32 dev eniclient scope link
         ip rule add pref 512 to 10.77.0.20 lookup main
         ip rule add pref 1536 from 10.77.0.20 lookup 101";
    node.run(strict);
    let running = node.start(objects);
    let report = || running.reports.borrow().get("one").cloned();
    let evidence = || format!("{:#?}\n{}", report(), node.run("ip rule"));
    let is = |state: State| (report()?.state == state).then_some(());
    eventually("strict is reported", evidence, || is(State::Unsupported));
    let message = report().unwrap().message;
    assert!(
        message.contains("POD_SECURITY_GROUP_ENFORCING_MODE=standard"),
        "{message}"
    );
    assert!(world.ask("client", Protocol::Tcp, PARTNER).is_err());

    node.run(standard);
    eventually("standard is programmed", evidence, || is(State::Programmed));
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        assert_eq!(world.ask("client", protocol, PARTNER), Ok(X.to_owned()));
        assert_eq!(world.ask("partner", protocol, X), Ok(PARTNER.to_owned()));
    }
    world.expect_sources(&[X]);
}
