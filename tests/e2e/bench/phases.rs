//! What is measured of the controller, one phase after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::DeleteParams;
use mooring_cluster::{AuditEvent, Mooring, MooringOptions};

use super::cluster::{Bench, ROOM, options};
use super::figures::{Others, figure, memory, number, percentiles};
use super::timeline::{Attach, millis};
use crate::harness::scene::SOON;

const SINGLE: usize = 20;
const BURST: usize = 50;
const DRAINED: usize = 256;
const SIDE: usize = 8;
/// The first node of [`grown`].
pub const GROWN_ON: usize = 3 * SIDE;

/// The number of nodes for this number of IPs, with the nodes of the drain.
pub const fn nodes(ips: usize) -> usize {
    GROWN_ON + ips / ROOM + 3
}

fn others(cncc: &'static str, eip_operator: &'static str) -> Others {
    Others { cncc, eip_operator }
}

pub fn memory_without_ips(bench: &Bench<'_>) {
    let used = bench.memory();
    memory(0, used);
    let peers = others("75 MiB", "24 MiB");
    figure(
        "memory without IPs",
        format!("{used:.0} MiB"),
        "18 MiB",
        peers,
    );
}

/// One after the other, so that no two of them meet.
pub async fn single_attaches(bench: &mut Bench<'_>) {
    let first = bench.more_ips(SINGLE).await;
    let scene = bench.scene;
    let (begin, mark) = (
        scene.count_requests().await,
        scene.cluster().audit_since(u64::MAX).1,
    );
    for number in first..first + SINGLE {
        bench.pods("single", number..number + 1, 0..SIDE).await;
        bench.attached("single", number..number + 1).await;
    }
    let (record, gate) = attaches(bench, mark, "single", first..first + SINGLE);
    let counts = begin.until_now(scene).await;
    let reads = reads(&scene.cluster().audit_since(mark).0);
    assert_eq!(counts.mutations.len(), SINGLE, "{:?}", counts.mutations);
    let per = |count: usize| number(count) / number(SINGLE);
    let (writes, events) = (per(counts.writes.len()), per(counts.events));
    let each = format!("1 / {writes:.1} and {events:.1} Events / {:.1}", per(reads));
    let peers = others("3 / 3 / 2", "7 / 8 / 8");
    figure(
        "attach: EC2 calls / writes / reads",
        each,
        "1 / 5 / 0",
        peers,
    );
    let (record, gate) = (percentiles(record).0, percentiles(gate).0);
    figure(
        "attach: p50 to the record / the gate",
        format!("{record:.0} / {gate:.0} ms"),
        "38 / 46 ms",
        others("92 ms", "95 ms"),
    );
}

pub async fn attaches_at_once(bench: &mut Bench<'_>) {
    let first = bench.more_ips(BURST).await;
    bench.full_buckets().await;
    let mark = bench.scene.cluster().audit_since(u64::MAX).1;
    let begin = bench.scene.count_requests().await;
    bench.pods("burst", first..first + BURST, 0..SIDE).await;
    bench.attached("burst", first..first + BURST).await;
    let calls = begin.until_now(bench.scene).await.mutations.len();
    let (record, _) = attaches(bench, mark, "burst", first..first + BURST);
    let (median, most) = percentiles(record);
    figure(
        "50 attaches at once: p50 and p99 to the record, EC2 calls",
        format!("{median:.0} ms, {most:.0} ms, {calls}"),
        "350 ms",
        others("21.1 s", "1.2 s"),
    );
}

/// 256 moves from 8 nodes to 8 others, all of which wait when the leader starts.
pub async fn drain(bench: &mut Bench<'_>) {
    let scene = bench.scene;
    let first = bench.more_ips(DRAINED).await;
    let all = first..first + DRAINED;
    let (old, new) = (SIDE..2 * SIDE, 2 * SIDE..3 * SIDE);
    bench.pods("old", all.clone(), old).await;
    bench.attached("old", all.clone()).await;

    // Reviews are answered meanwhile.
    let answering = scene
        .mooring_with(MooringOptions {
            arguments: vec!["--controller=false".to_owned()],
            ..options()
        })
        .await;
    assert!(bench.mooring.terminate().await.success());
    bench.pods("new", all.clone(), new).await;
    let names: Vec<String> = all.clone().map(|number| format!("new-{number}")).collect();
    bench
        .all("Pod", &names, "bound", |pod| {
            pod["spec"]["nodeName"].is_string()
        })
        .await;
    let now = DeleteParams::default().grace_period(0);
    for number in all.clone() {
        let deleted = scene
            .api("Pod")
            .delete(&format!("old-{number}"), &now)
            .await;
        deleted.expect("it is there");
    }
    bench.full_buckets().await;
    let (begin, started) = (scene.count_requests().await, Instant::now());
    bench.mooring = scene.mooring_with(options()).await;
    bench.attached("new", all).await;
    let took = started.elapsed();
    let calls = begin.until_now(scene).await.mutations;
    figure(
        "256 moves that wait for the leader: EC2 calls, time from its start",
        format!("{}, {:.1} s", calls.len(), took.as_secs_f64()),
        "16 calls",
        Others::default(),
    );
    assert!(calls.len() <= 2 * 2 * SIDE, "{calls:?}");
    assert!(answering.terminate().await.success());
}

/// Nothing changes for half a minute.
pub async fn at_rest(bench: &mut Bench<'_>) {
    let scene = bench.scene;
    at_rest_now(bench).await;
    let length = Duration::from_secs(30);
    let mark = scene.cluster().audit_since(u64::MAX).1;
    let (begin, cpu) = (scene.count_requests().await, bench.cpu());
    tokio::time::sleep(length).await;
    let counts = begin.until_now(scene).await;
    let (audit, _) = scene.cluster().audit_since(mark);
    let share = (bench.cpu() - cpu) / length.as_secs_f64() * 100.0;
    assert_eq!(counts.writes, Vec::<String>::new());
    figure(
        "at rest for 30 s: writes / reads / describes, CPU of a core",
        format!("0 / {} / {}, {share:.2} %", reads(&audit), counts.describes),
        "0 / 0, 0.3 %",
        others("0", "60 calls a minute"),
    );
}

/// The memory with this number of attached IPs, and what a restart costs.
pub async fn grown(bench: &mut Bench<'_>, ips: usize) {
    let first = bench.ips.len();
    let more = ips - first;
    let on = bench.grown_on..bench.grown_on + more.div_ceil(ROOM);
    bench.grown_on = on.end;
    bench.more_ips(more).await;
    bench.pods("grown", first..first + more, on).await;
    bench.attached("grown", first..first + more).await;
    at_rest_now(bench).await;
    let used = bench.memory();
    assert!(bench.mooring.terminate().await.success());
    let begin = bench.scene.count_requests().await;
    bench.mooring = bench.scene.mooring_with(options()).await;
    at_rest_now(bench).await;
    let counts = begin.until_now(bench.scene).await;
    let again = bench.memory();
    memory(ips, used.max(again));
    figure(
        &format!("memory with {ips} IPs, and after a restart"),
        format!("{used:.0} / {again:.0} MiB"),
        if ips == 500 {
            "22 / 22 MiB"
        } else {
            "25 MiB at 1,000"
        },
        if ips == 500 {
            others("73 / 72 MiB", "58 / 225 MiB")
        } else {
            Others::default()
        },
    );
    figure(
        &format!("restart with {ips} IPs: describes / writes"),
        format!("{} / {}", counts.describes, counts.writes.len()),
        "3 / 0",
        if ips == 500 {
            others("30 / 11", "1,504 / 1,501")
        } else {
            Others::default()
        },
    );
}

async fn at_rest_now(bench: &Bench<'_>) {
    let scene = bench.scene;
    scene
        .eventually("a leader that has nothing to write", SOON, async || {
            let leads = bench.mooring.metric("mooring_leader", &[]).await > 0.5;
            let begin = scene.count_requests().await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            leads && begin.until_now(scene).await.writes.is_empty()
        })
        .await;
}

/// The leader goes, killed or asked to, and a standby attaches what comes then.
pub async fn successor(bench: &mut Bench<'_>) {
    let ends: [(_, fn(&Mooring), _, _); 2] = [
        (
            "kill -9 of the leader to the next EC2 call",
            Mooring::kill9,
            "16 s",
            others("159 s", ""),
        ),
        (
            "SIGTERM of the leader to the next EC2 call",
            |leader| leader.process().signal("TERM"),
            "0.7 s",
            Others::default(),
        ),
    ];
    for (what, end, goal, peers) in ends {
        let first = bench.more_ips(1).await;
        let standby = bench.scene.mooring_with(options()).await;
        bench.scene.cluster().register_webhooks(&[&standby]).await;
        at_rest_now(bench).await;
        let leader = std::mem::replace(&mut bench.mooring, Arc::clone(&standby));
        let gone = jiff::Timestamp::now();
        end(&leader);
        bench.pods("after", first..first + 1, 0..1).await;
        bench.attached("after", first..first + 1).await;
        let call = bench.scene.ec2().history().await.pop().expect("an Assign");
        let call = jiff::Timestamp::from_millisecond(i64::try_from(call.unix_ms).expect("a time"));
        let took = millis(gone, call.expect("a time")) / 1e3;
        let took = format!("{took:.1} s");
        figure(
            &format!("{what}, {} IPs", bench.ips.len()),
            took,
            goal,
            peers,
        );
    }
}

/// The times of these attaches, to the record and to the gate, in milliseconds.
fn attaches(
    bench: &Bench<'_>,
    mark: u64,
    prefix: &str,
    ips: std::ops::Range<usize>,
) -> (Vec<f64>, Vec<f64>) {
    let (audit, _) = bench.scene.cluster().audit_since(mark);
    let times = ips.map(|number| {
        let pod = format!("{prefix}-{number}");
        let attach = Attach::of(&audit, &pod, &bench.ips[number].name);
        let attach = attach.unwrap_or_else(|| panic!("{pod} is not in the audit log"));
        (attach.to_record(), attach.to_gate())
    });
    times.unzip()
}

/// Reads of Mooring, but watches and the Lease.
fn reads(audit: &[AuditEvent]) -> usize {
    let read = audit.iter().filter(|event| {
        event.by_mooring()
            && matches!(event.verb.as_str(), "get" | "list")
            && event.resource != "leases"
    });
    read.count()
}
