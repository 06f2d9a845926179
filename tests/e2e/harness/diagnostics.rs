//! Collects the state that a developer needs when a scene has failed.

use std::fmt::Write as _;

use mooring_cluster::AuditEvent;

use crate::harness::scene::Scene;

impl Scene {
    /// The objects and Events of the scene, the calls of EC2 with its addresses, the end of the log of Mooring, and
    /// the writes of other clients.
    pub async fn diagnostics(&self) -> String {
        let mut text = String::new();
        let ips = self.ips.lock().unwrap().join(" ");
        let blocks = self.blocks.lock().unwrap().join(" ");
        let nodes = self.nodes.lock().unwrap().join(" ");
        for (kind, names) in [("ips", &ips), ("ipblocks", &blocks), ("nodes", &nodes)] {
            if !names.is_empty() {
                self.show(
                    &mut text,
                    &format!("get {kind} {names} -o wide --ignore-not-found"),
                )
                .await;
            }
        }
        if !ips.is_empty() {
            self.show(
                &mut text,
                &format!("get ips {ips} -o yaml --ignore-not-found"),
            )
            .await;
        }
        self.show(&mut text, "get pods -o wide").await;
        self.show(&mut text, "get pods -o json-as-conditions").await;
        let mut lines: Vec<(String, String)> = Vec::new();
        for event in self.events().await {
            let object = event["involvedObject"]["name"].as_str().unwrap_or_default();
            if event["metadata"]["namespace"] == self.name.as_str()
                || object.starts_with(&self.name)
            {
                let time = event["lastTimestamp"]
                    .as_str()
                    .or(event["eventTime"].as_str());
                lines.push((
                    time.unwrap_or_default().to_owned(),
                    format!("{} {object}: {}", event["reason"], event["message"]),
                ));
            }
        }
        lines.sort();
        let _ = writeln!(text, "--- events");
        for (time, line) in lines {
            let _ = writeln!(text, "{time} {line}");
        }
        let _ = writeln!(text, "--- EC2: calls with the addresses of the scene");
        for mutation in self.mutations().await {
            let _ = writeln!(text, "{mutation:?}");
        }
        for mooring in self.test_cluster.replicas.lock().await.iter() {
            let log = mooring.log();
            let of_scene: Vec<&str> = log
                .lines()
                .filter(|line| {
                    line.contains(&self.name) || line.contains("ERROR") || line.contains("panicked")
                })
                .collect();
            let _ = writeln!(
                text,
                "--- {}: the last lines of this scene",
                mooring.process().log_path().display()
            );
            for line in &of_scene[of_scene.len().saturating_sub(50)..] {
                let _ = writeln!(text, "{line}");
            }
        }
        let _ = writeln!(text, "--- the last writes of other clients (audit log)");
        for event in self.writes_of_others() {
            let _ = writeln!(text, "{event}");
        }
        let _ = writeln!(
            text,
            "--- logs and audit log: {}",
            self.cluster().folder().display()
        );
        text
    }

    /// The writes of other clients, such as the deletion of a pod: one line each.
    fn writes_of_others(&self) -> Vec<String> {
        let mut events = self.audit();
        events.retain(|event| {
            let renewal = event.user == "kwok" && event.resource == "leases";
            event.is_write() && !event.by_mooring() && !renewal && event.resource != "events"
        });
        let last = events.iter().skip(events.len().saturating_sub(25));
        last.map(line).collect()
    }

    async fn show(&self, text: &mut String, arguments: &str) {
        if arguments.ends_with("json-as-conditions") {
            for pod in self.list("Pod").await {
                let _ = writeln!(
                    text,
                    "{}: {} {}",
                    pod["metadata"]["name"],
                    pod["metadata"]["annotations"],
                    pod["status"]["conditions"]
                );
            }
            return;
        }
        let output = self.kubectl(arguments).await;
        let _ = writeln!(
            text,
            "--- kubectl {arguments}\n{}{}",
            output.stdout, output.stderr
        );
    }
}

fn line(event: &AuditEvent) -> String {
    let sent: String = event.request.to_string().chars().take(300).collect();
    let who = event.user.rsplit(':').next().unwrap_or_default();
    let (time, verb, what) = (event.answered, &event.verb, &event.resource);
    format!(
        "{time} {who} {verb} {what} {} {} {sent}",
        event.name, event.subresource
    )
}
