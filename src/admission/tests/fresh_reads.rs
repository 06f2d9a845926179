//! What a review reads again from the API server, because the caches can lag.

use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use mooring_plan::address::Address;
use mooring_plan::admission::address::Parent;
use serde_json::{Value, json};

use super::{block, partner_a};
use crate::admission::{Caches, ClusterReader as _, Dependencies, KubeReader};
use crate::fake_api::{api_server, failure};

const IPS: &str = "/apis/ip.wgtwo.com/v1alpha1/ips";
const BLOCKS: &str = "/apis/ip.wgtwo.com/v1alpha1/ipblocks";
const RESERVATIONS: &str = "/apis/networking.k8s.io/v1/ipaddresses";

/// The names of the IPs that a review of a pod with this annotation reads from the API server, and the other paths that
/// it requests besides the list of the blocks. `partner-a` has 203.0.113.7, and `owner` is who has the reservation.
async fn read_for(annotation: &str, owner: Option<&'static str>) -> (Vec<String>, Vec<String>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&asked);
    let client = api_server(move |_, path, _| {
        noted.lock().unwrap().push(path.to_owned());
        let list = |items| json!({"metadata": {}, "items": items});
        match (path.strip_prefix(IPS), path.strip_prefix(RESERVATIONS)) {
            (Some(""), _) => (200, list(json!([partner_a()]))),
            (Some("/partner-a"), _) => (200, json!(partner_a())),
            (_, Some("/203.0.113.7" | "/203.0.113.8")) if owner.is_some() => {
                let parent = json!({"group": "ip.wgtwo.com", "resource": "ips", "name": owner});
                let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
                    "metadata": {"name": "203.0.113.7", "uid": "u", "resourceVersion": "1"},
                    "spec": {"parentRef": parent}});
                (200, object)
            }
            _ if path == BLOCKS => (200, list(json!([block("office", "203.0.113.0/24")]))),
            _ => failure(404),
        }
    });
    let live = KubeReader::new(client, Caches::default());
    let dependencies = Dependencies {
        annotation: Some(annotation.to_owned()),
        ..Dependencies::default()
    };
    let snapshot = live.fresh(&dependencies).await.unwrap();
    assert!(snapshot.block("office").is_some());
    let mut paths = std::mem::take(&mut *asked.lock().unwrap());
    paths.retain(|path| path != BLOCKS);
    let ips = snapshot.ips().map(|ip| ip.name.to_string());
    (ips.collect(), paths)
}

#[tokio::test]
async fn a_fresh_read_for_a_pod_reads_the_one_ip_that_it_names() {
    let (named, missing) = (
        read_for("partner-a", None).await,
        read_for("missing", None).await,
    );
    assert_eq!(
        named,
        (
            vec!["partner-a".to_owned()],
            vec![format!("{IPS}/partner-a")]
        )
    );
    assert_eq!(missing, (vec![], vec![format!("{IPS}/missing")]));
}

#[tokio::test]
async fn a_fresh_read_for_a_pod_finds_the_owner_of_an_address_by_its_reservation() {
    let (seen, paths) = read_for("203.0.113.7", Some("partner-a")).await;
    assert_eq!(seen, ["partner-a"]);
    assert_eq!(
        paths,
        [
            format!("{IPS}/203.0.113.7"),
            format!("{RESERVATIONS}/203.0.113.7"),
            format!("{IPS}/partner-a")
        ]
    );
    // Without a reservation, or with one of an IP that is gone or has another address, the IP that asks for the address
    // is found in the list.
    for (address, owner) in [
        ("203.0.113.7", None),
        ("203.0.113.7", Some("gone")),
        ("203.0.113.8", Some("partner-a")),
    ] {
        let (seen, paths) = read_for(address, owner).await;
        assert_eq!(seen, ["partner-a"]);
        assert_eq!(paths.last().map(String::as_str), Some(IPS));
    }
}

/// Who has 203.0.113.7 for a review of an IP, by the cache and by a fresh read, if its reservation is of the IP `name`
/// and the API server answers this about that IP.
async fn owners(name: &'static str, about: (u16, Value)) -> [Option<Parent>; 2] {
    let client = api_server(move |_, path, _| {
        if path.starts_with(RESERVATIONS) {
            let parent = json!({"group": "ip.wgtwo.com", "resource": "ips", "name": name});
            let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
                "metadata": {"name": "203.0.113.7", "uid": "u", "resourceVersion": "1"},
                "spec": {"parentRef": parent}});
            return (200, object);
        }
        match path.strip_prefix(IPS) {
            Some(one) if one.strip_prefix('/') == Some(name) => about.clone(),
            _ => (200, json!({"metadata": {}, "items": []})),
        }
    });
    let live = KubeReader::new(client, Caches::default());
    let dependencies = Dependencies {
        address: "203.0.113.7".parse::<Address>().ok(),
        ..Dependencies::default()
    };
    let cached = live.cached(&dependencies).await;
    let fresh = live.fresh(&dependencies).await.unwrap();
    [cached, fresh].map(|snapshot| snapshot.parent().cloned())
}

#[tokio::test]
async fn a_reservation_of_an_ip_that_is_gone_has_no_owner() {
    assert_eq!(owners("gone", failure(404)).await, [None, None]);
    // No IP can have this name, and it reaches no path.
    assert_eq!(owners("../ipblocks", failure(403)).await, [None, None]);
    let unreadable = json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
        "metadata": {"name": "partner-a"}, "spec": "a text"});
    let owner = Some(Parent::Ip("partner-a".into()));
    for there in [(200, json!(partner_a())), (200, unreadable), failure(403)] {
        let seen = owners("partner-a", there.clone()).await;
        assert_eq!(seen, [owner.clone(), owner.clone()], "{there:?}");
    }
}

#[tokio::test]
async fn an_annotation_that_cannot_be_a_name_reaches_no_path() {
    for annotation in [
        "../ipblocks",
        "a/status",
        "a?watch=true",
        "..",
        ".",
        "-",
        "%2e",
        "A",
    ] {
        assert_eq!(
            read_for(annotation, None).await,
            (vec![], vec![]),
            "{annotation}"
        );
    }
}

#[tokio::test]
async fn a_fresh_read_of_all_ips_takes_pages_of_500() {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let more = uri.starts_with(IPS) && !uri.contains("continue=");
        let next = if more { "more" } else { "" };
        let list = json!({"metadata": {"continue": next}, "items": []});
        noted.lock().unwrap().push(uri);
        let answer = Response::new(Body::from(list.to_string().into_bytes()));
        std::future::ready(Ok::<_, std::convert::Infallible>(answer))
    });
    let live = KubeReader::new(Client::new(service, "default"), Caches::default());
    live.fresh(&Dependencies::default()).await.unwrap();
    let mut asked = std::mem::take(&mut *asked.lock().unwrap());
    asked.sort();
    let pages = asked.iter().filter(|uri| uri.starts_with(IPS)).count();
    assert_eq!((pages, asked.len()), (2, 3), "{asked:?}");
    assert!(
        asked.iter().all(|uri| uri.contains("limit=500")),
        "{asked:?}"
    );
}
