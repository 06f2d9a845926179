//! The server of moto, in a separate process.

use std::env;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::sleep;

/// Long, because moto imports many Python modules.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// The process. It is ended when this value is dropped, by its process id.
pub struct Moto {
    pub endpoint: String,
    _process: Child,
}

/// The path of the server of moto. If it is missing, the panic says how to install it.
fn server() -> PathBuf {
    if let Some(path) = env::var_os("MOTO_SERVER") {
        return PathBuf::from(path);
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = workspace.join("target/moto/bin/moto_server");
    assert!(
        path.exists(),
        "moto's server is not installed. Either set MOTO_SERVER to a moto_server, or say, in the \
         workspace: python3 -m venv target/moto && \
         target/moto/bin/pip install -r tests/ec2-emulator/moto/requirements.txt"
    );
    path
}

/// Starts the server on a free port and waits until it answers.
pub async fn moto() -> Moto {
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let server = server();
    let mut process = Command::new(&server)
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", server.display()));
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        if let Some(status) = process.try_wait().unwrap() {
            panic!("{} ended before it answered: {status}", server.display());
        }
        assert!(
            begun.elapsed() < STARTS_WITHIN,
            "{} does not answer on port {port} after {STARTS_WITHIN:?}",
            server.display()
        );
        sleep(Duration::from_millis(50)).await;
    }
    Moto {
        endpoint: format!("http://127.0.0.1:{port}"),
        _process: process,
    }
}
