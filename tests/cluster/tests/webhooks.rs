//! The webhooks of `config/webhook` can be registered with processes outside the cluster, one or several.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::Api;
use mooring_cluster::{Cluster, ClusterOptions, run};

#[test]
fn each_replica_gets_the_reviews_of_its_objects() {
    run(async {
        let cluster = Cluster::start(ClusterOptions::default()).await;
        let client = cluster.client().await;
        let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        let validating: Api<ValidatingWebhookConfiguration> = Api::all(client);
        let addresses = [
            "https://127.0.0.1:1".to_owned(),
            "https://127.0.0.1:2".to_owned(),
        ];

        cluster.register_webhooks_at(&addresses[..1]).await;
        let one = mutating.get("mooring").await.unwrap().webhooks.unwrap();
        assert_eq!(
            one[0].client_config.url.as_deref(),
            Some("https://127.0.0.1:1/mutate/pod")
        );
        assert!(one[0].client_config.service.is_none() && one[0].client_config.ca_bundle.is_some());
        // The last one shows when the API server has read the registration.
        let own = one.len() - 1;
        let of_one = validating
            .get("mooring")
            .await
            .unwrap()
            .webhooks
            .unwrap()
            .len();

        cluster.register_webhooks_at(&addresses).await;
        let two = mutating.get("mooring").await.unwrap().webhooks.unwrap();
        assert_eq!(two.len(), 2 * own + 1);
        let chosen = |number: usize| {
            let selector = two[number * own].object_selector.clone().unwrap();
            let expressions = selector.match_expressions.unwrap();
            let last = expressions.last().unwrap().clone();
            (last.key, last.operator, last.values.unwrap_or_default())
        };
        let label = "test.mooring/replica".to_owned();
        assert_eq!(
            chosen(0),
            (label.clone(), "DoesNotExist".to_owned(), vec![])
        );
        assert_eq!(chosen(1), (label, "In".to_owned(), vec!["1".to_owned()]));
        assert_eq!(
            validating
                .get("mooring")
                .await
                .unwrap()
                .webhooks
                .unwrap()
                .len(),
            2 * (of_one - 1) + 1
        );

        cluster.register_webhooks_at(&addresses[1..]).await;
        let again = mutating.get("mooring").await.unwrap().webhooks.unwrap();
        assert_eq!(
            again.len(),
            one.len(),
            "registering replaces what was registered"
        );
        cluster.unregister_webhooks().await;
        assert!(mutating.get_opt("mooring").await.unwrap().is_none());
    });
}
