//! Serves HTTP.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use super::call::Answer;
use super::{Emulator, control_api};

/// The wait after a failed accept, for example when no file descriptor is left.
const PAUSE: Duration = Duration::from_millis(50);

/// Marks an answer that must not be sent. The connection is closed instead.
#[derive(Debug, Clone, Copy)]
struct Close;

/// The error that closes the connection without an answer, for a fault.
#[derive(Debug, thiserror::Error)]
#[error("closed by a fault")]
struct Closed;

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener, emulator: Emulator) -> Infallible {
    let router = Router::new()
        .route("/", post(query))
        .merge(control_api::routes())
        .with_state(emulator);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    let served = connection(TokioIo::new(stream), router).await;
                    if let Err(error) = served {
                        tracing::debug!(%error, "a connection ended");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn connection<T>(io: TokioIo<T>, router: Router) -> Result<(), hyper::Error>
where
    TokioIo<T>: hyper::rt::Read + hyper::rt::Write + Unpin,
{
    let service = TowerToHyperService::new(router);
    // If the service fails, hyper closes the connection without a response. The fault needs that.
    let closing = service_fn(move |request: Request<Incoming>| {
        let answer = service.call(request);
        async move {
            match answer.await {
                Ok(answer) if answer.extensions().get::<Close>().is_some() => Err(Closed),
                Ok(answer) => Ok(answer),
                Err(never) => match never {},
            }
        }
    });
    http1::Builder::new().serve_connection(io, closing).await
}

/// The EC2 Query protocol.
async fn query(State(emulator): State<Emulator>, body: Bytes) -> Response<Body> {
    // A separate task: as in EC2, a call continues after its client has stopped waiting.
    let call = tokio::spawn(async move { emulator.call(&body).await });
    match call.await {
        Ok(Answer::Xml { status, body }) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let content_type = [(header::CONTENT_TYPE, "text/xml;charset=UTF-8")];
            (status, content_type, body).into_response()
        }
        Ok(Answer::Closed) => {
            let mut answer = StatusCode::NO_CONTENT.into_response();
            answer.extensions_mut().insert(Close);
            answer
        }
        Err(error) => {
            tracing::error!(%error, "a call has failed in the emulator itself");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
