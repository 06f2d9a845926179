//! The HTTP entry: a request of a client passes the gate and is executed.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use tokio::sync::oneshot;

use super::ApiServer;
use super::gate::Fate;
use super::refusal::Refusal;
use super::request::Request;
use super::state::Answer;
use super::watch::Watch;

type Sent = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Handles a request. The gate decides whether it is answered.
pub(super) async fn serve(
    server: ApiServer,
    user: String,
    read_timeout: Duration,
    request: http::Request<Body>,
) -> io::Result<Sent> {
    let (parts, body) = request.into_parts();
    let body = body.collect_bytes().await.map_err(io::Error::other)?;
    let Some(request) = Request::parse(&user, &parts, &body) else {
        return Ok(sent(&server, Refusal::nowhere().into(), read_timeout));
    };
    let handled = handle(&server, request, read_timeout);
    tokio::time::timeout(read_timeout, handled)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn handle(server: &ApiServer, request: Request, read_timeout: Duration) -> io::Result<Sent> {
    let (request, fate) = server.arrive(request);
    let sequence = request.info.sequence;
    let refused = |code| Answer::from(Refusal::new(code, "the request was made to fail"));
    let answer = match fate {
        Fate::Serve => server.execute(&request),
        Fate::ServeAfter(delay) => {
            let (sender, executed) = oneshot::channel();
            let server = server.clone();
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                // It is executed also if its sender has stopped waiting.
                let _ = sender.send(server.execute(&request));
            });
            executed.await.map_err(io::Error::other)?
        }
        Fate::AnswerAfter(delay) => {
            let answer = server.execute(&request);
            tokio::time::sleep(delay).await;
            answer
        }
        Fate::Fail(code) => refused(code),
        Fate::FailAfterCommit(code) => {
            server.execute(&request);
            refused(code)
        }
        Fate::LoseAnswer => {
            server.execute(&request);
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Fate::LoseRequest => return Err(io::ErrorKind::ConnectionReset.into()),
        Fate::Hang => std::future::pending().await,
    };
    server.answered(sequence);
    Ok(sent(server, answer, read_timeout))
}

fn sent(server: &ApiServer, answer: Answer, read_timeout: Duration) -> Sent {
    let (code, body) = match answer {
        Answer::Text { code, text } => {
            let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
            (code, body.boxed_unsync())
        }
        Answer::Watch(start) => {
            let watch = Watch::new(server, start, read_timeout);
            let events = futures::stream::unfold(watch, async |mut watch| {
                let next = watch.next().await?;
                Some((next.map(http_body::Frame::data), watch))
            });
            (200, StreamBody::new(events).boxed_unsync())
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}
