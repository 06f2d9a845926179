//! Tests which callers share which read, by count and order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::{SingleFlight, SingleFlightBy};

fn turns(count: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(count))
}

async fn after(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}

/// A read that takes 10 ms and returns its number.
fn reading(count: &Arc<AtomicU32>) -> impl Future<Output = Result<u32, ()>> + Send + use<> {
    let count = Arc::clone(count);
    async move {
        let nth = count.fetch_add(1, Ordering::Relaxed) + 1;
        after(10).await;
        Ok(nth)
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_gets_the_next_reading_and_never_one_that_began_before() {
    let (shared, readings) = (SingleFlight::new(turns(1)), Arc::default());
    let read = || reading(&readings);
    let late = async {
        after(1).await;
        let many = (0..10).map(|_| shared.or(read()));
        futures::future::join_all(many).await
    };
    let (first, late) = tokio::join!(shared.or(read()), late);
    assert_eq!((first, late), (Ok(1), vec![Ok(2); 10]));
}

#[tokio::test(start_paused = true)]
async fn a_reading_goes_on_for_others_when_its_caller_gives_up() {
    let (shared, readings) = (SingleFlight::new(turns(1)), Arc::default());
    let read = || reading(&readings);
    let short = async {
        after(1).await;
        timeout(Duration::from_millis(14), shared.or(read())).await
    };
    let long = async {
        after(2).await;
        shared.or(read()).await
    };
    let (first, gone, waiting) = tokio::join!(shared.or(read()), short, long);
    assert!(gone.is_err(), "{gone:?}");
    assert_eq!((first, waiting), (Ok(1), Ok(2)));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_shared() {
    let shared = SingleFlight::new(turns(1));
    assert_eq!(shared.or(async { Err::<u8, _>("away") }).await, Err("away"));
    after(1).await;
    assert_eq!(shared.or(async { Ok::<_, &str>(1) }).await, Ok(1));
    after(1).await;
    assert_eq!(shared.or(async { Ok::<_, &str>(2) }).await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn only_equal_keys_share_a_reading_and_no_key_is_kept() {
    let (shared, readings) = (SingleFlightBy::new(turns(1)), Arc::default());
    let read = |_| {
        let read = reading(&readings);
        async { read.await.unwrap_or_default() }
    };
    let late = async {
        after(1).await;
        let same = (0..10).map(|n| shared.or("a", read(n)));
        futures::future::join_all(same).await
    };
    let (a, b, late) = tokio::join!(shared.or("a", read(0)), shared.or("b", read(0)), late);
    assert_eq!((a, b, late), (1, 2, vec![3; 10]));
    assert_eq!(shared.or("c", read(0)).await, 4);
    assert_eq!(shared.keys.lock().unwrap().len(), 1, "only the last");
}
#[tokio::test(start_paused = true)]
async fn a_second_reading_begins_while_one_runs_and_no_third() {
    let (shared, readings) = (SingleFlight::new(turns(32)), Arc::default());
    let begun = Instant::now();
    let ask = async |millis| {
        after(millis).await;
        let nth = shared.or(reading(&readings)).await;
        (nth, begun.elapsed().as_millis())
    };
    let answers = futures::future::join_all((0..6).map(ask)).await;
    let expected = [(1, 10), (2, 11), (3, 20), (3, 20), (3, 20), (3, 20)];
    assert_eq!(answers, expected.map(|(nth, at)| (Ok(nth), at)));
}

#[tokio::test(start_paused = true)]
async fn callers_take_turns_with_those_of_other_values_and_share_until_theirs_comes() {
    let turns = turns(1);
    let (shared, readings) = (SingleFlight::new(Arc::clone(&turns)), Arc::default());
    let taken = turns.acquire().await.unwrap();
    let ask = async |millis| {
        after(millis).await;
        shared.or(reading(&readings)).await
    };
    let free = async {
        after(100).await;
        drop(taken);
    };
    let (answers, ()) = tokio::join!(futures::future::join_all((0..100).map(ask)), free);
    assert_eq!(answers, vec![Ok(1); 100]);
}

#[tokio::test(start_paused = true)]
async fn two_hundred_callers_need_three_readings_and_as_many_tasks() {
    let (shared, readings) = (SingleFlight::new(turns(32)), Arc::default());
    let idle = Handle::current().metrics().num_alive_tasks();
    let ask = async |millis| {
        after(millis).await;
        shared.or(reading(&readings)).await
    };
    let count = async {
        after(5).await;
        Handle::current().metrics().num_alive_tasks() - idle
    };
    let many = (0..200).map(|n| ask(n.min(2)));
    let (answers, tasks) = tokio::join!(futures::future::join_all(many), count);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((tasks, readings.load(Ordering::Relaxed)), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn whenever_a_caller_asks_its_reading_began_no_earlier() {
    for per_value in 1..=4 {
        let shared = SingleFlight::new(turns(per_value));
        let ask = async |n: u64| {
            // Each caller starts at a different time, in no order.
            sleep(Duration::from_micros(n * 7919 % 100_000)).await;
            let asked = Instant::now();
            let read = async move {
                let begun = Instant::now();
                sleep(Duration::from_micros(1000 + n * 104_729 % 9000)).await;
                Ok::<_, ()>(begun)
            };
            (asked, shared.or(read).await.unwrap())
        };
        for (asked, begun) in futures::future::join_all((0..500).map(ask)).await {
            assert!(asked <= begun, "{:?} too old", asked - begun);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn callers_that_waited_for_a_reading_that_failed_make_another() {
    let (shared, readings) = (SingleFlight::new(turns(1)), Arc::<AtomicU32>::default());
    let ask = async |_| {
        let nth = Arc::clone(&readings);
        let read = async move {
            after(10).await;
            match nth.fetch_add(1, Ordering::Relaxed) {
                0 => Err("away"),
                nth => Ok(nth),
            }
        };
        shared.or(read).await
    };
    let answers = futures::future::join_all((0..4).map(ask)).await;
    assert_eq!(answers, [Err("away"), Ok(1), Ok(1), Ok(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_all_callers_have_given_up_is_not_made() {
    let turns = turns(1);
    let (shared, readings) = (SingleFlight::new(Arc::clone(&turns)), Arc::default());
    let taken = turns.acquire().await.unwrap();
    let gone = timeout(Duration::from_millis(5), shared.or(reading(&readings))).await;
    assert!(gone.is_err(), "{gone:?}");
    drop(taken);
    after(1).await;
    assert_eq!(shared.or(reading(&readings)).await, Ok(1));
}
