//! The README's commands do what it says: install beside cert-manager, apply the example, uninstall in order.

use std::path::Path;

use mooring_cluster::{CertManager, repository};

use crate::scene::Scene;

scenes![
    alone the_readmes_commands_install_and_uninstall,
    shared the_readmes_example_is_accepted,
];

fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).expect("there is a README")
}

/// The fenced blocks of a language under a heading, in order.
pub fn blocks(heading: &str, language: &str) -> Vec<String> {
    let text = readme();
    let (_, section) = text
        .split_once(heading)
        .expect("the README has the heading");
    let section = section.split("\n## ").next().unwrap_or(section);
    let fence = format!("```{language}\n");
    section
        .split(&fence)
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or(block).to_owned())
        .collect()
}

/// A kubectl line of the README as arguments; a folder is one of the repository.
pub fn arguments(line: &str) -> Vec<String> {
    let words = line
        .strip_prefix("kubectl ")
        .unwrap_or_else(|| panic!("not a kubectl command: {line}"));
    let absolute = |word: &str| {
        let path = repository().join(word);
        if Path::new(word).components().count() > 0 && path.is_dir() {
            path.display().to_string()
        } else {
            word.to_owned()
        }
    };
    words.split_whitespace().map(absolute).collect()
}

async fn the_readmes_commands_install_and_uninstall(scene: &Scene) {
    let _cert_manager = CertManager::start(scene.cluster()).await;
    let blocks = blocks("## Install", "sh");
    let [install, uninstall] = blocks.as_slice() else {
        panic!("one block installs and one uninstalls: {blocks:?}");
    };
    for line in install.lines() {
        scene.cluster().kubectl(arguments(line)).await.success();
    }
    for there in [
        "deployment/mooring",
        "service/mooring-webhook",
        "certificate/mooring-webhook",
    ] {
        let get = ["get", "-n", "mooring-system", there];
        scene.cluster().kubectl(get).await.success();
    }
    for line in uninstall.lines() {
        scene.cluster().kubectl(arguments(line)).await.success();
    }
    for gone in [
        "crd/ips.ip.wgtwo.com",
        "crd/ipblocks.ip.wgtwo.com",
        "namespace/mooring-system",
    ] {
        scene.cluster().kubectl(["get", gone]).await.failure();
    }
}

async fn the_readmes_example_is_accepted(scene: &Scene) {
    // The subnet's id is the only thing in it that a reader has to replace; the Deployment goes elsewhere.
    let [example] = blocks("## The objects", "yaml")
        .try_into()
        .expect("one example");
    let mine = example
        .replace("subnet-0123456789abcdef0", &scene.subnet.id)
        .replace("203.0.113.0/24", &scene.subnet.cidr)
        .replace("203.0.113.128/25", &scene.address(200))
        .replace("203.0.113.10 ", &format!("{} ", scene.address(10)))
        .replace("partners", &scene.named("partners"))
        .replace("partner-a", &scene.named("partner-a"));
    let namespace = ["-n", scene.name.as_str(), "apply", "-f", "-"];
    scene
        .cluster()
        .kubectl_with(namespace, &mine)
        .await
        .success();
    let ip = scene.named("partner-a");
    let reserved = [
        "wait",
        "--for=condition=Reserved",
        "--timeout=30s",
        "ips.ip.wgtwo.com",
        &ip,
    ];
    scene.cluster().kubectl(reserved).await.success();
    // In the order in which nothing is refused: a block goes when no IP lies in it.
    let block = scene.named("partners");
    for object in [
        ["deployment", "gateway"],
        ["ips.ip.wgtwo.com", &ip],
        ["ipblocks.ip.wgtwo.com", &block],
    ] {
        let delete = ["-n", scene.name.as_str(), "delete", "--timeout=30s"];
        let arguments = delete.into_iter().chain(object);
        scene.cluster().kubectl(arguments).await.success();
    }
}
