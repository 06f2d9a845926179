//! The expectations of a scene. Each waits until it is true; a failure shows the last state.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use mooring_cluster::{Pauses, Probe, report_if_close};
use serde_json::Value;

use crate::harness::scene::{Ip, SOON, Scene};

/// The condition of the readiness gate.
pub const GATE: &str = "ip.wgtwo.com/attached";

/// The status, reason and message of a condition of an object.
pub fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let all = object["status"]["conditions"].as_array()?;
    let condition = all.iter().find(|condition| condition["type"] == kind)?;
    let text = |key: &str| condition[key].as_str().unwrap_or_default();
    Some((text("status"), text("reason"), text("message")))
}

impl Scene {
    /// Waits until `look` finds what `sentence` says. The diagnostics are added at the end of the scene.
    pub async fn eventually<P: Probe>(
        &self,
        sentence: &str,
        limit: Duration,
        mut look: impl AsyncFnMut() -> P,
    ) -> P::Value {
        let (begin, mut pauses) = (std::time::Instant::now(), Pauses::start());
        loop {
            match look().await.outcome() {
                Ok(value) => {
                    report_if_close(sentence, begin.elapsed(), limit);
                    return value;
                }
                Err(seen) if begin.elapsed() >= limit => {
                    panic!("not within {limit:?}: {sentence}\nlast seen: {seen}")
                }
                Err(_) => pauses.next().await,
            }
        }
    }

    /// Checks that `look` finds what `sentence` says during the whole period, for example until the next inventory
    /// or during a grace period.
    pub async fn remains<P: Probe>(
        &self,
        sentence: &str,
        period: Duration,
        mut look: impl AsyncFnMut() -> P,
    ) {
        let (begin, mut pauses) = (std::time::Instant::now(), Pauses::start());
        while begin.elapsed() < period {
            if let Err(seen) = look().await.outcome() {
                panic!(
                    "no longer after {:?}: {sentence}\nseen: {seen}",
                    begin.elapsed()
                );
            }
            pauses.next().await;
        }
    }

    /// The IP names this pod as its holder, EC2 has the address on the interface that the IP names, and the gate of
    /// the pod is `True`. Returns the IP.
    pub async fn expect_attached(&self, ip: &Ip, pod: &str) -> Value {
        self.expect_attached_within(ip, pod, SOON).await
    }

    /// The same as [`Scene::expect_attached`], with another time limit.
    pub async fn expect_attached_within(&self, ip: &Ip, pod: &str, limit: Duration) -> Value {
        let sentence = format!("{} ({}) is attached to pod {pod}", ip.name, ip.address);
        let attached = self
            .eventually(&sentence, limit, async || self.attached(ip, pod).await)
            .await;
        self.attached.store(true, Ordering::Relaxed);
        attached
    }

    /// The IP, if it is completely attached to this pod; else what is missing.
    pub async fn attached(&self, ip: &Ip, pod: &str) -> Result<Value, String> {
        let object = self.get("IP", &ip.name).await.ok_or("no such IP")?;
        let status = &object["status"];
        let holder = format!("{}/{pod}", self.name);
        if status["pod"] != holder.as_str() || status["assigned"] != true {
            let waiting = self.get("Pod", pod).await;
            let gate = waiting.as_ref().and_then(|pod| condition(pod, GATE));
            return Err(format!(
                "the gate of {pod} is {gate:?}, the status of the IP is {status}"
            ));
        }
        if condition(&object, "Attached").map(|found| found.0) != Some("True") {
            return Err(format!("Attached is not True: {}", status["conditions"]));
        }
        let address = status["address"].as_str().unwrap_or_default();
        let interface = self.ec2().address_on(address).await;
        if interface.as_deref() != status["networkInterfaceID"].as_str() {
            return Err(format!(
                "EC2 has {address} on {interface:?}, the status of the IP is {status}"
            ));
        }
        let object_of_pod = self.get("Pod", pod).await.ok_or("no such pod")?;
        if object_of_pod["metadata"]["uid"] != status["podUID"]
            || object_of_pod["spec"]["nodeName"] != status["node"]
        {
            return Err(format!("another pod or node: {status}"));
        }
        let gate = condition(&object_of_pod, GATE);
        if gate.map(|found| found.0) != Some("True") {
            return Err(format!("the pod's gate is {gate:?}"));
        }
        Ok(object)
    }

    /// No pod holds the IP, and its address is on no interface.
    pub async fn expect_detached(&self, ip: &Ip) {
        let sentence = format!("{} ({}) is detached", ip.name, ip.address);
        self.eventually(&sentence, SOON, async || {
            if let Some(interface) = self.ec2().address_on(&ip.address).await {
                return Err(format!("EC2 has it on {interface}"));
            }
            let Some(object) = self.get("IP", &ip.name).await else {
                return Ok(());
            };
            if object["status"]["claimed"] == true || object["status"]["assigned"] == true {
                return Err(format!("the status of the IP is {}", object["status"]));
            }
            Ok(())
        })
        .await;
    }

    /// The IP is gone, its address is on no interface, and the reservation is gone.
    pub async fn expect_gone(&self, ip: &Ip) {
        let sentence = format!("{} ({}) is gone", ip.name, ip.address);
        self.eventually(&sentence, SOON, async || {
            if let Some(object) = self.get("IP", &ip.name).await {
                return Err(format!("the IP exists: {}", object["status"]));
            }
            if let Some(interface) = self.ec2().address_on(&ip.address).await {
                return Err(format!("EC2 has the address on {interface}"));
            }
            match self.get("IPAddress", &ip.address).await {
                Some(reservation) => Err(format!("the reservation exists: {reservation}")),
                None => Ok(()),
            }
        })
        .await;
    }

    /// A condition of an object has this status. Returns its reason and message.
    pub async fn expect_condition(
        &self,
        kind: &str,
        name: &str,
        condition: &str,
        status: &str,
    ) -> (String, String) {
        let sentence = format!("{kind} {name} has {condition}={status}");
        self.eventually(&sentence, SOON, async || {
            let object = self.get(kind, name).await.ok_or("no such object")?;
            match self::condition(&object, condition) {
                Some((found, reason, message)) if found == status => {
                    Ok((reason.to_owned(), message.to_owned()))
                }
                other => Err(format!("{other:?}")),
            }
        })
        .await
    }

    /// A condition of an object has this status and this reason. Returns its message.
    pub async fn expect_reason(
        &self,
        kind: &str,
        name: &str,
        condition: &str,
        status: &str,
        reason: &str,
    ) -> String {
        let sentence = format!("{kind} {name} has {condition}={status}, {reason}");
        self.eventually(&sentence, SOON, async || {
            let object = self.get(kind, name).await.ok_or("no such object")?;
            match self::condition(&object, condition) {
                Some((found, why, message)) if found == status && why == reason => {
                    Ok(message.to_owned())
                }
                other => Err(format!("{other:?}")),
            }
        })
        .await
    }

    /// The gate of the pod is `False` with this reason. Returns its message.
    pub async fn expect_gate_closed(&self, pod: &str, reason: &str) -> String {
        self.expect_reason("Pod", pod, GATE, "False", reason).await
    }

    /// There is an Event with this reason for this object (in the namespace of the scene, or an IP or a block).
    /// Returns its note.
    pub async fn expect_event(&self, reason: &str, object: &str) -> String {
        self.expect_event_within(reason, object, SOON).await
    }

    /// The same as [`Scene::expect_event`], with another time limit.
    pub async fn expect_event_within(&self, reason: &str, object: &str, limit: Duration) -> String {
        self.expect_event_naming(reason, object, &[], limit).await
    }

    /// There is an Event with this reason for the object whose message has all of these words. Returns its message.
    pub async fn expect_event_naming(
        &self,
        reason: &str,
        object: &str,
        words: &[&str],
        limit: Duration,
    ) -> String {
        let sentence = format!("an Event {reason} of {object} that names {words:?}");
        self.eventually(&sentence, limit, async || {
            let events = self.events_of(object).await;
            let found = events.iter().find_map(|event| {
                let message = event["message"].as_str().unwrap_or_default();
                let named = words.iter().all(|word| message.contains(word));
                (named && event["reason"] == reason).then(|| message.to_owned())
            });
            let seen = events
                .iter()
                .map(|event| format!("{}: {}", event["reason"], event["message"]));
            found.ok_or_else(|| seen.collect::<Vec<String>>().join("\n"))
        })
        .await
    }

    /// The Events of an object in the namespace of the scene, or of a cluster-scoped object.
    async fn events_of(&self, object: &str) -> Vec<Value> {
        let of_object = ListParams::default().fields(&format!("involvedObject.name={object}"));
        self.events_with(&of_object).await
    }

    /// The Events of the namespace of the scene, and of cluster-scoped objects (they are in `default`).
    pub async fn events(&self) -> Vec<Value> {
        self.events_with(&ListParams::default()).await
    }

    async fn events_with(&self, selected: &ListParams) -> Vec<Value> {
        let mut events = Vec::new();
        for namespace in [&self.name, "default"] {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event"));
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client.clone(), namespace, &resource);
            let list = api.list(selected).await.expect("Events can be listed");
            events.extend(
                list.items
                    .into_iter()
                    .map(|event| serde_json::to_value(event).expect("JSON")),
            );
        }
        events
    }

    /// The pod is Ready.
    pub async fn expect_pod_ready(&self, pod: &str) {
        self.expect_condition("Pod", pod, "Ready", "True").await;
    }

    /// The object of the pod is gone.
    pub async fn expect_pod_gone(&self, pod: &str) {
        self.eventually(&format!("pod {pod} is gone"), SOON, async || {
            self.get("Pod", pod).await.is_none()
        })
        .await;
    }

    /// The node has the label of this block.
    pub async fn expect_labelled(&self, node: &str, block: &str) {
        let label = format!("ip.wgtwo.com.node-restriction.kubernetes.io/{block}");
        self.eventually(
            &format!("node {node} is labelled {label}"),
            SOON,
            async || {
                let node = self.get("Node", node).await.ok_or("no such node")?;
                let labels = &node["metadata"]["labels"];
                if labels.get(&label).is_some() {
                    Ok(())
                } else {
                    Err(labels.to_string())
                }
            },
        )
        .await;
    }
}
