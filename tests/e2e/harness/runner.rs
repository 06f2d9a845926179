//! Runs the scenes: limits how many run at a time, ends each, and shows the failures.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use libtest_mimic::{Failed, Trial};
use mooring_cluster::ClusterOptions;
use tokio::sync::Semaphore;

use crate::harness::scene::Scene;
use crate::harness::turns::{Place, Turn};

/// Lists the scenes of a module under the names `e2e::<module>::<function>`. `shared` scenes run in the shared cluster.
/// `alone` scenes have a separate cluster, without Mooring until they start it.
macro_rules! scenes {
    ($($sort:ident $name:ident),* $(,)?) => {
        pub fn scenes() -> Vec<libtest_mimic::Trial> {
            vec![$($crate::harness::runner::$sort(concat!(module_path!(), "::", stringify!($name)), $name)),*]
        }
    };
}

/// A scene that cleans up holds no turn, because it mostly waits: a recently attached IP stays for 12 s. But its
/// cluster still uses the machine, so only one scene with a separate cluster cleans up at a time.
static CLEANING_UP: Semaphore = Semaphore::const_new(1);

/// A scene in the shared cluster.
pub fn shared(name: &'static str, body: impl AsyncFnOnce(&Scene) + Send + 'static) -> Trial {
    trial(
        name,
        Place::Shared,
        None,
        async |name| Scene::shared(name).await,
        body,
    )
}

/// A scene in a separate cluster.
pub fn alone(name: &'static str, body: impl AsyncFnOnce(&Scene) + Send + 'static) -> Trial {
    trial(
        name,
        Place::Alone,
        Some(&CLEANING_UP),
        async |name| Scene::alone(name).await,
        body,
    )
}

/// A scene in a separate cluster with other options.
pub fn alone_in(
    name: &'static str,
    options: impl FnOnce() -> ClusterOptions + Send + 'static,
    body: impl AsyncFnOnce(&Scene) + Send + 'static,
) -> Trial {
    trial(
        name,
        Place::Alone,
        Some(&CLEANING_UP),
        async move |name| Scene::alone_in(name, options()).await,
        body,
    )
}

/// The variable that is set in a process that runs one scene in a separate network namespace.
const APART: &str = "MOORING_E2E_APART";

/// Does this process run one scene in a separate network namespace?
pub fn is_apart() -> bool {
    std::env::var_os(APART).is_some()
}

/// A scene in a separate network namespace, where the API server reaches the replicas through their Service. For that
/// the replicas need addresses that are not loopback addresses. Another process runs the scene, because a process has
/// only one network namespace.
pub fn apart(name: &'static str, body: impl AsyncFnOnce(&Scene) + Send + 'static) -> Trial {
    if is_apart() {
        return alone(name, body);
    }
    Trial::test(name, move || {
        mooring_cluster::run(async {
            let _turn = Turn::wait(Place::Alone).await;
            let begun = Instant::now();
            let network = "ip link set lo up; for number in 1 2 3 4; do ip address add 10.231.0.$number/32 dev lo; done; \
                exec \"$0\" --exact \"$1\" --nocapture";
            let output = tokio::process::Command::new("unshare")
                .args(["--net", "--kill-child", "sh", "-euc", network])
                .arg(std::env::current_exe().expect("the path of this process"))
                .arg(name)
                .env(APART, "1")
                .env_remove("MOORING_E2E_ONLY")
                .kill_on_drop(true)
                .output()
                .await;
            let output = output.map_err(|error| Failed::from(format!("unshare: {error}")))?;
            let stdout = String::from_utf8_lossy(&output.stdout);
            if !output.status.success() {
                let stderr = String::from_utf8_lossy(&output.stderr);
                let prefix = format!("{FAILED}{name}: ");
                let message = stderr.lines().find_map(|line| line.strip_prefix(&prefix));
                failed(name, message.unwrap_or(&output.status.to_string()));
                return Err(Failed::from(format!(
                    "{}\n{stdout}\n{stderr}",
                    output.status
                )));
            }
            for line in stdout.lines().filter(|line| line.starts_with("verified: ")) {
                println!("{line}");
            }
            took(name, begun.elapsed());
            Ok(())
        })
    })
}

fn trial(
    name: &'static str,
    place: Place,
    clean_ups: Option<&'static Semaphore>,
    open: impl AsyncFnOnce(&'static str) -> Scene + Send + 'static,
    body: impl AsyncFnOnce(&Scene) + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        mooring_cluster::run(async {
            let turn = Turn::wait(place).await;
            let begun = Instant::now();
            let scene = AssertUnwindSafe(open(name)).catch_unwind().await;
            let scene = scene.map_err(|panic| {
                let text = message(&*panic);
                failed(name, &text);
                Failed::from(text)
            })?;
            let whole = async {
                body(&scene).await;
                scene.judge().await;
                let cleaning = match clean_ups {
                    Some(clean_ups) => Some(clean_ups.acquire().await.expect("never closed")),
                    None => None,
                };
                drop(turn);
                scene.clean_up().await;
                drop(cleaning);
            };
            let outcome = AssertUnwindSafe(whole).catch_unwind().await;
            if let Err(panic) = outcome {
                let text = message(&*panic);
                let diagnostics = AssertUnwindSafe(scene.diagnostics()).catch_unwind().await;
                let diagnostics =
                    diagnostics.unwrap_or_else(|_| "no diagnostics: see above".to_owned());
                // The cluster keeps its state for the analysis, so no other scene gets it.
                std::mem::forget(scene);
                failed(name, &text);
                return Err(Failed::from(format!("{text}\n{diagnostics}")));
            }
            scene.close().await;
            took(name, begun.elapsed());
            Ok(())
        })
    })
}

/// The time of each scene, without the wait for its turn.
static TIMES: Mutex<Vec<(Duration, &str)>> = Mutex::new(Vec::new());
fn took(name: &'static str, time: Duration) {
    let mut times = TIMES.lock().expect("no panic while locked");
    times.push((time, name));
}

/// The failures, one line each.
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());
const FAILED: &str = "failed: ";

fn failed(name: &str, text: &str) {
    let line: String = text.replace('\n', " | ").chars().take(800).collect();
    let mut failures = FAILURES.lock().expect("no panic while locked");
    failures.push(format!("{name}: {line}"));
}

/// Prints the times of the scenes, the longest first, and the failures at the end of the output.
pub fn report() {
    let mut times = TIMES.lock().expect("no panic while locked").clone();
    times.sort_unstable_by(|a, b| b.cmp(a));
    for (time, name) in &times {
        println!("time: {:6.1} s {name}", time.as_secs_f64());
    }
    for failure in FAILURES.lock().expect("no panic while locked").iter() {
        eprintln!("{FAILED}{failure}");
    }
}

/// The message of a panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Makes a panic print only its location at first. The message and the diagnostics are printed at the end.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(location) = panic.location() {
            eprintln!("a scene failed at {location}");
        }
    }));
}
