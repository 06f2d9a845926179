//! The real cert-manager.

use std::time::Duration;

use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};

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
        // The metrics port is the one that cannot be turned off.
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
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
            "cert-manager.io",
            "v1",
            "Certificate",
        ));
        let certificates: Api<DynamicObject> =
            Api::namespaced_with(cluster.client().await, namespace, &resource);
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
                    let conditions = object
                        .data
                        .pointer("/status/conditions")
                        .cloned()
                        .unwrap_or_default();
                    let ready = conditions.as_array().is_some_and(|all| {
                        all.iter().any(|condition| {
                            condition["type"] == "Ready" && condition["status"] == "True"
                        })
                    });
                    if ready {
                        Ok(())
                    } else {
                        Err(conditions.to_string())
                    }
                },
            )
            .await;
    }

    /// Its processes: controller and CA injector.
    pub fn processes(&self) -> [&Process; 2] {
        [&self.controller, &self.injector]
    }
}
