//! etcd and the API server.

use std::path::{Path, PathBuf};

use super::{ADMIN, KWOK, Started, client, flag, kubeconfig, wait, wait_until_ready, write};
use crate::cluster::ClusterOptions;
use crate::paths::{control_plane_binary, repository};
use crate::pki::{Authority, token_key};
use crate::ports::free_port;
use crate::process::Process;

/// Starts etcd and the API server, and waits until the API server answers.
pub(crate) async fn start(folder: &Path, options: &ClusterOptions) -> Started {
    let logs = folder.join("logs");
    let file = |name: &str, content: &str| write(folder, name, content);
    let (etcd, etcd_url) = start_etcd(folder, options).await;
    let authority = Authority::new("mooring test cluster");
    let serving = authority.leaf(&["127.0.0.1", "localhost", "kubernetes.default.svc"]);
    let (private, public) = token_key();
    let token_key = file("token.key", &private);
    let port = free_port();
    let url = format!("https://127.0.0.1:{port}");
    let tokens = format!(
        "{ADMIN},admin,admin,system:masters\n{KWOK}-token,{KWOK},{KWOK},system:masters\n\
         scheduler-token,system:kube-scheduler,scheduler\n\
         controllers-token,system:kube-controller-manager,controllers\n"
    );
    let files = Files {
        certificate: file("apiserver.crt", &serving.certificate),
        key: file("apiserver.key", &serving.key),
        token_public: file("token.pub", &public),
        token_private: token_key.clone(),
        tokens: file("tokens.csv", &tokens),
    };
    let mut arguments = flags(folder, &etcd_url, port, &files);
    arguments.extend(options.api_server_flags.iter().cloned());
    let api_server = Process::start(
        "kube-apiserver",
        &control_plane_binary("kubernetes", "kube-apiserver"),
        &arguments,
        &options.environment(),
        &logs,
    );
    let authority = authority.certificate();
    file(
        "kubeconfig",
        &kubeconfig(&url, &authority, ADMIN).to_string(),
    );

    let client = client(&folder.join("kubeconfig")).await;
    wait_until_ready(&api_server, &client).await;
    Started {
        etcd,
        api_server,
        url,
        authority,
        token_key,
    }
}

/// Files that the API server reads.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    token_public: PathBuf,
    token_private: PathBuf,
    tokens: PathBuf,
}

fn flags(folder: &Path, etcd_url: &str, port: u16, files: &Files) -> Vec<String> {
    vec![
        flag("etcd-servers", etcd_url),
        flag("bind-address", "127.0.0.1"),
        flag("advertise-address", "127.0.0.1"),
        flag("secure-port", port),
        flag("cert-dir", folder.join("apiserver").display()),
        flag("tls-cert-file", files.certificate.display()),
        flag("tls-private-key-file", files.key.display()),
        flag("service-cluster-ip-range", "10.0.0.0/24"),
        flag("service-account-issuer", "https://kubernetes.default.svc"),
        flag("service-account-key-file", files.token_public.display()),
        flag(
            "service-account-signing-key-file",
            files.token_private.display(),
        ),
        flag("token-auth-file", files.tokens.display()),
        flag("authorization-mode", "Node,RBAC"),
        flag("enable-admission-plugins", "NodeRestriction"),
        flag("endpoint-reconciler-type", "none"),
        flag(
            "audit-policy-file",
            repository()
                .join("tests/control-plane/audit-policy.yaml")
                .display(),
        ),
        flag("audit-log-path", folder.join("audit.log").display()),
        // One log file for the whole time of a test cluster.
        flag("audit-log-maxsize", 100_000),
    ]
}

/// Starts etcd, and waits until it serves: an API server that starts before panics in its compactor.
async fn start_etcd(folder: &Path, options: &ClusterOptions) -> (Process, String) {
    let logs = folder.join("logs");
    let etcd_port = free_port();
    let etcd_url = format!("http://127.0.0.1:{etcd_port}");
    let etcd = Process::start(
        "etcd",
        &control_plane_binary("kubernetes", "server"),
        &[
            flag("data-dir", folder.join("etcd").display()),
            "--unsafe-no-fsync".to_owned(),
            flag("listen-client-urls", &etcd_url),
            flag("advertise-client-urls", &etcd_url),
            flag(
                "listen-peer-urls",
                format!("http://127.0.0.1:{}", free_port()),
            ),
            "--log-level=warn".to_owned(),
        ],
        &options.environment(),
        &logs,
    );
    wait(&etcd, "etcd", async || {
        let answer = crate::http::http_get(&format!("{etcd_url}/health")).await?;
        if answer.code == 200 {
            Ok(())
        } else {
            Err(answer.body)
        }
    })
    .await;
    (etcd, etcd_url)
}
