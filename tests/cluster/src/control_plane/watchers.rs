//! The clients of the API server: the controllers, the scheduler, and KWOK, which simulates the kubelets.

use std::path::{Path, PathBuf};

use super::{ControlPlane, KWOK, Started, flag, kubeconfig, write};
use crate::cluster::ClusterOptions;
use crate::paths::{control_plane_binary, repository};
use crate::process::Process;

/// The controllers that tests need. Others would only take CPU time.
const CONTROLLERS: &[&str] = &[
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",
];

impl Started {
    /// Starts the clients that watch the API server. The CRDs of Mooring must exist before, because the garbage
    /// collector looks for new kinds only twice a minute.
    pub(crate) fn finish(self, folder: &Path, options: &ClusterOptions) -> ControlPlane {
        let logs = folder.join("logs");
        let Self {
            etcd,
            api_server,
            url,
            authority,
            token_key,
        } = self;
        let config = |name: &str, token: &str| {
            write(
                folder,
                &format!("{name}.kubeconfig"),
                &kubeconfig(&url, &authority, token).to_string(),
            )
        };
        let authority_file = write(folder, "ca.crt", &authority);
        let controllers = Process::start(
            "kube-controller-manager",
            &control_plane_binary("kubernetes", "kube-controller-manager"),
            &[
                flag(
                    "kubeconfig",
                    config("controllers", "controllers-token").display(),
                ),
                flag("controllers", CONTROLLERS.join(",")),
                "--use-service-account-credentials".to_owned(),
                flag("service-account-private-key-file", token_key.display()),
                flag("root-ca-file", authority_file.display()),
                flag("leader-elect", false),
                flag("secure-port", 0),
                flag(
                    "node-monitor-grace-period",
                    format!("{}s", options.node_grace.as_secs()),
                ),
                flag("node-monitor-period", "2s"),
                // Parallel scenes share a zone: failed nodes of one must not delay the pods of another,
                // ten seconds a node, nor count as the loss of the zone, which evicts no pod.
                flag("node-eviction-rate", 10),
                flag("unhealthy-zone-threshold", 1),
            ],
            &options.environment(),
            &logs,
        );
        let scheduler = Process::start(
            "kube-scheduler",
            &control_plane_binary("kubernetes", "kube-scheduler"),
            &[
                flag(
                    "kubeconfig",
                    config("scheduler", "scheduler-token").display(),
                ),
                flag("leader-elect", false),
                flag("secure-port", 0),
            ],
            &options.environment(),
            &logs,
        );
        let mut arguments = vec![
            flag(
                "kubeconfig",
                config(KWOK, &format!("{KWOK}-token")).display(),
            ),
            "--manage-all-nodes".to_owned(),
            // KWOK simulates a kubelet until its Lease has expired. Only after that the node counts as failed.
            flag(
                "node-lease-duration-seconds",
                (options.node_grace.as_secs() / 2).max(1),
            ),
            flag("cidr", &options.pod_cidr),
            flag("node-ip", "127.0.0.1"),
        ];
        let mut stages: Vec<PathBuf> =
            std::fs::read_dir(repository().join("tests/control-plane/stages"))
                .expect("the stages lie in the repository")
                .map(|entry| entry.expect("a folder can be read").path())
                .collect();
        stages.sort();
        arguments.extend(stages.iter().map(|stage| flag("config", stage.display())));
        let kwok = Process::start(
            "kwok",
            &control_plane_binary("kubernetes", "kwok"),
            &arguments,
            &options.environment(),
            &logs,
        );
        ControlPlane {
            kwok,
            scheduler,
            controllers,
            api_server,
            etcd,
            url,
            authority,
        }
    }
}
