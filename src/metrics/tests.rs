//! Every metric is encoded under its name, and metrics of deleted objects are not.

use super::Metrics;

#[test]
fn every_promised_name_is_written() {
    let metrics = Metrics::new();
    metrics.addresses("public", "attached", 3);
    metrics.probed_addresses("public", "not_verified", 1);
    metrics.node_parts_away(2);
    metrics.inventory("subnet-1", 1_800_000_000);
    metrics.reconcile_errors_of(["Conflict", "Throttled"].into_iter());
    metrics.moved_in(1.5);
    metrics.attached_in(0.2);
    metrics.failover("detection", 0.4);
    metrics.ec2_request("AssignPrivateIpAddresses", "OK", 0.1);
    metrics.ec2_tokens("AssignPrivateIpAddresses", 100);
    metrics.admission("mutate-pod", true, 0.002);
    metrics.reconcile_error("Conflict");
    metrics.event_dropped();
    metrics.leader(true);
    metrics.certificate_expiry(1_800_000_000);
    metrics.brake("public", false);
    let text = metrics.encode().unwrap();
    for line in [
        "mooring_addresses{block=\"public\",state=\"attached\"} 3",
        "mooring_probed_addresses{block=\"public\",state=\"not_verified\"} 1",
        "mooring_node_parts_away 2",
        "mooring_inventory_timestamp_seconds{subnet=\"subnet-1\"} 1800000000",
        "mooring_reconcile_errors_total{reason=\"Throttled\"} 0",
        "mooring_move_duration_seconds_count 1",
        "mooring_attach_duration_seconds_count 1",
        "mooring_failover_seconds_count{part=\"detection\"} 1",
        "mooring_ec2_requests_total{action=\"AssignPrivateIpAddresses\",code=\"OK\"} 1",
        "mooring_ec2_tokens{action=\"AssignPrivateIpAddresses\"} 100",
        "mooring_ec2_request_duration_seconds_count{action=\"AssignPrivateIpAddresses\"} 1",
        "mooring_admission_duration_seconds_count{webhook=\"mutate-pod\",allowed=\"true\"} 1",
        "mooring_webhook_panics_total 0",
        "mooring_webhook_rejected_total{code=\"429\"} 0",
        "mooring_webhook_certificate_expiry_timestamp_seconds 1800000000",
        "mooring_reconcile_errors_total{reason=\"Conflict\"} 1",
        "mooring_events_dropped_total 1",
        "mooring_describe_lag_exceeded_total 0",
        "mooring_leader 1",
        "mooring_brake_engaged{block=\"public\"} 0",
        "mooring_build_info{version=",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_block_or_subnet_that_is_gone_is_no_longer_shown() {
    let metrics = Metrics::new();
    metrics.addresses("public", "attached", 3);
    metrics.brake("public", true);
    metrics.inventory("public", 1_800_000_000);
    metrics.probed_addresses("public", "verified", 3);
    metrics.forget_block("public", &["attached"]);
    metrics.forget_probed("public", "verified");
    metrics.forget_inventory("public");
    assert!(!metrics.encode().unwrap().contains("public"));
}
