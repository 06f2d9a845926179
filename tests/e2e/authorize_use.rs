//! The right to use an IP (`--authorize-use`, `config/authorize-use`). The user who creates a pod needs it. For pods of
//! a controller, the `ServiceAccount` of the pod needs it. An owner reference gives no right. See
//! docs/authorize-use.md.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mooring_cluster::MooringOptions;
use serde_json::{Value, json};

use crate::harness::objects::merged;
use crate::harness::requests::{ApiResponse, ip_named};
use crate::harness::scene::{Ip, SOON, Scene};
use crate::readme::{AUTHORIZE_USE, arguments, blocks};

scenes![
    alone a_user_needs_the_right,
    alone a_deployment_runs_once_its_service_account_has_the_right,
    alone a_job_runs_once_its_service_account_has_the_right,
    alone a_forged_owner_gives_no_right,
    alone pods_of_a_trusted_controller_need_the_right_of_their_service_account,
    alone pods_are_refused_while_rights_cannot_be_checked,
];

const MOORING: &str = "system:serviceaccount:mooring-system:mooring";
const ARGO: &str = "system:serviceaccount:argo:workflow-controller";
/// The user name of all controllers of kube-controller-manager without `--use-service-account-credentials`.
const ALL_CONTROLLERS: &str = "system:kube-controller-manager";
/// Controllers retry with a growing backoff.
const AFTER_SOME_FAILURES: Duration = Duration::from_secs(90);

/// Starts Mooring with the flag and the rights that it needs, and creates an IP, an account `gateway`, and a role that
/// lets all users create pods.
async fn shop(scene: &Scene) -> Ip {
    for object in component() {
        scene.cluster().apply(&object.to_string()).await;
    }
    expect_to_ask(scene, true).await;
    let trusted = format!("--trusted-controllers={ARGO},{ALL_CONTROLLERS}");
    let options = MooringOptions {
        arguments: vec!["--authorize-use".to_owned(), trusted],
        ..MooringOptions::default()
    };
    scene.mooring_with(options).await;
    for made in [
        "create serviceaccount gateway",
        "create role people --verb=create --resource=pods",
        "create rolebinding people --role=people --group=system:authenticated",
    ] {
        scene.kubectl(made).await.success();
    }
    scene.block().await;
    scene.ip("partner-a", 10).await
}

/// The objects that `config/authorize-use` adds.
fn component() -> Vec<Value> {
    let folder = mooring_cluster::repository().join("config/authorize-use");
    let files = ["cluster_role.yaml", "cluster_role_binding.yaml"];
    let read = |file: &str| {
        let yaml = std::fs::read_to_string(folder.join(file)).expect("it is there");
        serde_yaml::from_str(&yaml).expect("it is YAML")
    };
    files.map(read).into()
}

/// Waits until the API server allows (or refuses) Mooring to create `SubjectAccessReview`s.
async fn expect_to_ask(scene: &Scene, may: bool) {
    let question =
        format!("auth can-i create subjectaccessreviews.authorization.k8s.io --as={MOORING}");
    let known = format!("it is known that Mooring may ask: {may}");
    scene
        .eventually(&known, SOON, async || {
            let output = scene.kubectl(&question).await;
            (output.ok == may).then_some(()).ok_or(output.stdout)
        })
        .await;
}

/// Grants the right with the manifest of docs/authorize-use.md, for this namespace and this IP. Waits until the command
/// on that page answers `yes`.
async fn grant(scene: &Scene, ip: &Ip) {
    let here = |text: &str| {
        text.replace("namespace: shop", &format!("namespace: {}", scene.name))
            .replace("namespace=shop", &format!("namespace={}", scene.name))
            .replace(
                "serviceaccount:shop",
                &format!("serviceaccount:{}", scene.name),
            )
            .replace("partner-a", &ip.name)
    };
    let heading = "## The right to `use` an IP";
    let [rights] = blocks(AUTHORIZE_USE, heading, "yaml")
        .try_into()
        .expect("one example");
    let apply = ["apply", "-f", "-"];
    let applied = scene.cluster().kubectl_with(apply, &here(&rights)).await;
    applied.success();
    let [questions] = blocks(AUTHORIZE_USE, heading, "sh")
        .try_into()
        .expect("one block");
    for question in questions.lines() {
        let question = arguments(&here(question));
        scene
            .eventually("the command of the page answers yes", SOON, async || {
                let output = scene.cluster().kubectl(question.clone()).await;
                (output.ok && output.stdout.trim() == "yes")
                    .then_some(())
                    .ok_or(output)
            })
            .await;
    }
}

/// The response to a user who creates a pod with this IP, this `ServiceAccount` and these owners.
async fn asks(scene: &Scene, user: &str, ip: &str, account: &str, owners: &Value) -> ApiResponse {
    let changes =
        json!({"metadata": {"ownerReferences": owners}, "spec": {"serviceAccountName": account}});
    let pod = scene.pod_asking("web", ip, &changes);
    scene.would_create_as(user, &pod).await
}

fn account(scene: &Scene, name: &str) -> String {
    format!("system:serviceaccount:{}:{name}", scene.name)
}

/// Expects the refusal for a user without the right.
fn expect_refused(scene: &Scene, answer: ApiResponse, ip: &Ip, user: &str) {
    let parts = [
        "pod ",
        &format!("may not use IP \"{}\"", ip.name),
        &format!("user \"{user}\" has no right to"),
        &format!("bound, in namespace \"{}\"", scene.name),
        &format!("verb \"use\" on ips.ip.wgtwo.com \"{}\"", ip.name),
    ];
    answer.rejected(&parts);
}

async fn a_user_needs_the_right(scene: &Scene) {
    let ip = shop(scene).await;
    let other = scene.ip("partner-b", 11).await;
    let (_, mark) = scene.cluster().audit_since(u64::MAX);
    let nobody = json!([]);
    let create =
        async |user: &str, ip: &str, account: &str| asks(scene, user, ip, account, &nobody).await;
    expect_refused(
        scene,
        create("alice", &ip.name, "default").await,
        &ip,
        "alice",
    );
    grant(scene, &ip).await;
    create("alice", &ip.name, "default")
        .await
        .accepted_silently();
    create("alice", &ip.address, "default")
        .await
        .accepted_silently();
    // The right counts only for this IP and this user: bob gets no right by naming an account that has it.
    expect_refused(
        scene,
        create("alice", &other.name, "default").await,
        &other,
        "alice",
    );
    expect_refused(scene, create("bob", &ip.name, "gateway").await, &ip, "bob");
    let gateway = account(scene, "gateway");
    create(&gateway, &ip.name, "default")
        .await
        .accepted_silently();

    let (events, _) = scene.cluster().audit_since(mark);
    let asked = events
        .iter()
        .filter(|event| event.by_mooring() && event.resource == "subjectaccessreviews");
    assert_eq!(asked.count(), 6, "one question a pod");

    // For an IP that the namespace may not use, the refusal is the same as for an IP that does not exist, with or
    // without the right.
    let theirs = json!({"address": scene.address(12), "allowedNamespaces": ["elsewhere"]});
    let name = scene.named("theirs");
    let before = create("alice", &name, "default")
        .await
        .rejected(&["does not exist, or"]);
    scene.remember_ip(&name);
    scene.creates(&ip_named(&name, &theirs)).await.accepted();
    let reserved = scene.expect_condition("IP", &name, "Reserved", "True");
    reserved.await;
    let after = create("alice", &name, "default").await;
    assert_eq!(after.rejected(&["does not exist, or"]), before);
}

/// The template of a pod that asks for an IP and runs as `gateway`.
fn as_gateway(app: &str, ip: &Ip) -> Value {
    let changes = json!({"spec": {"serviceAccountName": "gateway"}});
    merged(Scene::template(app, ip), &changes)
}

/// Expects the Event `FailedCreate` of a controller object, because the account of its pod does not have the right.
async fn expect_creation_refused(scene: &Scene, kind: &str, ip: &Ip) {
    let sentence = format!("an Event FailedCreate of a {kind}");
    let reported = scene.eventually(&sentence, SOON, async || {
        let events = scene.events().await.into_iter();
        let mut failed = events.filter(|event| {
            event["involvedObject"]["kind"] == kind && event["reason"] == "FailedCreate"
        });
        failed.find_map(|event| event["message"].as_str().map(str::to_owned))
    });
    let reported = reported.await;
    let gateway = account(scene, "gateway");
    for part in [&format!("may not use IP \"{}\"", ip.name), &gateway] {
        assert!(reported.contains(part), "{part} is not in: {reported}");
    }
}

async fn a_deployment_runs_once_its_service_account_has_the_right(scene: &Scene) {
    let ip = shop(scene).await;
    scene.node("a").await;
    let template = json!({"template": as_gateway("web", &ip)});
    scene.deployment_with("web", &ip, &template).await;
    expect_creation_refused(scene, "ReplicaSet", &ip).await;
    assert!(scene.pods_of("web").await.is_empty());
    grant(scene, &ip).await;
    expect_running(scene, &ip).await;
}

async fn a_job_runs_once_its_service_account_has_the_right(scene: &Scene) {
    let ip = shop(scene).await;
    scene.node("a").await;
    let never = json!({"spec": {"restartPolicy": "Never"}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "web", "namespace": scene.name},
        "spec": {"template": merged(as_gateway("web", &ip), &never)}});
    scene.creates(&job).await.accepted();
    expect_creation_refused(scene, "Job", &ip).await;
    assert!(scene.pods_of("web").await.is_empty());
    grant(scene, &ip).await;
    expect_running(scene, &ip).await;
}

/// Waits until the controller has retried and its pod has the address.
async fn expect_running(scene: &Scene, ip: &Ip) {
    let pod = scene.eventually("web has a pod", AFTER_SOME_FAILURES, async || {
        let mut pods = scene.pods_of("web").await;
        pods.pop().map(|(name, _)| name)
    });
    let pod = pod.await;
    scene.expect_attached(ip, &pod).await;
}

async fn a_forged_owner_gives_no_right(scene: &Scene) {
    let ip = shop(scene).await;
    grant(scene, &ip).await;
    let template = json!({"template": as_gateway("web", &ip)});
    scene.deployment_with("web", &ip, &template).await;
    let pod = scene.only_pod("web").await;
    let pod = scene.get("Pod", &pod).await.expect("it is there");
    let owners = &pod["metadata"]["ownerReferences"];
    assert_eq!(owners[0]["kind"], "ReplicaSet", "{pod:#}");
    // The same pod as that of the controller, but created by another user.
    let forged = asks(scene, "bob", &ip.name, "gateway", owners).await;
    expect_refused(scene, forged, &ip, "bob");
    let system = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "kube-system", "uid": "1",
        "controller": true}]);
    let forged = asks(scene, "bob", &ip.name, "gateway", &system).await;
    expect_refused(scene, forged, &ip, "bob");
}

async fn pods_of_a_trusted_controller_need_the_right_of_their_service_account(scene: &Scene) {
    let ip = shop(scene).await;
    grant(scene, &ip).await;
    let create =
        async |user: &str, account: &str| asks(scene, user, &ip.name, account, &json!([])).await;
    for trusted in [ARGO, ALL_CONTROLLERS] {
        create(trusted, "gateway").await.accepted_silently();
        let default = account(scene, "default");
        expect_refused(scene, create(trusted, "default").await, &ip, &default);
    }
    // Another account of the namespace of the trusted controller is an ordinary user.
    let other = "system:serviceaccount:argo:server";
    expect_refused(scene, create(other, "gateway").await, &ip, other);
}

async fn pods_are_refused_while_rights_cannot_be_checked(scene: &Scene) {
    let ip = shop(scene).await;
    grant(scene, &ip).await;
    let unbound = scene.kubectl("delete clusterrolebinding mooring-authorize-use");
    unbound.await.success();
    scene.rights_were_away.store(true, Ordering::Relaxed);
    expect_to_ask(scene, false).await;
    let pod = scene.pod_asking("web", &ip.name, &json!({}));
    // Uses kubectl, because the client of the scenes would retry for minutes, as the response requests.
    let create = ["create", "--as=alice", "--dry-run=server", "-f", "-"];
    let output = scene.cluster().kubectl_with(create, &pod.to_string()).await;
    let stderr = output.failure();
    for part in [
        "could not read from the API server",
        "the right to use the IP",
        "try again",
    ] {
        assert!(stderr.contains(part), "{part} is not in: {stderr}");
    }
}
