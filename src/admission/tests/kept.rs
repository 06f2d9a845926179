//! A connection is kept open for further requests, and every limit applies to each of them. Time is simulated.

use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::http::{Scripted, webhook};
use super::limits::within;
use super::office;
use super::server::{expect_ended, kept, served, served_at_most};
use crate::admission::load_shed::Limits;
use crate::admission::server::{AGE, ConnectionLimit, End, IDLE, IDLE_AT_CLIENT, answer_all};

const HEAD: Duration = Duration::from_secs(5);

/// Both sides of a connection: the client, and the server task.
pub struct Connection {
    pub client: DuplexStream,
    pub task: JoinHandle<()>,
}

/// A connection to this router, with a buffer of this number of bytes in each direction.
pub fn connected(router: Router, end: End, bytes: usize) -> Connection {
    let (client, server) = duplex(bytes);
    let limit = std::sync::Arc::new(ConnectionLimit::new(1));
    let slot = limit.take([127, 0, 0, 1].into()).unwrap();
    let service = TowerToHyperService::new(router);
    let task = tokio::spawn(answer_all(server, service, slot, end));
    Connection { client, task }
}

fn open() -> Connection {
    connected(granting(), End::default(), 1 << 16)
}

/// A webhook that allows every request at once.
pub fn granting() -> Router {
    webhook(Scripted::new(office(), None)).0
}

/// One answer, and nothing after it.
pub async fn one_answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = String::new();
    loop {
        if let Some((head, body)) = answer.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let length = lines.find_map(|line| line.strip_prefix("content-length: "));
            if length.unwrap().parse() == Ok(body.len()) {
                return answer;
            }
        }
        let byte = stream.read_u8().await;
        let byte = byte.unwrap_or_else(|error| panic!("{error} after {answer}"));
        answer.push(char::from(byte));
    }
}

impl Connection {
    async fn send(&mut self, text: &str) {
        self.client.write_all(text.as_bytes()).await.unwrap();
    }

    async fn ask(&mut self) -> String {
        self.send(&kept()).await;
        one_answer(&mut self.client).await
    }

    /// How long the server keeps the connection open from now on.
    async fn kept_for(&mut self) -> Duration {
        let begun = Instant::now();
        let mut rest = Vec::new();
        let _ = self.client.read_to_end(&mut rest).await;
        assert_eq!(String::from_utf8_lossy(&rest), "");
        begun.elapsed()
    }
}

pub fn is_last(answer: &str) -> bool {
    answer.contains("\r\nconnection: close\r\n")
}

/// Rounded: the timers of tokio have milliseconds.
fn seconds(time: Duration) -> u128 {
    (time.as_millis() + 500) / 1000
}

#[tokio::test]
async fn many_reviews_take_one_handshake() {
    let served = served().await;
    let mut stream = served.connect().await;
    for _ in 0..100 {
        served.objects.released.notify_one();
        stream.write_all(kept().as_bytes()).await.unwrap();
        let answer = one_answer(&mut stream).await;
        assert!(
            answer.contains("\"allowed\":true") && !is_last(&answer),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_for_a_new_client() {
    let served = served_at_most(1).await;
    served.objects.released.notify_one();
    let mut first = served.connect().await;
    first.write_all(kept().as_bytes()).await.unwrap();
    assert!(!is_last(&one_answer(&mut first).await));
    served.objects.released.notify_one();
    let mut second = served.connect().await;
    second.write_all(kept().as_bytes()).await.unwrap();
    assert!(!is_last(&one_answer(&mut second).await));
    expect_ended(&mut first).await;
}

#[tokio::test(start_paused = true)]
async fn the_api_server_is_the_first_to_close_an_idle_connection() {
    let mut connection = open();
    for _ in 0..2 {
        assert!(!is_last(&connection.ask().await));
        sleep(IDLE_AT_CLIENT).await;
    }
    assert!(!is_last(&connection.ask().await));
    assert_eq!(seconds(connection.kept_for().await), seconds(IDLE));
}

#[tokio::test(start_paused = true)]
async fn each_request_has_its_own_time_to_arrive() {
    let mut connection = open();
    let request = kept();
    let (head, rest) = request.split_at(9);
    for _ in 0..3 {
        connection.send(head).await;
        sleep(HEAD * 4 / 5).await;
        connection.send(rest).await;
        assert!(!is_last(&one_answer(&mut connection.client).await));
    }
    connection.send(head).await;
    assert_eq!(seconds(connection.kept_for().await), seconds(HEAD));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_review_leaves_its_connection_open() {
    let router = within(Scripted::new(office(), None), Limits::of(0, 1 << 20));
    let mut connection = connected(router, End::default(), 1 << 16);
    for _ in 0..3 {
        let answer = connection.ask().await;
        assert!(
            answer.starts_with("HTTP/1.1 429 ") && !is_last(&answer),
            "{answer}"
        );
        sleep(2 * HEAD).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_to_an_incomplete_request_closes_the_connection() {
    let mut connection = open();
    assert!(!is_last(&connection.ask().await));
    let head = "POST /mutate/pod HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n";
    connection.send(head).await;
    let answer = one_answer(&mut connection.client).await;
    assert!(
        answer.starts_with("HTTP/1.1 504 ") && is_last(&answer),
        "{answer}"
    );
    assert_eq!(seconds(connection.kept_for().await), 0);
}

#[tokio::test(start_paused = true)]
async fn a_large_head_is_refused_on_the_second_request_too() {
    let mut connection = open();
    assert!(!is_last(&connection.ask().await));
    let large = "x".repeat(32 * 1024);
    connection
        .send(&format!("POST /mutate/pod HTTP/1.1\r\nx: {large}\r\n"))
        .await;
    let mut answer = String::new();
    connection.client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn an_old_connection_is_closed_after_a_response() {
    let mut connection = open();
    let opened = Instant::now();
    while opened.elapsed() < AGE {
        assert!(!is_last(&connection.ask().await));
        sleep(IDLE_AT_CLIENT).await;
    }
    let answer = connection.ask().await;
    assert!(
        is_last(&answer) && answer.contains("\"allowed\":true"),
        "{answer}"
    );
    assert_eq!(seconds(connection.kept_for().await), 0);
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    let mut connection = open();
    connection.send(&kept().repeat(3)).await;
    for _ in 0..3 {
        let answer = one_answer(&mut connection.client).await;
        assert!(answer.contains("\"allowed\":true"), "{answer}");
    }
    sleep(2 * HEAD).await;
    assert!(!is_last(&connection.ask().await));
}
