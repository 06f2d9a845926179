//! Limits for concurrent reviews, so that neither many reviews nor one large review can use all memory or block the
//! others. A review beyond a limit is refused with 429 at once.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of a body. The API server sends objects of up to 1.5 MiB, and two of them for an update.
pub(super) const BODY: usize = 3 * 1024 * 1024;
/// The most concurrent reviews of one replica.
const TURNS: usize = 256;
/// The most bytes of all bodies at a time. The buffers can take twice as much while they grow.
const BYTES: usize = 32 * 1024 * 1024;
/// The most JSON values of one review. A pod has some hundreds. A value can have 3 bytes as text and 200 after parsing.
pub(super) const VALUES: usize = 20_000;
/// The most JSON values of all concurrent reviews.
const ALL_VALUES: usize = 200_000;

/// Semaphores with the remaining permits of each limit.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    turns: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    values: Arc<Semaphore>,
}

/// The permits of one review. They are returned when this is dropped.
#[derive(Debug)]
pub(super) struct Permits {
    _turn: OwnedSemaphorePermit,
    _bytes: Option<OwnedSemaphorePermit>,
    _values: OwnedSemaphorePermit,
}

/// A body, with its permits of the byte limit.
#[derive(Debug)]
pub(super) struct Received {
    body: Vec<u8>,
    bytes: Option<OwnedSemaphorePermit>,
}

/// Why a review is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum Shed {
    /// The body is larger than a review can be.
    #[error("a review has at most {BODY} bytes")]
    TooLarge,
    /// A limit is reached.
    #[error("too many reviews at a time: try again in a second")]
    Full,
    /// The client closed the connection before the end of the body.
    #[error("the review could not be read to its end")]
    Broken(#[source] axum::Error),
}

impl IntoResponse for Shed {
    fn into_response(self) -> Response {
        let text = self.to_string();
        match self {
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, text).into_response(),
            Self::Broken(_) => (StatusCode::BAD_REQUEST, text).into_response(),
            Self::Full => {
                tracing::warn!("a review was rejected: there are too many at a time");
                let later = [(header::RETRY_AFTER, "1")];
                (StatusCode::TOO_MANY_REQUESTS, later, text).into_response()
            }
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(TURNS, BYTES)
    }
}

impl Limits {
    /// Limits for this number of concurrent reviews, and of bytes of their bodies.
    pub fn of(turns: usize, bytes: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(turns)),
            bytes: Arc::new(Semaphore::new(bytes)),
            values: Arc::new(Semaphore::new(ALL_VALUES)),
        }
    }

    /// Reads a body to its end.
    pub async fn receive(&self, mut body: Body) -> Result<Received, Shed> {
        let mut whole = Vec::new();
        let mut bytes: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(Shed::Broken)?;
            let Some(data) = frame.data_ref() else {
                continue;
            };
            if whole.len() + data.len() > BODY {
                return Err(Shed::TooLarge);
            }
            // Count bytes when they arrive: bytes that are only announced take no memory.
            let more = some_of(&self.bytes, data.len())?;
            match &mut bytes {
                Some(bytes) => bytes.merge(more),
                None => bytes = Some(more),
            }
            whole.extend_from_slice(data);
        }
        Ok(Received { body: whole, bytes })
    }

    /// Takes the permits for a complete body. An incomplete body takes no permit except for its bytes.
    pub fn admit(&self, received: Received) -> Result<(Bytes, Permits), Shed> {
        let Received { body, bytes } = received;
        let permits = Permits {
            _turn: some_of(&self.turns, 1)?,
            _bytes: bytes,
            _values: some_of(&self.values, values(&body).min(VALUES))?,
        };
        Ok((body.into(), permits))
    }
}

fn some_of(semaphore: &Arc<Semaphore>, many: usize) -> Result<OwnedSemaphorePermit, Shed> {
    let many = u32::try_from(many).map_err(|_| Shed::Full)?;
    let permits = Arc::clone(semaphore).try_acquire_many_owned(many);
    permits.map_err(|_| Shed::Full)
}

/// An upper bound of the number of values and field names in this JSON text.
pub(super) fn values(text: &[u8]) -> usize {
    let (mut quoted, mut escaped, mut values) = (false, false, 1);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b':' | b'[' | b'{' if !quoted => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn values_are_counted_and_not_what_stands_in_texts() {
        for (text, count) in [
            ("", 1),
            ("1", 1),
            (r#"{"a": [1, 2]}"#, 5),
            (r#"{"a,b:{[": "\",:{["}"#, 3),
            ("[{},{},{}]", 7),
        ] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }
}
