//! Timeouts of a connection: for receiving a request after its first byte, and for sending an answer.
//!
//! hyper has one timeout for both the wait for a request and the read of its head. The wait must be longer than the API
//! server keeps an idle connection, and the read must be short. A connection has one request at a time, and each
//! request has its own timeouts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The stage of the request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// There is no request.
    Quiet,
    /// The request is being read.
    Arriving,
    /// The request is being answered.
    Answered,
}

/// The stage, shared by the reader of a connection and the service.
#[derive(Debug)]
pub(super) struct RequestStage(AtomicU8);

impl RequestStage {
    /// Starts without a request. A client can open a connection and use it later: the API server does so if another
    /// connection becomes free first.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU8::new(Stage::Quiet as u8)))
    }

    /// A head was read. Its bytes can have arrived together with those of the previous request.
    pub fn arriving(&self) {
        self.set(Stage::Arriving);
    }

    /// The whole request was read.
    pub fn asked(&self) {
        self.set(Stage::Answered);
    }

    /// The answer is complete.
    pub fn answered(&self) {
        self.set(Stage::Quiet);
    }

    /// Whether a request is being read.
    pub fn is_arriving(&self) -> bool {
        self.is(Stage::Arriving)
    }

    /// Whether there is no request.
    pub fn is_quiet(&self) -> bool {
        self.is(Stage::Quiet)
    }

    fn set(&self, stage: Stage) {
        self.0.store(stage as u8, Ordering::Relaxed);
    }

    fn is(&self, stage: Stage) -> bool {
        self.0.load(Ordering::Relaxed) == stage as u8
    }
}

/// A stream whose reads and writes fail with `TimedOut` if the other side takes too long.
pub(super) struct TimeoutStream<S> {
    stream: S,
    limit: Duration,
    stage: Arc<RequestStage>,
    reading: Option<Pin<Box<Sleep>>>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    /// `limit` applies to the read of each request, and to each write.
    pub fn new(stream: S, limit: Duration, stage: Arc<RequestStage>) -> Self {
        Self {
            stream,
            limit,
            stage,
            reading: None,
            writing: None,
        }
    }
}

/// Fails if `limit` has passed since the first call with this timer.
fn in_time(
    timer: &mut Option<Pin<Box<Sleep>>>,
    limit: Duration,
    cx: &mut Context<'_>,
) -> io::Result<()> {
    let timer = timer.get_or_insert_with(|| Box::pin(sleep(limit)));
    match timer.as_mut().poll(cx) {
        Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
        Poll::Pending => Ok(()),
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(cx, buf);
        if buf.filled().len() > before && this.stage.is(Stage::Quiet) {
            this.reading = None;
            this.stage.set(Stage::Arriving);
        }
        if this.stage.is(Stage::Arriving) {
            // Check also if bytes arrived: a client can send one byte a second.
            in_time(&mut this.reading, this.limit, cx)?;
        } else {
            this.reading = None;
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> TimeoutStream<S> {
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            in_time(&mut self.writing, self.limit, cx)?;
        } else {
            self.writing = None;
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.written(cx, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_flush(cx);
        this.written(cx, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.written(cx, polled)
    }
}
