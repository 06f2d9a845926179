//! Many reviews cause few reads of the API server: equal reads are shared, and concurrent reads are limited.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Request, Response};
use futures::future::join_all;
use kube::Client;
use kube::client::Body;
use kube::runtime::watcher::Event;
use mooring_plan::facts::Kind;
use serde_json::json;

use super::partner_a;
use crate::admission::{BoundNode, Caches, ClusterReader as _, Dependencies, KubeReader};
use crate::api::Ip;
use crate::fake_api::{api_server as answering, failure, half_open_api_server};

#[derive(Default)]
struct Asked {
    now: usize,
    most: usize,
    paths: Vec<String>,
}

/// A client of an API server that takes 10 ms for each answer, and the requests that it received.
fn api_server() -> (Client, Arc<Mutex<Asked>>) {
    let asked = Arc::<Mutex<Asked>>::default();
    let noted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let noted = Arc::clone(&noted);
        async move {
            let path = request.uri().path().to_owned();
            {
                let mut asked = noted.lock().unwrap();
                asked.now += 1;
                asked.most = asked.most.max(asked.now);
                asked.paths.push(path.clone());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            noted.lock().unwrap().now -= 1;
            let name = path.rsplit('/').next().unwrap_or_default();
            let body = json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": name},
            });
            let answer = Response::new(Body::from(body.to_string().into_bytes()));
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    (Client::new(service, "default"), asked)
}

/// Caches that contain these IPs.
fn caches_with(ips: impl IntoIterator<Item = Ip>) -> Caches {
    let caches = Caches::default();
    for ip in ips {
        let object = serde_json::to_value(ip).unwrap();
        let object = serde_json::from_value(object).unwrap();
        caches.see(Kind::Ip, &Event::Apply(object));
    }
    caches
}

fn bound_to(node: &str) -> Dependencies {
    Dependencies {
        node: Some(node.to_owned()),
        ..Dependencies::default()
    }
}

async fn look(live: &KubeReader, nodes: impl IntoIterator<Item = String>) -> Vec<BoundNode> {
    let dependencies: Vec<Dependencies> = nodes.into_iter().map(|node| bound_to(&node)).collect();
    let looks = join_all(dependencies.iter().map(|each| live.cached(each))).await;
    looks
        .into_iter()
        .map(|snapshot| snapshot.node().clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn at_most_32_reads_run_at_a_time() {
    let (client, asked) = api_server();
    let live = KubeReader::new(client, Caches::default());
    let seen = look(&live, (0..200).map(|n| format!("node-{n}"))).await;
    assert!(
        seen.iter()
            .all(|node| matches!(node, BoundNode::Labelled(_))),
        "{seen:?}"
    );
    let asked = asked.lock().unwrap();
    assert_eq!((asked.most, asked.paths.len()), (32, 200));
}

#[tokio::test(start_paused = true)]
async fn reviews_that_need_the_same_node_share_one_read() {
    let (client, asked) = api_server();
    let live = KubeReader::new(client, Caches::default());
    let seen = look(&live, (0..200).map(|_| "node-a".to_owned())).await;
    assert!(
        seen.iter()
            .all(|node| matches!(node, BoundNode::Labelled(_))),
        "{seen:?}"
    );
    let asked = asked.lock().unwrap();
    // The first read runs when the second caller comes, and that caller needs a read that starts later.
    assert!(asked.paths.len() <= 2, "{:?}", asked.paths);
}

#[tokio::test(start_paused = true)]
async fn the_ip_that_the_mutating_review_read_is_not_read_again() {
    let (client, asked) = api_server();
    let live = KubeReader::new(client, caches_with([partner_a()]));
    let mut reads = Vec::new();
    for given in [Some("uid-a"), Some("uid-b"), None] {
        let dependencies = Dependencies {
            annotation: Some("partner-a".to_owned()),
            given: given.map(str::to_owned),
            ..Dependencies::default()
        };
        live.cached(&dependencies).await;
        reads.push(std::mem::take(&mut asked.lock().unwrap().paths).len());
    }
    assert_eq!(reads, [0, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_review_of_a_pod_reads_only_ips_that_match_its_annotation() {
    let (client, _) = api_server();
    let mut second = partner_a();
    second.metadata.name = Some("partner-b".to_owned());
    second.spec.address = Some("203.0.113.77".to_owned());
    second.status = None;
    let live = KubeReader::new(client, caches_with([partner_a(), second]));
    for (annotation, expected) in [
        (Some("partner-b"), vec!["partner-b"]),
        (Some("203.0.113.77"), vec!["partner-b"]),
        (Some("missing"), vec![]),
        (None, vec!["partner-a", "partner-b"]),
    ] {
        let dependencies = Dependencies {
            annotation: annotation.map(str::to_owned),
            // As if the mutating review had read the IP: no read is necessary here.
            given: Some("uid-a".to_owned()),
            ..Dependencies::default()
        };
        let snapshot = live.cached(&dependencies).await;
        let seen: Vec<_> = snapshot
            .ips()
            .map(|ip| ip.name.as_str().to_owned())
            .collect();
        assert_eq!(seen, expected, "{annotation:?}");
    }
}

/// Otherwise a replica that cannot reach the API server would refuse every pod.
#[tokio::test(start_paused = true)]
async fn a_pod_is_reviewed_with_the_cached_ip_while_it_cannot_be_read() {
    let refusing = answering(|_, _, _| failure(403));
    let silent = half_open_api_server(|_, _| None);
    for client in [refusing, silent] {
        let live = KubeReader::new(client, caches_with([partner_a()]));
        let dependencies = Dependencies {
            annotation: Some("partner-a".to_owned()),
            ..Dependencies::default()
        };
        let snapshot = live.cached(&dependencies).await;
        let uids: Vec<_> = snapshot.ips().map(|ip| ip.uid.as_str()).collect();
        assert_eq!(uids, ["uid-a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_that_need_the_same_ip_read_it_at_most_twice_at_a_time() {
    let (client, asked) = api_server();
    let live = KubeReader::new(client, caches_with([partner_a()]));
    let dependencies = Dependencies {
        annotation: Some("partner-a".to_owned()),
        ..Dependencies::default()
    };
    // One review each millisecond, while the API server takes 10 ms for each answer.
    let review = async |millis| {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        live.cached(&dependencies).await;
    };
    join_all((0..100).map(review)).await;
    let asked = asked.lock().unwrap();
    assert_eq!((asked.most, asked.paths.len()), (2, 21));
}

#[tokio::test(start_paused = true)]
async fn a_node_name_that_cannot_be_a_name_reaches_no_path() {
    let (client, asked) = api_server();
    let live = KubeReader::new(client, Caches::default());
    let names = [
        "?watch=1",
        "a?watch=1",
        "../pods",
        "a/proxy",
        "..",
        "%2e",
        "A",
    ];
    let seen = look(&live, names.map(str::to_owned)).await;
    assert_eq!(seen, names.map(|_| BoundNode::Unknown));
    let paths = std::mem::take(&mut asked.lock().unwrap().paths);
    assert_eq!(paths, Vec::<String>::new());
}
