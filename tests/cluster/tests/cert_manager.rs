//! The real cert-manager issues certificates in the test cluster, and injects their CA.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use mooring_cluster::{CertManager, Cluster, ClusterOptions, run};

const OBJECTS: &str = "
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own, namespace: default}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: webhook, namespace: default}
spec:
  secretName: webhook-tls
  dnsNames: [webhook.default.svc]
  issuerRef: {name: own, kind: Issuer, group: cert-manager.io}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: injected
  annotations: {cert-manager.io/inject-ca-from: default/webhook}
webhooks:
- name: injected.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: default, name: webhook, path: /}}
  rules:
  - {apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}
";

#[test]
fn a_certificate_is_issued_its_ca_injected_and_it_can_be_issued_again() {
    run(async {
        let cluster = Cluster::start(ClusterOptions {
            manifests: false,
            ..ClusterOptions::default()
        })
        .await;
        let manager = CertManager::start(&cluster).await;
        cluster.apply(OBJECTS).await;
        manager.issued(&cluster, "default", "webhook").await;
        let client = cluster.client().await;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
        let secret = secrets.get("webhook-tls").await.unwrap().data.unwrap();
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(client);
        cluster
            .eventually(
                "the webhook's caBundle is the Secret's ca.crt",
                Duration::from_mins(1),
                || async {
                    let hook = hooks
                        .get("injected")
                        .await
                        .unwrap()
                        .webhooks
                        .unwrap()
                        .remove(0);
                    hook.client_config.ca_bundle.as_ref() == Some(&secret["ca.crt"])
                },
            )
            .await;
        manager.issue_again(&cluster, "default", "webhook").await;
        cluster
            .eventually(
                "the Secret has another certificate",
                Duration::from_mins(1),
                || async {
                    let another = secrets.get("webhook-tls").await.unwrap().data.unwrap();
                    another["tls.crt"] != secret["tls.crt"]
                },
            )
            .await;
    });
}
