//! Plain HTTP to loopback: the emulator, metrics, health.

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

/// An answer.
#[derive(Clone, Debug)]
pub struct HttpAnswer {
    /// The status code.
    pub code: u16,
    /// The body.
    pub body: String,
}

/// Sends a GET request. The error is a message.
pub async fn http_get(url: &str) -> Result<HttpAnswer, String> {
    http_send("GET", url, "", String::new()).await
}

/// Sends a POST request. The error is a message.
pub async fn http_post(url: &str, content_type: &str, body: String) -> Result<HttpAnswer, String> {
    http_send("POST", url, content_type, body).await
}

/// Sends a request with any method. The error is a message.
pub async fn http_send(
    method: &str,
    url: &str,
    content_type: &str,
    body: String,
) -> Result<HttpAnswer, String> {
    let request_line = format!("{method} {url}");
    let mut request = Request::builder().method(method).uri(url);
    if !content_type.is_empty() {
        request = request.header("content-type", content_type);
    }
    let request = request
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| format!("{request_line}: {error}"))?;
    // A new client each time: a pooled connection would end with the runtime of the test that opened it.
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let answer = client.request(request).await.map_err(|error| {
        let cause = std::error::Error::source(&error)
            .map(ToString::to_string)
            .unwrap_or_default();
        format!("{request_line}: {error}: {cause}")
    })?;
    let code = answer.status().as_u16();
    let body = answer
        .into_body()
        .collect()
        .await
        .map_err(|error| format!("{request_line}: {error}"))?
        .to_bytes();
    Ok(HttpAnswer {
        code,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}
