//! During a shutdown a replica first closes connections by answers, and in the end those that are not used.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::kept::{connected, granting, is_last, one_answer};
use super::server::{expect_ended, kept, served};
use crate::admission::End;

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn each_response_during_a_drain_closes_its_connection() {
    let served = served().await;
    let (mut before, mut unused) = (served.connect().await, served.connect().await);
    served.objects.released.notify_one();
    before.write_all(kept().as_bytes()).await.unwrap();
    assert!(!is_last(&one_answer(&mut before).await));
    served.end.drain.cancel();
    // New connections are accepted: the API server may not know yet that this replica ends.
    let mut after = served.connect().await;
    for stream in [&mut before, &mut unused, &mut after] {
        served.objects.released.notify_one();
        stream.write_all(kept().as_bytes()).await.unwrap();
        let answer = one_answer(stream).await;
        assert!(
            is_last(&answer) && answer.contains("\"allowed\":true"),
            "{answer}"
        );
        expect_ended(stream).await;
    }
}

#[tokio::test]
async fn a_request_before_the_drain_closes_its_connection() {
    let served = served().await;
    let mut stream = served.connect().await;
    stream.write_all(kept().as_bytes()).await.unwrap();
    served.objects.asked.notified().await;
    served.end.drain.cancel();
    served.objects.released.notify_one();
    let answer = one_answer(&mut stream).await;
    assert!(
        is_last(&answer) && answer.contains("\"allowed\":true"),
        "{answer}"
    );
}

#[tokio::test]
async fn at_the_close_unused_connections_are_closed_at_once() {
    let served = served().await;
    let (mut used, mut unused) = (served.connect().await, served.connect().await);
    served.objects.released.notify_one();
    used.write_all(kept().as_bytes()).await.unwrap();
    assert!(!is_last(&one_answer(&mut used).await));
    served.end.drain.cancel();
    served.end.close.cancel();
    expect_ended(&mut used).await;
    expect_ended(&mut unused).await;
    let ended = tokio::time::timeout(LIMIT, served.task);
    ended.await.expect("it ends").unwrap();
    assert!(TcpStream::connect(served.address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_has_begun_to_arrive_at_the_close_is_answered() {
    let request = kept();
    for cut in [2, request.len() - 2] {
        let end = End::default();
        // The buffer has one byte: the server has read all written bytes but the last one.
        let mut connection = connected(granting(), end.clone(), 1);
        connection
            .client
            .write_all(request.as_bytes())
            .await
            .unwrap();
        assert!(!is_last(&one_answer(&mut connection.client).await));
        let (begun, rest) = request.split_at(cut);
        connection.client.write_all(begun.as_bytes()).await.unwrap();
        end.close.cancel();
        tokio::task::yield_now().await;
        connection.client.write_all(rest.as_bytes()).await.unwrap();
        let answer = one_answer(&mut connection.client).await;
        assert!(
            is_last(&answer) && answer.contains("\"allowed\":true"),
            "{answer}"
        );
        connection.task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_before_the_close_is_answered() {
    let end = End::default();
    let mut connection = connected(granting(), end.clone(), 1 << 16);
    // The connection is idle when it is closed, and has not read the request yet.
    tokio::task::yield_now().await;
    connection
        .client
        .write_all(kept().as_bytes())
        .await
        .unwrap();
    end.close.cancel();
    let answer = one_answer(&mut connection.client).await;
    assert!(
        is_last(&answer) && answer.contains("\"allowed\":true"),
        "{answer}"
    );
}
