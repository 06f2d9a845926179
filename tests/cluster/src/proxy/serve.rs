//! The HTTP server of the proxy: reads are forwarded, writes are recorded and affected by rules.

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::HeaderMap;
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::Shared;
use super::rule::{Copy, Fault, Release, RuleId};
use super::write::ProxiedWrite;

/// The error by which hyper closes the connection without an answer.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed by a rule, or by the API server")
    }
}

impl std::error::Error for Closed {}

pub(super) async fn serve(listener: TcpListener, upstream: kube::Client, shared: Shared) {
    // Connections end together with this task.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        // An error affects one connection only. Accept the next one.
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(connection(stream, upstream.clone(), shared.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, upstream: kube::Client, shared: Shared) {
    // Small writes must not wait for acknowledgements.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, upstream.clone(), shared.clone()));
    // The client or a rule has closed the connection. Both are expected.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    upstream: kube::Client,
    shared: Shared,
) -> Result<Response<Body>, Closed> {
    let (mut parts, body) = request.into_parts();
    end_to_end(&mut parts.headers);
    parts.headers.remove(HOST);
    parts.headers.remove(CONTENT_LENGTH);
    let body = body.collect().await.map_err(|_| Closed)?.to_bytes();
    let arrival = arrive(&parts, &body, &shared);
    let Some(arrival) = arrival else {
        return send(&upstream, &parts, &body).await;
    };
    // A separate task, so that the request continues after its client has stopped waiting.
    let task = tokio::spawn(async move {
        let exchange = Exchange {
            upstream,
            parts,
            body,
            shared,
            number: arrival.number,
        };
        exchange.run(arrival.strike).await
    });
    task.await.map_err(|_| Closed)?
}

/// A write has arrived.
struct Arrival {
    number: usize,
    strike: Option<Strike>,
}

/// A rule affects the write.
struct Strike {
    rule: RuleId,
    fault: Fault,
    released: watch::Receiver<Option<Release>>,
}

/// Records a write, and finds the rule for it; `None` if the request only reads.
fn arrive(parts: &Parts, body: &[u8], shared: &Shared) -> Option<Arrival> {
    let mut state = shared.lock();
    let write = ProxiedWrite::of(state.writes.len(), parts, body)?;
    let mut rules = state.rules.iter_mut();
    let strike = rules.find_map(|(rule, ordered)| {
        let fault = ordered.strikes(&write)?;
        Some(Strike {
            rule: *rule,
            fault,
            released: ordered.released(),
        })
    });
    let number = write.number;
    state.writes.push(write);
    Some(Arrival { number, strike })
}

/// A write in progress.
struct Exchange {
    upstream: kube::Client,
    parts: Parts,
    body: Bytes,
    shared: Shared,
    number: usize,
}

impl Exchange {
    async fn run(self, strike: Option<Strike>) -> Result<Response<Body>, Closed> {
        let Some(mut strike) = strike else {
            return self.carry_out().await;
        };
        let rule = strike.rule;
        match strike.fault {
            Fault::HoldBefore => {
                self.struck(rule);
                strike.go_on().await?;
                self.carry_out().await
            }
            Fault::HoldAfter => {
                let answer = self.carry_out().await?;
                self.struck(rule);
                strike.go_on().await?;
                Ok(answer)
            }
            Fault::LoseAnswer => {
                self.carry_out().await?;
                self.struck(rule);
                Err(Closed)
            }
            Fault::DelayAnswer(time) => {
                let answer = self.carry_out().await?;
                tokio::time::sleep(time).await;
                self.struck(rule);
                Ok(answer)
            }
            Fault::Twice(copy) => {
                let first = self.carry_out().await?;
                let second = self.carry_out().await?;
                self.struck(rule);
                Ok(match copy {
                    Copy::First => first,
                    Copy::Second => second,
                })
            }
            Fault::Refuse(code) => {
                self.struck(rule);
                Response::builder()
                    .status(code)
                    .body(Body::empty())
                    .map_err(|_| Closed)
            }
        }
    }

    /// Sends the request to the API server, and waits for the whole answer.
    async fn carry_out(&self) -> Result<Response<Body>, Closed> {
        let answer = send(&self.upstream, &self.parts, &self.body).await?;
        let (parts, body) = answer.into_parts();
        let body = body.collect_bytes().await.map_err(|_| Closed)?;
        let mut state = self.shared.lock();
        state.writes[self.number]
            .answers
            .push(parts.status.as_u16());
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    fn struck(&self, rule: RuleId) {
        let mut state = self.shared.lock();
        if let Some(ordered) = state.rules.get_mut(&rule) {
            ordered.struck.push(self.number);
        }
    }
}

impl Strike {
    /// Waits until the held request may continue.
    async fn go_on(&mut self) -> Result<(), Closed> {
        let released = self.released.wait_for(Option::is_some).await;
        match released.as_deref() {
            Ok(Some(Release::GoOn)) => Ok(()),
            _ => Err(Closed),
        }
    }
}

/// Sends one request to the API server, with the credentials of the client.
async fn send(
    upstream: &kube::Client,
    parts: &Parts,
    body: &Bytes,
) -> Result<Response<Body>, Closed> {
    let mut request = Request::builder()
        .method(parts.method.clone())
        .uri(parts.uri.clone())
        .body(Body::from(body.clone()))
        .map_err(|_| Closed)?;
    *request.headers_mut() = parts.headers.clone();
    let mut answer = upstream.send(request).await.map_err(|_| Closed)?;
    end_to_end(answer.headers_mut());
    Ok(answer)
}

/// Removes the hop-by-hop headers.
fn end_to_end(headers: &mut HeaderMap) {
    headers.remove(CONNECTION);
    headers.remove(TRANSFER_ENCODING);
}
