use super::*;

fn spec(routes: &[(&str, Option<&str>)], internal: &[&str]) -> NodeSpec {
    NodeSpec {
        routes: routes
            .iter()
            .map(|(to, via)| Route {
                to: (*to).to_owned(),
                via: via.map(str::to_owned),
                optional: false,
            })
            .collect(),
        internal: Some(internal.iter().map(|text| (*text).to_owned()).collect()),
        probe: None,
    }
}

#[test]
fn internal_networks_are_holes_in_routes_and_not_the_other_way_around() {
    assert_eq!(
        spec(&[("0.0.0.0/0", None)], &["10.0.0.0/8"]).check(&[]),
        Ok(())
    );
    let error = spec(&[("10.1.0.0/16", None)], &["10.0.0.0/8"]).check(&[]);
    assert!(
        matches!(error, Err(NodeSpecError::Internal { .. })),
        "{error:?}"
    );
}

#[test]
fn without_internal_networks_a_route_within_the_default_is_refused_where_it_is_new() {
    let subnet: Ipv4Net = "203.0.113.0/24".parse().unwrap();
    for (to, internal) in [
        ("10.1.0.0/16", "10.0.0.0/8"),
        ("172.16.0.0/12", "172.16.0.0/12"),
        ("192.168.7.0/24", "192.168.0.0/16"),
        ("100.64.1.0/24", "100.64.0.0/10"),
        ("169.254.169.254/32", "169.254.0.0/16"),
        ("203.0.113.128/25", "203.0.113.0/24"),
    ] {
        let mut node = spec(&[(to, None)], &[]);
        assert_eq!(node.check(&[subnet]), Ok(()), "no network is internal");
        node.internal = None;
        let error = NodeSpecError::Internal {
            to: to.parse().unwrap(),
            internal: internal.parse().unwrap(),
        };
        assert_eq!(node.check(&[subnet]), Err(error));
    }
    let mut everything = spec(&[("0.0.0.0/0", None)], &[]);
    everything.internal = None;
    assert_eq!(everything.check(&[subnet]), Ok(()));
}

#[test]
fn an_impossible_spec_is_refused() {
    for (to, via) in [
        ("198.51.100.1/24", None),
        ("2001:db8::/32", None),
        ("198.51.100.0", None),
        ("198.51.100.0/24", Some("gateway")),
        ("198.51.100.0/24", Some("2001:db8::1")),
        ("198.51.100.0/24", Some("0.0.0.0")),
        ("198.51.100.0/24", Some("127.0.0.1")),
        ("198.51.100.0/24", Some("224.0.0.1")),
        ("198.51.100.0/24", Some("255.255.255.255")),
    ] {
        assert!(spec(&[(to, via)], &[]).check(&[]).is_err(), "{to} {via:?}");
    }
    let twice = spec(
        &[("0.0.0.0/0", None), ("0.0.0.0/0", Some("203.0.113.200"))],
        &[],
    );
    assert!(matches!(twice.check(&[]), Err(NodeSpecError::Twice(_))));
    let many: Vec<_> = (0..65).map(|at| format!("198.51.100.{at}/32")).collect();
    let many: Vec<_> = many.iter().map(|to| (to.as_str(), None)).collect();
    assert!(matches!(
        spec(&many, &[]).check(&[]),
        Err(NodeSpecError::TooMany { .. })
    ));
}
