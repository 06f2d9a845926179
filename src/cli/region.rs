//! Waits for the AWS region. Without it no call of EC2 can be made, so the process must not lead.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

use super::pod_events::PodEvents;

/// The first and the longest wait between two looks at the environment.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The reason of the Event.
const REASON: &str = "RegionMissing";
const NOTE: &str = "no AWS region is known, so this replica does not run the controller: set AWS_REGION, or make the \
                    metadata service of the instance reachable";

/// What `look` finds. It has found nothing just before, and is repeated until it finds something.
pub async fn wait<T, F>(look: impl Fn() -> F, events: PodEvents) -> T
where
    F: Future<Output = Option<T>>,
{
    let waits = ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times();
    for wait in waits.build() {
        tracing::warn!("{NOTE}");
        events.warn(REASON, NOTE.to_owned());
        tokio::time::sleep(wait).await;
        if let Some(found) = look().await {
            return found;
        }
    }
    // The waits have no end.
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::wait;
    use crate::cli::pod_events::PodEvents;

    #[tokio::test(start_paused = true)]
    async fn a_region_that_comes_late_is_found_within_a_minute() {
        let begun = Instant::now();
        let comes = begun + Duration::from_mins(10);
        let look = || async move { (Instant::now() >= comes).then_some("eu-central-1") };
        let region = wait(look, PodEvents::none()).await;
        assert_eq!(region, "eu-central-1");
        assert!(comes.elapsed() <= Duration::from_mins(1), "{comes:?}");
    }
}
