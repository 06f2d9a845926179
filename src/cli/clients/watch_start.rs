//! Limits the time until the answer to a request for a watch begins.
//! Rule: R1.22.

use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Request;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::client::Body;
use tower::Service;

use crate::supervise::BoxError;

/// The API server begins its answer at once. A watch that is silent is given up after 50 s, and its successor can get
/// another half-open connection from the pool.
const WATCH_START: Duration = Duration::from_secs(10);

/// A client that gives up a request for a watch whose answer does not begin in time. The list before a watch ends with
/// the connection (`READ_TIMEOUT`), and all other requests are limited by their callers.
#[derive(Clone, Debug)]
pub(super) struct WatchStart<S>(pub(super) S);

/// The answer did not begin in time.
#[derive(Debug, thiserror::Error)]
#[error("the answer to the request for a watch did not begin within {WATCH_START:?}")]
struct Late;

impl<S> Service<Request<Body>> for WatchStart<S>
where
    S: Service<Request<Body>>,
    S::Error: Into<BoxError>,
    S::Response: 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let watches = is_watch(&request);
        let answer = self
            .0
            .call(request)
            .map(|answer| answer.map_err(Into::into));
        if !watches {
            return answer.boxed();
        }
        let in_time = tokio::time::timeout(WATCH_START, answer);
        in_time
            .map(|answer| answer.unwrap_or_else(|_| Err(Late.into())))
            .boxed()
    }
}

fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|field| field == "watch=true")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::http::{Request, Response};
    use futures::FutureExt as _;
    use k8s_openapi::api::core::v1::Pod;
    use kube::api::{ListParams, WatchParams};
    use kube::client::Body;
    use kube::{Api, Client};
    use tokio::time::{Instant, timeout};

    use super::WatchStart;

    /// The pods of an API server behind a half-open connection: it never answers.
    fn half_open() -> Api<Pod> {
        let service = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        Api::all(Client::new(WatchStart(service), "default"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_over_a_half_open_connection_is_given_up_after_ten_seconds() {
        let (pods, begun) = (half_open(), Instant::now());
        let params = WatchParams::default();
        let started = timeout(Duration::from_mins(1), pods.watch(&params, "7")).await;
        let error = started.unwrap().err().unwrap();
        assert!(format!("{error:?}").contains("Late"), "{error:?}");
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn other_requests_have_no_limit_of_the_client() {
        let pods = half_open();
        let params = ListParams::default();
        let listed = timeout(Duration::from_mins(1), pods.list(&params));
        assert!(listed.map(|listed| listed.is_err()).await);
    }
}
