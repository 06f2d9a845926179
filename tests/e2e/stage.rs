//! Running a scene: its turn, its end, and what is shown when it fails.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::LazyLock;

use futures::FutureExt as _;
use libtest_mimic::{Failed, Trial};
use tokio::sync::Semaphore;

use crate::scene::Scene;

/// Lists a module's scenes under the names `e2e::<module>::<function>`: `shared` ones play in the cluster that
/// all share, `alone` ones in a cluster of their own, without Mooring until they start it.
macro_rules! scenes {
    ($($sort:ident $name:ident),* $(,)?) => {
        pub fn scenes() -> Vec<libtest_mimic::Trial> {
            vec![$($crate::stage::$sort(concat!(module_path!(), "::", stringify!($name)), $name)),*]
        }
    };
}

fn permits(variable: &str, default: usize) -> Semaphore {
    let count = std::env::var(variable).ok();
    Semaphore::new(
        count
            .and_then(|count| count.parse().ok())
            .unwrap_or(default),
    )
}

static TURNS_SHARED: LazyLock<Semaphore> = LazyLock::new(|| permits("MOORING_E2E_SHARED", 8));
static TURNS_ALONE: LazyLock<Semaphore> = LazyLock::new(|| permits("MOORING_E2E_ALONE", 3));

/// A scene in the shared cluster.
pub fn shared(name: &'static str, play: impl AsyncFnOnce(&Scene) + Send + 'static) -> Trial {
    trial(
        name,
        &TURNS_SHARED,
        async |name| Scene::shared(name).await,
        play,
    )
}

/// A scene in a cluster of its own.
pub fn alone(name: &'static str, play: impl AsyncFnOnce(&Scene) + Send + 'static) -> Trial {
    trial(
        name,
        &TURNS_ALONE,
        async |name| Scene::alone(name).await,
        play,
    )
}

fn trial(
    name: &'static str,
    turns: &'static LazyLock<Semaphore>,
    open: impl AsyncFnOnce(&'static str) -> Scene + Send + 'static,
    play: impl AsyncFnOnce(&Scene) + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        mooring_cluster::run(async {
            let _turn = turns.acquire().await.expect("never closed");
            let scene = AssertUnwindSafe(open(name)).catch_unwind().await;
            let scene = scene.map_err(|panic| Failed::from(message(&*panic)))?;
            let whole = async {
                play(&scene).await;
                scene.judge().await;
                scene.clean_up().await;
            };
            let played = AssertUnwindSafe(whole).catch_unwind().await;
            if let Err(panic) = played {
                let text = message(&*panic);
                let evidence = AssertUnwindSafe(scene.evidence()).catch_unwind().await;
                let evidence = evidence.unwrap_or_else(|_| "no evidence: see above".to_owned());
                // Its cluster stays as it is: ended, not given to another scene.
                std::mem::forget(scene);
                // Whoever sees only the end of a long output still reads what failed.
                return Err(Failed::from(format!(
                    "{text}\n{evidence}\n--- {name}: {text}"
                )));
            }
            scene.close().await;
            Ok(())
        })
    })
}

/// What a panic said.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// A failure's message is shown at the end, with its evidence; at once only the place.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(location) = panic.location() {
            eprintln!("a promise is broken at {location}");
        }
    }));
}
