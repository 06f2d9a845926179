//! The pods of Mooring: their privileges, their placement, and their replacement in a rollout.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, Namespace, PodSpec};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::files::object;

fn deployment() -> DeploymentSpec {
    let deployment: Deployment = object("config/default/deployment.yaml");
    deployment.spec.unwrap()
}

fn pod() -> (PodSpec, Container) {
    let pod = deployment().template.spec.unwrap();
    let [container] = pod.containers.clone().try_into().unwrap();
    (pod, container)
}

#[test]
fn the_process_has_no_privileges_on_its_node() {
    let (pod, container) = pod();
    let whole = pod.security_context.unwrap();
    assert_eq!(whole.run_as_non_root, Some(true));
    assert!(whole.run_as_user.unwrap() > 0);
    assert_eq!(whole.seccomp_profile.unwrap().type_, "RuntimeDefault");
    let own = container.security_context.unwrap();
    assert_eq!(own.read_only_root_filesystem, Some(true));
    assert_eq!(own.allow_privilege_escalation, Some(false));
    let capabilities = own.capabilities.unwrap();
    assert_eq!(capabilities.drop, Some(vec!["ALL".to_owned()]));
    assert_eq!(capabilities.add, None);
}

#[test]
fn it_has_a_priority_class_and_resource_requests() {
    let (pod, container) = pod();
    let class = pod.priority_class_name;
    assert_eq!(class.as_deref(), Some("system-cluster-critical"));
    let resources = container.resources.unwrap();
    let requested: Vec<_> = resources.requests.unwrap().into_keys().collect();
    assert_eq!(requested, ["cpu", "memory"]);
    assert!(resources.limits.unwrap().contains_key("memory"));
}

#[test]
fn one_replica_remains_during_every_drain() {
    let labels = deployment().selector;
    let budget: PodDisruptionBudget = object("config/default/pod_disruption_budget.yaml");
    let budget = budget.spec.unwrap();
    assert_eq!(budget.min_available, Some(IntOrString::Int(1)));
    let unhealthy = budget.unhealthy_pod_eviction_policy;
    assert_eq!(unhealthy.as_deref(), Some("AlwaysAllow"));
    let (pod, _) = pod();
    let affinity = pod.affinity.unwrap().pod_anti_affinity.unwrap();
    let terms = affinity.preferred_during_scheduling_ignored_during_execution;
    let [term] = terms.unwrap().try_into().unwrap();
    let term = term.pod_affinity_term;
    assert_eq!(term.topology_key, "kubernetes.io/hostname");
    assert_eq!(term.label_selector.as_ref(), Some(&labels));
    let spread = pod.topology_spread_constraints.unwrap();
    let keys: Vec<_> = spread.iter().map(|it| it.topology_key.as_str()).collect();
    assert_eq!(
        keys,
        ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    );
    for constraint in spread {
        assert_eq!(constraint.label_selector.as_ref(), Some(&labels));
    }
}

#[test]
fn a_new_replica_is_ready_before_an_old_one_is_stopped() {
    let strategy = deployment().strategy.unwrap();
    assert_eq!(strategy.type_.as_deref(), Some("RollingUpdate"));
    let rolling = strategy.rolling_update.unwrap();
    assert_eq!(rolling.max_unavailable, Some(IntOrString::Int(0)));
    assert_eq!(rolling.max_surge, Some(IntOrString::Int(1)));
    let (pod, container) = pod();
    let stop = container.lifecycle.unwrap().pre_stop.unwrap();
    let waits = stop.sleep.unwrap().seconds;
    assert!(waits > 0);
    assert!(pod.termination_grace_period_seconds.unwrap() > waits);
    assert!(container.readiness_probe.is_some());
}

#[test]
fn its_events_are_about_its_pod() {
    let (_, container) = pod();
    let given: Vec<(String, String)> = container
        .env
        .unwrap()
        .into_iter()
        .filter_map(|variable| {
            let field = variable.value_from?.field_ref.unwrap();
            Some((variable.name, field.field_path))
        })
        .collect();
    for (name, field) in [("POD_NAME", "metadata.name"), ("POD_UID", "metadata.uid")] {
        assert!(
            given.contains(&(name.to_owned(), field.to_owned())),
            "{given:?}"
        );
    }
}

#[test]
fn it_does_not_use_the_role_of_its_node() {
    let (_, container) = pod();
    let variables = container.env.unwrap();
    let disabled = variables
        .iter()
        .find(|variable| variable.name == "AWS_EC2_METADATA_DISABLED");
    let value = disabled.and_then(|variable| variable.value.as_deref());
    assert_eq!(value, Some("true"));
}

#[test]
fn the_namespace_enforces_warns_and_audits_the_restricted_profile() {
    let namespace: Namespace = object("config/default/namespace.yaml");
    let labels = namespace.metadata.labels.unwrap();
    for mode in ["enforce", "warn", "audit"] {
        let level = labels.get(&format!("pod-security.kubernetes.io/{mode}"));
        assert_eq!(level.map(String::as_str), Some("restricted"), "{mode}");
    }
}

#[test]
fn the_node_part_has_only_network_privileges_on_its_node() {
    let set: DaemonSet = object("config/node/daemon_set.yaml");
    let pod = set.spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.host_network, Some(true));
    assert_eq!(
        (pod.host_pid, pod.host_ipc, pod.volumes),
        (None, None, None)
    );
    let seccomp = pod.security_context.unwrap().seccomp_profile.unwrap();
    assert_eq!(seccomp.type_, "RuntimeDefault");
    let [container] = pod.containers.try_into().unwrap();
    let own = container.security_context.unwrap();
    assert_eq!(own.read_only_root_filesystem, Some(true));
    assert_eq!(own.allow_privilege_escalation, Some(false));
    assert_eq!(own.privileged, None);
    let capabilities = own.capabilities.unwrap();
    assert_eq!(capabilities.drop, Some(vec!["ALL".to_owned()]));
    assert_eq!(capabilities.add, Some(vec!["NET_ADMIN".to_owned()]));
    assert!(container.volume_mounts.is_none());
}

#[test]
fn the_node_part_runs_only_where_it_can() {
    let set: DaemonSet = object("config/node/daemon_set.yaml");
    let pod = set.spec.unwrap().template.spec.unwrap();
    let selected = pod.node_selector.unwrap();
    assert_eq!(
        selected.get("kubernetes.io/os").map(String::as_str),
        Some("linux")
    );
    let affinity = pod.affinity.unwrap().node_affinity.unwrap();
    let required = affinity.required_during_scheduling_ignored_during_execution;
    let [term] = required.unwrap().node_selector_terms.try_into().unwrap();
    let [expression] = term.match_expressions.unwrap().try_into().unwrap();
    assert_eq!(expression.key, "eks.amazonaws.com/compute-type");
    assert_eq!(expression.operator, "NotIn");
    assert_eq!(expression.values, Some(vec!["fargate".to_owned()]));
}
