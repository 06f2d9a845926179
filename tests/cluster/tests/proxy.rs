//! Tests of the proxy in front of the API server: it loses nothing except by a rule.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use mooring_cluster::{Cluster, ClusterOptions, ProxiedWrite, Proxy, Rule, eventually, run};

const LIMIT: Duration = Duration::from_secs(30);

/// One cluster for all tests of this file.
async fn cluster() -> &'static Cluster {
    static CLUSTER: tokio::sync::OnceCell<Cluster> = tokio::sync::OnceCell::const_new();
    let options = ClusterOptions {
        manifests: false,
        ..ClusterOptions::default()
    };
    CLUSTER.get_or_init(|| Cluster::start(options)).await
}

/// The kubeconfig of the administrator, with the URL of the proxy.
async fn config(cluster: &Cluster, proxy: &Proxy) -> kube::Config {
    let mut config = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    config.clusters[0].cluster.as_mut().unwrap().server = Some(proxy.url().to_owned());
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(config, &options)
        .await
        .unwrap();
    config.default_retry = false;
    config
}

async fn objects(cluster: &Cluster, proxy: &Proxy) -> Api<ConfigMap> {
    let client = kube::Client::try_from(config(cluster, proxy).await).unwrap();
    Api::namespaced(client, "default")
}

fn object(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object
}

/// Creates an object in its own task, because the request can block.
fn create(
    objects: &Api<ConfigMap>,
    name: &str,
) -> tokio::task::JoinHandle<kube::Result<ConfigMap>> {
    let (objects, object) = (objects.clone(), object(name));
    tokio::spawn(async move { objects.create(&PostParams::default(), &object).await })
}

fn of(name: &'static str) -> impl Fn(&ProxiedWrite) -> bool + Send {
    move |write| write.resource == "configmaps" && write.name == name
}

fn code(answer: kube::Result<ConfigMap>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[test]
fn reads_writes_and_watches_go_through_and_only_writes_are_recorded() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        let only = WatchParams::default()
            .disable_bookmarks()
            .fields("metadata.name=plain");
        let mut watch = Box::pin(objects.watch(&only, "0").await.unwrap());
        create(&objects, "plain").await.unwrap().unwrap();
        let seen = tokio::time::timeout(LIMIT, futures::StreamExt::next(&mut watch)).await;
        assert!(
            matches!(seen, Ok(Some(Ok(WatchEvent::Added(_))))),
            "{seen:?}"
        );
        assert!(objects.get("plain").await.is_ok());
        let writes = proxy.writes();
        assert_eq!(writes.len(), 1, "{writes:?}");
        let write = &writes[0];
        assert_eq!(
            (
                write.method.as_str(),
                write.namespace.as_str(),
                &write.answers
            ),
            ("POST", "default", &vec![201])
        );
        assert_eq!(write.body["metadata"]["name"], "plain");
    });
}

#[test]
fn the_identity_of_the_client_is_unchanged() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let mut config = config(cluster, &proxy).await;
        config.auth_info.token = Some("nobodys-token".to_owned().into());
        let client = kube::Client::try_from(config).unwrap();
        let objects: Api<ConfigMap> = Api::namespaced(client, "default");
        assert_eq!(code(create(&objects, "foreign").await.unwrap()), 401);
    });
}

#[test]
fn a_write_held_before_its_execution_is_executed_on_release() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        let (kept, dropped) = (of("kept-before"), of("dropped-before"));
        let (kept, dropped) = (
            proxy.order(Rule::hold_before(kept)),
            proxy.order(Rule::hold_before(dropped)),
        );
        let (waits, lost) = (
            create(&objects, "kept-before"),
            create(&objects, "dropped-before"),
        );
        for rule in [kept, dropped] {
            eventually("it is held", LIMIT, || async { proxy.struck(rule) }).await;
        }
        assert!(objects.get_opt("kept-before").await.unwrap().is_none());
        proxy.release(kept);
        assert_eq!(code(waits.await.unwrap()), 200);
        proxy.drop_held(dropped);
        assert_eq!(
            code(lost.await.unwrap()),
            0,
            "the connection is closed without an answer"
        );
        assert!(objects.get_opt("dropped-before").await.unwrap().is_none());
        assert_eq!(proxy.struck(dropped).unwrap().answers, Vec::<u16>::new());
    });
}

#[test]
fn a_held_write_is_executed_even_without_its_client() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        let rule = proxy.order(Rule::hold_before(of("left-alone")));
        let waits = create(&objects, "left-alone");
        eventually("it is held", LIMIT, || async { proxy.struck(rule) }).await;
        waits.abort();
        proxy.release(rule);
        eventually("it lands late", LIMIT, || async {
            objects.get("left-alone").await
        })
        .await;
    });
}

#[test]
fn a_write_held_after_its_execution_is_executed_before_its_answer() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        let rule = proxy.order(Rule::hold_after(of("held-after")));
        let waits = create(&objects, "held-after");
        let held = eventually("it is held", LIMIT, || async { proxy.struck(rule) }).await;
        assert_eq!(held.answers, [201]);
        assert!(objects.get("held-after").await.is_ok());
        assert!(!waits.is_finished(), "there is no answer yet");
        proxy.drop_held(rule);
        assert_eq!(code(waits.await.unwrap()), 0);
    });
}

#[test]
fn an_answer_can_be_lost_late_or_refused() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        let time = Duration::from_millis(300);
        let lost = proxy.order(Rule::lose_answer(of("lost")));
        let late = proxy.order(Rule::delay_answer(time, of("late")));
        proxy.order(Rule::refuse(503, of("refused")));
        let begun = std::time::Instant::now();
        assert_eq!(code(create(&objects, "late").await.unwrap()), 200);
        assert!(begun.elapsed() >= time, "it is not early");
        assert_eq!(code(create(&objects, "lost").await.unwrap()), 0);
        assert_eq!(code(create(&objects, "refused").await.unwrap()), 503);
        for (rule, name) in [(lost, "lost"), (late, "late")] {
            assert_eq!(proxy.struck(rule).unwrap().answers, [201], "{name}");
            assert!(objects.get(name).await.is_ok(), "{name}");
        }
        assert!(objects.get_opt("refused").await.unwrap().is_none());
    });
}

#[test]
fn a_doubled_write_returns_its_first_or_its_second_answer() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        let first = proxy.order(Rule::twice(of("first")));
        let last = proxy.order(Rule::twice_answered_last(of("last")));
        assert_eq!(code(create(&objects, "first").await.unwrap()), 200);
        assert_eq!(code(create(&objects, "last").await.unwrap()), 409);
        for rule in [first, last] {
            assert_eq!(proxy.struck(rule).unwrap().answers, [201, 409]);
        }
    });
}

#[test]
fn a_rule_skips_a_number_of_writes_and_applies_once_or_until_its_end() {
    run(async {
        let cluster = cluster().await;
        let proxy = Proxy::start(cluster).await;
        let objects = objects(cluster, &proxy).await;
        proxy.order(Rule::refuse(503, of("counted")).skip(1));
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(code(create(&objects, "counted").await.unwrap()));
        }
        assert_eq!(seen, [200, 503, 409]);
        let always = proxy.order(Rule::refuse(503, of("always")).forever());
        for _ in 0..2 {
            assert_eq!(code(create(&objects, "always").await.unwrap()), 503);
        }
        proxy.release(always);
        assert_eq!(code(create(&objects, "always").await.unwrap()), 200);
        assert_eq!(proxy.all_struck(always).len(), 2);
    });
}
