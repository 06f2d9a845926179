//! Every file belongs to a kustomization, and kustomize builds what users apply, also with components.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use mooring_cluster::control_plane_binary;

use crate::files::{documents, files, root};
use crate::fit::help_of_run;

#[test]
fn every_file_parses_and_belongs_to_a_kustomization() {
    let mut listed = BTreeSet::new();
    for file in files() {
        for document in documents(&file) {
            for field in ["apiVersion", "kind"] {
                assert!(
                    document.get(field).is_some(),
                    "{} has no {field}",
                    file.display()
                );
            }
        }
        if file
            .file_name()
            .is_some_and(|name| name == "kustomization.yaml")
        {
            let folder = file.parent().unwrap();
            let [kustomization] = documents(&file).try_into().unwrap();
            for resource in kustomization["resources"].as_sequence().unwrap() {
                let path = folder.join(resource.as_str().unwrap());
                let path = path.canonicalize();
                let path = path
                    .unwrap_or_else(|error| panic!("{}: {resource:?}: {error}", file.display()));
                listed.insert(if path.is_dir() {
                    path.join("kustomization.yaml")
                } else {
                    path
                });
            }
        }
    }
    for file in files() {
        let root = file
            .file_name()
            .is_some_and(|name| name == "kustomization.yaml");
        assert!(
            root || listed.contains(&file),
            "no kustomization names {}",
            file.display()
        );
    }
}

#[test]
fn kustomize_builds_what_users_apply() {
    for folder in [
        "config/crd",
        "config/default",
        "config/node",
        "config/samples",
        "config/self-managed",
        "webhook-certs",
    ] {
        let text = built(&root().join(folder), folder);
        if folder == "config/default" {
            assert!(
                !text.contains("kind: CustomResourceDefinition"),
                "the definitions are applied apart"
            );
            assert!(
                text.contains("kind: ValidatingWebhookConfiguration"),
                "{text}"
            );
        }
        if folder == "config/self-managed" {
            assert!(text.contains("- --tls=self-managed"), "{text}");
            for others in ["cert-manager.io", "mooring-webhook-tls"] {
                assert!(!text.contains(others), "{others} is of no use here");
            }
        }
    }
}

/// The output of kustomize for a folder of `config`, with components.
pub fn built_with(components: &[&str], folder: &str) -> String {
    // Bases have paths relative to this folder. kustomize also reads bases outside of its root.
    let path = root()
        .join(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{folder}-with-{}", components.join("-")));
    std::fs::create_dir_all(&path).unwrap();
    let up: String = path.components().skip(1).map(|_| "../").collect();
    let config = format!(
        "{}{}",
        up.trim_end_matches('/'),
        root().join("config").display()
    );
    let components = components
        .iter()
        .map(|component| format!("{config}/{component}"));
    let components = components.collect::<Vec<_>>().join(", ");
    let kustomization = format!("resources: [{config}/{folder}]\ncomponents: [{components}]\n");
    std::fs::write(path.join("kustomization.yaml"), kustomization).unwrap();
    built(&path, folder)
}

/// The output of kustomize for the folder at `path`, which a failure calls `name`.
fn built(path: &Path, name: &str) -> String {
    let kubectl = control_plane_binary("kubernetes", "kubectl");
    let built = Command::new(&kubectl)
        .arg("kustomize")
        .arg(path)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    String::from_utf8(built.stdout).unwrap()
}

#[test]
fn the_right_to_use_an_ip_can_be_checked_with_either_certificate() {
    assert!(help_of_run().contains("--authorize-use\n"));
    for folder in ["default", "self-managed"] {
        let built = built_with(&["authorize-use"], folder);
        for part in [
            "- --authorize-use\n",
            "- subjectaccessreviews\n",
            "name: mooring-authorize-use\n",
        ] {
            assert!(built.contains(part), "{folder}: {part}");
        }
    }
}
