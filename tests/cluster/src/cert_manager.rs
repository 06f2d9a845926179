//! The real cert-manager.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::paths::{control_plane_binary, target};
use crate::process::Process;

/// The controller and the CA injector of cert-manager. Its webhook does not run here: objects get no defaults.
pub struct CertManager {
    controller: Process,
    injector: Process,
}

impl CertManager {
    /// Applies the CRDs of cert-manager and starts its controllers.
    pub async fn start(cluster: &Cluster) -> Self {
        let definitions = target().join("control-plane/cert-manager/crds.yaml");
        let definitions = std::fs::read_to_string(&definitions).unwrap_or_else(|error| {
            panic!(
                "{}: {error}: run tests/control-plane/build.sh cert-manager",
                definitions.display()
            )
        });
        let client = cluster.client().await;
        for object in crate::apply::documents(&definitions) {
            let made = crate::apply::one(&client, &object)
                .await
                .unwrap_or_else(|error| panic!("{error}\n{object}"));
            crate::apply::established(&client, &made.metadata.name.unwrap_or_default()).await;
        }
        crate::apply::namespace(&client, "cert-manager").await;
        let start = |name: &str, arguments: &[&str]| {
            let mut all = vec![
                format!("--kubeconfig={}", cluster.kubeconfig().display()),
                "--leader-elect=false".to_owned(),
            ];
            all.extend(arguments.iter().map(ToString::to_string));
            let logs = cluster.folder().join("logs");
            let binary = control_plane_binary("cert-manager", name);
            Process::start(&format!("cert-manager-{name}"), &binary, &all, &[], &logs)
        };
        // The metrics server cannot be turned off.
        let metrics = format!("--metrics-listen-address=127.0.0.1:{}", crate::free_port());
        let manager = Self {
            controller: start(
                "controller",
                &[
                    "--cluster-resource-namespace=cert-manager",
                    "--leader-election-namespace=cert-manager",
                    &metrics,
                ],
            ),
            injector: start("cainjector", &["--leader-election-namespace=cert-manager"]),
        };
        manager.controller.assert_runs();
        manager.injector.assert_runs();
        manager
    }

    /// Waits until a Certificate is issued, and so its Secret is there.
    pub async fn issued(&self, cluster: &Cluster, namespace: &str, certificate: &str) {
        let certificates = certificates(cluster, namespace).await;
        cluster
            .eventually(
                &format!("Certificate {namespace}/{certificate} is issued"),
                Duration::from_mins(1),
                || async {
                    self.controller.assert_runs();
                    self.injector.assert_runs();
                    let object = certificates
                        .get(certificate)
                        .await
                        .map_err(|error| error.to_string())?;
                    if condition(&object, "Ready").is_some_and(|ready| ready["status"] == "True") {
                        return Ok(());
                    }
                    if has_two_keys(&object) {
                        self.issue_again(cluster, namespace, certificate).await;
                    }
                    Err(object.data["status"].to_string())
                },
            )
            .await;
    }

    /// Issues a Certificate again if its request failed because cert-manager had made two keys for it. On a busy machine
    /// this happens sometimes, and cert-manager tries again an hour later (cert-manager, issue 6331, open).
    pub async fn repeat_after_two_keys(&self, cluster: &Cluster, namespace: &str, name: &str) {
        let object = certificates(cluster, namespace).await.get(name).await;
        if object.is_ok_and(|object| has_two_keys(&object)) {
            self.issue_again(cluster, namespace, name).await;
        }
    }

    /// Has a Certificate issued again now, as `cmctl renew` does.
    ///
    /// # Panics
    /// If the API server refuses it for another reason than a later change of the Certificate.
    pub async fn issue_again(&self, cluster: &Cluster, namespace: &str, name: &str) {
        println!("Certificate {namespace}/{name} is issued again");
        let certificates = certificates(cluster, namespace).await;
        let mut object = certificates
            .get(name)
            .await
            .unwrap_or_else(|error| panic!("Certificate {name}: {error}"));
        let conditions = &mut object.data["status"]["conditions"];
        let mut all = conditions.as_array().cloned().unwrap_or_default();
        all.retain(|condition| condition["type"] != "Issuing");
        all.push(json!({
            "type": "Issuing", "status": "True", "reason": "ManuallyTriggered",
            "message": "Issued again by a test", "lastTransitionTime": now(),
        }));
        *conditions = all.into();
        let written = certificates
            .replace_status(name, &PostParams::default(), &object)
            .await;
        match written {
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            other => drop(other.unwrap_or_else(|error| panic!("Certificate {name}: {error}"))),
        }
    }

    /// The processes of cert-manager: controller and CA injector.
    pub fn processes(&self) -> [&Process; 2] {
        [&self.controller, &self.injector]
    }
}

async fn certificates(cluster: &Cluster, namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "cert-manager.io",
        "v1",
        "Certificate",
    ));
    Api::namespaced_with(cluster.client().await, namespace, &resource)
}

/// The present time, in whole seconds, as `metav1.Time` has it.
fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn has_two_keys(certificate: &DynamicObject) -> bool {
    condition(certificate, "Issuing").is_some_and(|issuing| {
        let message = issuing["message"].as_str().unwrap_or_default();
        issuing["reason"] == "Failed"
            && message.ends_with("CSR not signed by referenced private key")
    })
}

fn condition<'a>(certificate: &'a DynamicObject, kind: &str) -> Option<&'a Value> {
    let conditions = certificate.data["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_with_two_keys_is_repeated() {
        let failed = |status: &str, reason: &str, message: &str| {
            let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
            let conditions = json!([
                {"type": "Issuing", "status": status, "reason": reason, "message": message},
            ]);
            has_two_keys(
                &DynamicObject::new("webhook", &resource)
                    .data(json!({"status": {"conditions": conditions}})),
            )
        };
        let two_keys = "The certificate request has failed to complete and will be retried: Error generating \
                        certificate template: CSR not signed by referenced private key";
        assert!(failed("False", "Failed", two_keys));
        assert!(!failed("False", "Failed", "the issuer is not ready"));
        assert!(!failed(
            "True",
            "DoesNotExist",
            "Issuing certificate as Secret does not exist"
        ));
    }
}
