//! The terminal output: steps, commands with their output, and progress during waits.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use mooring_cluster::{Cluster, Output, Probe, wait};

/// The time before progress is shown.
const PROGRESS_DELAY: Duration = Duration::from_secs(2);
/// Interval of progress lines where the last line cannot be overwritten.
const SIGN: Duration = Duration::from_secs(5);

/// The screen.
pub(crate) struct Screen {
    begin: Instant,
    terminal: bool,
    /// The number of the last step, and of all steps.
    steps: (u32, u32),
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self::with_steps(0)
    }

    /// A screen that shows this number of steps.
    pub(crate) fn with_steps(count: u32) -> Self {
        Self {
            begin: Instant::now(),
            terminal: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            steps: (0, count),
        }
    }

    fn styled(&self, style: &str, text: &str) -> String {
        if self.terminal {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Starts the next step.
    pub(crate) fn step(&mut self, title: &str) {
        self.steps.0 += 1;
        let (number, count) = self.steps;
        let at = self.begin.elapsed().as_secs();
        let line = format!("{number} of {count}. {title}  [{at} s]");
        println!("\n{}", self.styled("1;36", &line));
    }

    /// Shows a note.
    pub(crate) fn note(&self, text: &str) {
        for line in text.lines() {
            println!("{}", self.styled("2", &format!("# {line}")));
        }
    }

    /// Shows the content of a file.
    pub(crate) fn file(&self, path: &str, text: &str) {
        println!("{}\n{text}", self.styled("1", &format!("$ cat {path}")));
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Runs kubectl, and shows the command and its output.
    pub(crate) async fn kubectl(
        &self,
        cluster: &Cluster,
        arguments: &str,
    ) -> Result<Output, String> {
        println!("{}", self.styled("1", &format!("$ kubectl {arguments}")));
        let work = cluster.kubectl(arguments.split(' '));
        let output = self.during(&format!("kubectl {arguments}"), work).await;
        print!("{}{}", output.stdout, output.stderr);
        // If stdout is a closed pipe, the output is lost.
        let _ = std::io::stdout().flush();
        if output.ok {
            Ok(output)
        } else {
            Err(format!("kubectl {arguments} failed"))
        }
    }

    /// Waits until something is true.
    pub(crate) async fn until<P: Probe, F: Future<Output = P>>(
        &self,
        sentence: &str,
        limit: Duration,
        look: impl FnMut() -> F,
    ) -> Result<P::Value, String> {
        self.during(sentence, wait(limit, look))
            .await
            .map_err(|seen| format!("not within {limit:?}: {sentence}\nlast seen: {seen}"))
    }

    /// Waits for a future, and shows progress if it takes more than two seconds.
    pub(crate) async fn during<F: Future>(&self, sentence: &str, work: F) -> F::Output {
        let begin = Instant::now();
        let mut work = std::pin::pin!(work);
        let mut next = PROGRESS_DELAY;
        loop {
            let pause = next.saturating_sub(begin.elapsed());
            tokio::select! {
                done = &mut work => {
                    if self.terminal && begin.elapsed() >= PROGRESS_DELAY {
                        print!("\r\x1b[K");
                    }
                    return done;
                }
                () = tokio::time::sleep(pause) => {
                    let line = format!("  ... {sentence}: {} s", begin.elapsed().as_secs());
                    if self.terminal {
                        print!("\r\x1b[K{}", self.styled("2", &line));
                        let _ = std::io::stdout().flush();
                        next += Duration::from_secs(1);
                    } else {
                        println!("{line}");
                        next += SIGN;
                    }
                }
            }
        }
    }
}
