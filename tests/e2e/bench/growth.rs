//! Measures how time and memory grow with the number of IPs.

use std::sync::Mutex;
use std::time::Instant;

use super::Extent;
use super::cluster::{Bench, LONG, ROOM, STAYING};
use super::figures::{Figure, expect, number};
use super::restart;

/// Additional numbers of IPs for a full run; some seconds each.
pub const LARGE: [usize; 2] = [5_000, 10_000];

/// The largest slope that counts as linear: the points scatter.
const STEEPEST: f64 = 1.1;

/// The numbers of IPs after 10, before everything else is measured.
pub const fn sizes(extent: Extent) -> &'static [usize] {
    match extent {
        Extent::Quick => &[100, 500],
        Extent::Full => &[100, 500, 1000],
    }
}

/// The number of nodes, including those for moves.
pub const fn nodes(extent: Extent) -> usize {
    let ips = match extent {
        Extent::Quick => 500,
        Extent::Full => LARGE[1],
    };
    STAYING + ips / ROOM + 8
}

/// The measurements of the process with this number of IPs.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub ips: usize,
    /// In MiB, before and after a restart.
    pub memory: [f64; 2],
    /// Seconds to reserve and attach all of them; `cpu` is the CPU time of Mooring for that.
    pub attach: f64,
    pub cpu: f64,
    /// Seconds from the start of the process until it is the leader and counts all attached addresses.
    pub restart: f64,
}

static SIZES: Mutex<Vec<Size>> = Mutex::new(Vec::new());

pub fn measured() -> Vec<Size> {
    SIZES.lock().unwrap().clone()
}

pub fn without_ips(bench: &Bench<'_>) {
    let used = bench.memory();
    Figure::new("memory-0", "memory without IPs")
        .others("75 MiB", "24 MiB")
        .goal("18 MiB")
        .is(format!("{used:.0} MiB"));
    SIZES.lock().unwrap().push(Size {
        ips: 0,
        memory: [used, used],
        attach: 0.0,
        cpu: 0.0,
        restart: 0.0,
    });
}

/// Waits until the metric shows this number of attached addresses. A list of thousands of pods would disturb the
/// measurement.
async fn counted(bench: &Bench<'_>, count: usize) {
    let sentence = format!("{count} addresses are attached");
    bench
        .scene
        .eventually(&sentence, LONG, async || {
            let state = "state=\"attached\"";
            let attached = bench.mooring.metric("mooring_addresses", &[state]).await;
            if attached >= number(count) - 0.5 {
                Ok(())
            } else {
                Err(attached)
            }
        })
        .await;
}

/// Attaches IPs until this number is attached, and restarts Mooring.
pub async fn grown(bench: &mut Bench<'_>, attached: usize) {
    let more = attached - bench.attached;
    let on = bench.grown_on..bench.grown_on + more.div_ceil(ROOM);
    bench.grown_on = on.end;
    bench.quiet_leader().await;
    bench.full_buckets().await;
    let (begun, cpu) = (Instant::now(), bench.cpu());
    let ips = bench.more_ips(more).await;
    let prefix = format!("grown-{attached}");
    bench.pods(&prefix, ips, &on).await;
    counted(bench, attached).await;
    let took = begun.elapsed().as_secs_f64();
    bench.attached = attached;
    bench.quiet().await;
    let cpu = bench.cpu() - cpu;
    let used = bench.memory();
    let restarted = restart::restart(bench, attached).await;
    let again = bench.memory();
    let (all, before) = (bench.ips.len(), measured().last().copied());
    // Assumes that all IPs since the last size took the same time as one IP in this step.
    let since = before.map_or(0, |size| size.ips);
    let steps = number(attached - since) / number(more);
    let (attach, cpu) = before.map_or((took * steps, cpu * steps), |size| {
        (size.attach + took * steps, size.cpu + cpu * steps)
    });
    SIZES.lock().unwrap().push(Size {
        ips: attached,
        memory: [used, again],
        attach,
        cpu,
        restart: restarted,
    });
    let goal = match attached {
        500 => "22 / 22 MiB",
        1_000 => "25 / 25 MiB",
        5_000 => "50 / 50 MiB",
        10_000 => "80 / 80 MiB",
        _ => "",
    };
    let others = if attached == 500 {
        ("73 / 72 MiB", "58 / 225 MiB")
    } else {
        ("", "")
    };
    let reserved = if all == attached {
        String::new()
    } else {
        format!(" and {} reserved ones", all - attached)
    };
    Figure::new(
        &format!("memory-{attached}"),
        &format!("memory with {attached} attached IPs{reserved} / after a restart"),
    )
    .others(others.0, others.1)
    .goal(goal)
    .is(format!("{used:.0} / {again:.0} MiB"));
}

/// The slope of a line fitted through the logarithms: 1 is linear, 2 is quadratic.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = number(logs.len());
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    both / square
}

/// One curve over the number of IPs.
pub struct Series {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// Time and memory over the number of IPs. The memory of a process without IPs is subtracted.
pub fn series() -> Vec<Series> {
    let sizes = measured();
    let base = sizes.first().map_or(0.0, |size| size.memory[0]);
    let over = |of: &dyn Fn(&Size) -> f64| {
        let grown = sizes.iter().filter(|size| size.ips > 0);
        let points = grown.map(|size| (number(size.ips), of(size).max(0.01)));
        points.collect()
    };
    vec![
        Series {
            name: "reserved and attached, s",
            points: over(&|size| size.attach),
        },
        Series {
            name: "its CPU time for that, s",
            points: over(&|size| size.cpu),
        },
        Series {
            name: "restart, s",
            points: over(&|size| size.restart),
        },
        Series {
            name: "memory of the IPs, MiB",
            points: over(&|size| size.memory[0] - base),
        },
    ]
}

/// Checks that nothing grows faster than the number of IPs.
pub fn expect_linear() {
    for series in series() {
        let slope = slope(&series.points);
        expect(slope <= STEEPEST, || {
            format!("{} grows with a slope of {slope:.2}", series.name)
        });
    }
}

/// Adds the fitted slopes as figures.
pub fn fits() {
    let largest = measured().last().map_or(0, |size| size.ips);
    for (key, series) in ["attach", "cpu", "restart", "memory"]
        .into_iter()
        .zip(series())
    {
        if series.points.len() < 2 {
            continue;
        }
        let values: Vec<String> = series
            .points
            .iter()
            .map(|(_, value)| format!("{value:.2}"))
            .collect();
        Figure::new(
            &format!("growth-{key}"),
            &format!("growth from 10 to {largest} IPs: {}", series.name),
        )
        .goal("slope at most 1")
        .is(format!(
            "{}; slope {:.2}",
            values.join(" / "),
            slope(&series.points)
        ));
    }
}
