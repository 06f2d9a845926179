//! The EC2 emulator: the API of EC2 (the Query protocol), and the control API of the emulator.

mod control_api;
mod fault;
mod records;

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::http::http_post;
use crate::paths::workspace_binary;
use crate::process::Process;

pub use fault::{Fault, FaultId};
pub use records::{Calls, EmulatorState, HeldCall, Instance, Interface, Mutation};

/// The region of all clusters.
pub const REGION: &str = "eu-central-1";

/// The emulator.
#[derive(Debug)]
pub struct Ec2 {
    process: Process,
    endpoint: String,
}

impl Ec2 {
    pub(crate) async fn start(logs: &Path) -> Self {
        let binary = workspace_binary("ec2-emulator", "EC2_EMULATOR_BIN");
        let process = Process::start_piped(
            "ec2-emulator",
            &binary,
            &["--listen".to_owned(), "127.0.0.1:0".to_owned()],
            logs,
        );
        let stdout = process.take_stdout().expect("stdout is piped");
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            // If the emulator ends, it closes the pipe, and the line is empty.
            let _ = BufReader::new(stdout).read_line(&mut line);
            line
        })
        .await
        .expect("the reader does not panic");
        let Some(address) = line.trim().strip_prefix("listening on ") else {
            panic!(
                "ec2-emulator said {line:?} in place of its address:\n{}",
                process.log()
            );
        };
        Self {
            endpoint: format!("http://{address}"),
            process,
        }
    }

    /// `http://127.0.0.1:PORT`, for `AWS_ENDPOINT_URL_EC2`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The process of the emulator.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Settings for a program that uses the AWS SDK: endpoint, region, test keys.
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ENDPOINT_URL_EC2", self.endpoint.as_str()),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            // The credentials of this machine must not be used.
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// Calls an action as a foreign client; the answer is XML.
    ///
    /// # Errors
    /// The body of the answer, if the action was refused.
    pub async fn try_call(
        &self,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Result<String, String> {
        let mut body = format!("Action={action}&Version=2016-11-15");
        for (key, value) in parameters {
            body.extend(["&", key, "=", &escape(value)]);
        }
        let answer = http_post(&self.endpoint, "application/x-www-form-urlencoded", body).await?;
        if answer.code == 200 {
            Ok(answer.body)
        } else {
            Err(answer.body)
        }
    }

    /// As [`Ec2::try_call`], for a call that must succeed.
    ///
    /// # Panics
    /// If the call is refused.
    pub async fn call(&self, action: &str, parameters: &[(&str, &str)]) -> String {
        self.try_call(action, parameters)
            .await
            .unwrap_or_else(|error| panic!("EC2 {action} {parameters:?}: {error}"))
    }
}

/// Form-encodes the value of a parameter of EC2.
fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // A write to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The text of the first element of that name in an XML answer.
pub(crate) fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(text.trim().to_owned())
}
