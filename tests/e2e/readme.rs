//! Runs the commands of the README and of docs/: install with cert-manager or without it, apply the example, uninstall
//! in order.

use std::path::Path;
use std::process::Stdio;

use mooring_cluster::{CertManager, control_plane_binary, repository};
use tokio::io::AsyncWriteExt as _;

use crate::harness::scene::{SOON, Scene};

scenes![
    alone the_commands_of_the_documentation_install_and_uninstall,
    alone without_cert_manager_the_commands_install_and_uninstall,
    shared the_example_of_the_readme_is_accepted,
];

pub const README: &str = "README.md";
pub const INSTALL: &str = "docs/install.md";
pub const OPERATE: &str = "docs/operate.md";
pub const AUTHORIZE_USE: &str = "docs/authorize-use.md";

pub fn page(path: &str) -> String {
    std::fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced code blocks in a language under a heading of a page, in order.
pub fn blocks(path: &str, heading: &str, language: &str) -> Vec<String> {
    let text = page(path);
    let (_, section) = text
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("{path} has no heading {heading}"));
    let section = section.split("\n## ").next().unwrap_or(section);
    let fence = format!("```{language}\n");
    section
        .split(&fence)
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or(block).to_owned())
        .collect()
}

/// Runs lines in a shell in the repository, as a user does. The first line that fails ends it.
pub async fn shell(scene: &Scene, lines: &str) -> std::process::Output {
    let kubectl = control_plane_binary("kubernetes", "kubectl");
    let path = format!(
        "{}:{}",
        kubectl.parent().expect("it has a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = tokio::process::Command::new("sh")
        .arg("-eu")
        .env("PATH", path)
        .env("KUBECONFIG", scene.cluster().kubeconfig())
        .current_dir(repository())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut stdin = shell.stdin.take().expect("it reads");
    stdin.write_all(lines.as_bytes()).await.unwrap();
    drop(stdin);
    shell.wait_with_output().await.unwrap()
}

/// The arguments of a kubectl line of a page. Folders are relative to the repository.
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

/// Runs each line of a block that has only kubectl commands.
async fn run(scene: &Scene, block: &str) {
    for line in block.lines() {
        scene.cluster().kubectl(arguments(line)).await.success();
    }
}

async fn expect_installed(scene: &Scene, there: &[&str]) {
    for there in there {
        let get = ["get", "-n", "mooring-system", there];
        scene.cluster().kubectl(get).await.success();
    }
}

async fn expect_uninstalled(scene: &Scene) {
    for gone in [
        "crd/ips.ip.wgtwo.com",
        "crd/ipblocks.ip.wgtwo.com",
        "crd/ipnodes.ip.wgtwo.com",
        "namespace/mooring-system",
    ] {
        let stderr = scene.cluster().kubectl(["get", gone]).await.failure();
        assert!(stderr.contains("NotFound"), "{stderr}");
    }
}

async fn the_commands_of_the_documentation_install_and_uninstall(scene: &Scene) {
    let _cert_manager = CertManager::start(scene.cluster()).await;
    // The replicas run on this node.
    scene.node("a").await;
    let [install] = blocks(README, "## Install", "sh")
        .try_into()
        .expect("one block installs");
    run(scene, &install).await;
    let there = [
        "deployment/mooring",
        "service/mooring-webhook",
        "certificate/mooring-webhook",
    ];
    expect_installed(scene, &there).await;
    let [uninstall, _] = blocks(OPERATE, "## Uninstall", "sh")
        .try_into()
        .expect("one block uninstalls, one is for when that was not kept to");
    run(scene, &uninstall).await;
    expect_uninstalled(scene).await;
}

async fn without_cert_manager_the_commands_install_and_uninstall(scene: &Scene) {
    scene.node("a").await;
    let [install] = blocks(INSTALL, "## Without cert-manager", "sh")
        .try_into()
        .expect("one block installs");
    run(scene, &install).await;
    expect_installed(scene, &["deployment/mooring", "service/mooring-webhook"]).await;
    let [uninstall] = blocks(OPERATE, "## Uninstall without cert-manager", "sh")
        .try_into()
        .expect("one block uninstalls");
    run(scene, &uninstall).await;
    expect_uninstalled(scene).await;
}

async fn the_example_of_the_readme_is_accepted(scene: &Scene) {
    // A reader has to replace only the id of the subnet. The test also replaces names and addresses of cluster-scoped
    // objects.
    let [example] = blocks(README, "## First IP", "yaml")
        .try_into()
        .expect("one example");
    let mine = example
        .replace("subnet-0123456789abcdef0", &scene.subnet.id)
        .replace("203.0.113.0/24", &scene.subnet.cidr)
        .replace("203.0.113.128/25", &scene.address(200))
        .replace("203.0.113.10 ", &format!("{} ", scene.address(10)))
        .replace("partners", &scene.named("partners"))
        .replace("partner-a", &scene.named("partner-a"));
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{}.yaml", scene.named("first-ip")));
    std::fs::write(&file, &mine).unwrap();
    let ip = scene.named("partner-a");
    let [commands] = blocks(README, "## First IP", "sh")
        .try_into()
        .expect("one block of commands");
    let commands = commands
        .replace("first-ip.yaml", &file.display().to_string())
        .replace("partner-a", &ip);
    for line in commands.lines() {
        let namespace = ["-n".to_owned(), scene.name.clone()].into_iter();
        let arguments = namespace.chain(arguments(line)).collect::<Vec<_>>();
        scene.cluster().kubectl(arguments).await.success();
    }
    std::fs::remove_file(&file).unwrap();
    let reserved = scene.expect_condition("IP", &ip, "Reserved", "True");
    reserved.await;
    // In an order in which nothing is refused: a block can be deleted only when it has no IP.
    let block = scene.named("partners");
    for object in [
        ["deployment", "gateway"],
        ["ips.ip.wgtwo.com", &ip],
        ["ipblocks.ip.wgtwo.com", &block],
    ] {
        let delete = ["-n", scene.name.as_str(), "delete", "--timeout=30s"];
        // On a busy machine the webhook can ask for a retry.
        scene
            .eventually("it is deleted", SOON, async || {
                let arguments = delete.into_iter().chain(object);
                let output = scene.cluster().kubectl(arguments).await;
                if output.ok {
                    Ok(())
                } else {
                    Err(output.stderr)
                }
            })
            .await;
    }
}
