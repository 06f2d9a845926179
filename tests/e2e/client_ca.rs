//! With a client CA, the webhook answers an API server that is configured as docs/hardening.md says.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libtest_mimic::Trial;
use mooring_cluster::{Authority, ClusterOptions, MooringOptions, free_port, repository};
use serde_json::json;

use crate::certificates::{dial, kustomized_with_test_ca};
use crate::harness::runner;
use crate::harness::scene::{SOON, Scene};

pub fn scenes() -> Vec<Trial> {
    let name = concat!(
        module_path!(),
        "::an_api_server_with_a_client_certificate_is_answered"
    );
    vec![runner::alone_in(
        name,
        presenting_a_certificate,
        an_api_server_with_a_client_certificate_is_answered,
    )]
}

/// The port of the replica. The API server selects its client certificate by host name and port.
static PORT: LazyLock<u16> = LazyLock::new(free_port);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("client-ca")
}

/// Options of an API server with the configuration files of docs/hardening.md.
fn presenting_a_certificate() -> ClusterOptions {
    let folder = folder();
    std::fs::create_dir_all(&folder).unwrap();
    let text = std::fs::read_to_string(repository().join("docs/hardening.md")).unwrap();
    let name = "mooring-webhook.mooring-system.svc";
    let text = text
        .replace("/etc/kubernetes", &folder.display().to_string())
        .replace(
            &format!("name: {name}\n"),
            &format!("name: {name}:{}\n", *PORT),
        );
    let mut blocks = text.split("```yaml\n").skip(1);
    let mut block = || blocks.next().unwrap().split("```").next().unwrap();
    let admission = folder.join("admission.yaml");
    std::fs::write(&admission, block()).unwrap();
    std::fs::write(folder.join("mooring.kubeconfig"), block()).unwrap();

    let clients = Authority::new("clients of Mooring");
    let leaf = clients.client("api-server");
    std::fs::write(folder.join("mooring.crt"), leaf.certificate).unwrap();
    std::fs::write(folder.join("mooring.key"), leaf.key).unwrap();
    std::fs::write(folder.join("ca.crt"), clients.certificate()).unwrap();
    ClusterOptions {
        api_server_flags: vec![format!(
            "--admission-control-config-file={}",
            admission.display()
        )],
        ..ClusterOptions::default()
    }
}

async fn an_api_server_with_a_client_certificate_is_answered(scene: &Scene) {
    let ca = folder().join("ca.crt");
    let mooring = scene
        .mooring_with(MooringOptions {
            webhook: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, *PORT))),
            arguments: vec![format!("--client-ca={}", ca.display())],
            register_webhooks: false,
            wait: false,
            ..MooringOptions::default()
        })
        .await;
    let mut configurations = kustomized_with_test_ca(scene).await;
    dial(scene, &mooring, configurations.clone()).await;
    mooring.wait_until_ready(SOON).await;
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let pod = scene.pod_asking("web", &ip.name, &json!({}));
    let given = scene
        .eventually(
            "the API server has read the webhook configuration",
            SOON,
            async || {
                // Until then a policy refuses the pod.
                let answer = scene.would_create(&pod).await;
                if !answer.is_accepted() {
                    return Err(answer.message().to_owned());
                }
                Ok(answer.accepted())
            },
        )
        .await;
    assert!(given["spec"]["readinessGates"].is_array(), "{given:#}");

    // For another host name the API server has no client certificate, so the webhook refuses the connection.
    for configuration in &mut configurations {
        for hook in configuration["webhooks"].as_array_mut().unwrap() {
            let path = hook["clientConfig"]["service"]["path"].as_str().unwrap();
            let url = format!("{}{path}", mooring.webhook_url());
            hook["clientConfig"]["url"] = url.into();
            hook["clientConfig"]["service"].take();
        }
        let kind = configuration["kind"].as_str().unwrap().to_owned();
        scene
            .kubectl(&format!("delete {kind} mooring"))
            .await
            .success();
        configuration["metadata"]["annotations"].take();
        scene.cluster().apply(&configuration.to_string()).await;
    }
    scene
        .eventually("an unknown client is refused", SOON, async || {
            let refused = scene.would_create(&pod).await;
            let text = format!("{refused:?}");
            if text.contains("failed calling webhook") && text.contains("certificate required") {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;
    scene.cluster().unregister_webhooks().await;
}
