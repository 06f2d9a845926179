//! `mooring echo`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args as ClapArgs;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::signals::signals;
use crate::supervise::BoxError;
use crate::telemetry::{self, LogFormat, chain};

/// The most connections that are answered at the same time. Others wait.
const TOGETHER: usize = 256;
/// Time limit for sending an answer.
const SENDING: Duration = Duration::from_secs(3);
/// Wait after a failed accept, which is most often caused by too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The flags of `mooring echo`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Address to listen on
    #[arg(long, env = "MOORING_LISTEN", default_value = "0.0.0.0:7000")]
    listen: SocketAddr,
    /// Format of the log
    #[arg(long, env = "MOORING_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

/// Serves until a signal arrives.
pub fn run(Args { listen, log_format }: Args) -> Result<(), BoxError> {
    telemetry::init(log_format)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let signals = signals()?;
            let listener = TcpListener::bind(listen).await?;
            tracing::info!(address = %listener.local_addr()?, "answering with source addresses");
            serve(listener, signals, TOGETHER).await;
            Ok(())
        })
}

/// Answers each connection with its source address until a signal arrives. Then it finishes the answers that are being
/// sent.
async fn serve(listener: TcpListener, mut signals: mpsc::Receiver<&'static str>, together: usize) {
    let free = Arc::new(Semaphore::new(together));
    let mut answers = JoinSet::new();
    let signal = loop {
        let accepted = async {
            // The semaphore is never closed, so this is always `Some`.
            let permit = Arc::clone(&free).acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        tokio::select! {
            signal = signals.recv() => break signal,
            // Remove the tasks that have ended.
            Some(_) = answers.join_next() => {}
            (permit, accepted) = accepted => match accepted {
                Ok((stream, from)) => {
                    answers.spawn(async move {
                        answer(stream, from).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(error = chain(&error), "a connection was not accepted");
                    sleep(PAUSE).await;
                }
            },
        }
    };
    tracing::info!(signal, "ending");
    drop(listener);
    while answers.join_next().await.is_some() {}
}

async fn answer(mut stream: TcpStream, from: SocketAddr) {
    let answer = format!("{}\n", from.ip().to_canonical());
    let sent = timeout(SENDING, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    });
    match sent.await {
        Ok(Ok(())) => tracing::debug!(%from, "answered"),
        Ok(Err(error)) => tracing::debug!(%from, error = chain(&error), "not answered"),
        Err(_) => tracing::debug!(%from, "not answered in time"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    async fn ask(address: SocketAddr) -> String {
        let mut answer = String::new();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn every_connection_is_answered_with_its_address_and_closed() {
        let (listener, address) = listener().await;
        let (_sender, signals) = mpsc::channel(1);
        tokio::spawn(serve(listener, signals, 1));
        // More connections than are answered at the same time.
        let asking: Vec<_> = (0..20).map(|_| tokio::spawn(ask(address))).collect();
        for answer in asking {
            assert_eq!(answer.await.unwrap(), "127.0.0.1\n");
        }
    }

    #[tokio::test]
    async fn a_signal_ends_it() {
        let (listener, address) = listener().await;
        let (sender, signals) = mpsc::channel(1);
        let serving = tokio::spawn(serve(listener, signals, 1));
        assert_eq!(ask(address).await, "127.0.0.1\n");
        sender.send("SIGTERM").await.unwrap();
        serving.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
