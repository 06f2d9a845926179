//! A minimal HTTP client that can detect a connection that is closed without an answer.

use std::future::Future;
use std::time::{Duration, Instant};

use ec2_emulator::front::settings::Settings;
use ec2_emulator::front::{Emulator, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

const TIMEOUT: Duration = Duration::from_secs(20);

/// An emulator in this process, with a subnet and two interfaces.
#[derive(Clone)]
pub struct Server {
    address: String,
    pub subnet: String,
    pub a: String,
    pub b: String,
}

pub const ADDRESS: &str = "10.0.0.99";

/// The response: status and body; `None` if the connection was closed without a response.
pub type Answer = Option<(u16, String)>;

pub async fn server() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut server = at(listener.local_addr().unwrap().to_string());
    tokio::spawn(serve(listener, Emulator::new(Settings::default())));
    let vpc = server
        .create("Action=CreateVpc&CidrBlock=10.0.0.0/16", "vpcId")
        .await;
    let subnet = format!("Action=CreateSubnet&VpcId={vpc}&CidrBlock=10.0.0.0/24");
    server.subnet = server.create(&subnet, "subnetId").await;
    let interface = format!("Action=CreateNetworkInterface&SubnetId={}", server.subnet);
    server.a = server.create(&interface, "networkInterfaceId").await;
    server.b = server.create(&interface, "networkInterfaceId").await;
    server.post("reset-counters", &json!({})).await;
    server
}

pub fn at(address: String) -> Server {
    Server {
        address,
        subnet: String::new(),
        a: String::new(),
        b: String::new(),
    }
}

impl Server {
    async fn send(&self, head: &str, content_type: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: ec2\r\nConnection: close\r\nContent-Type: {content_type}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split_whitespace().nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }

    /// A call of EC2.
    pub async fn call(&self, form: &str) -> Answer {
        self.send("POST /", "application/x-www-form-urlencoded", form)
            .await
    }

    async fn create(&self, form: &str, element: &str) -> String {
        let (status, body) = self.call(form).await.unwrap();
        assert_eq!(status, 200, "{body}");
        element_of(&body, element)
    }

    pub async fn assign(&self, interface: &str, address: &str) -> Answer {
        let form = "Action=AssignPrivateIpAddresses";
        self.call(&format!(
            "{form}&NetworkInterfaceId={interface}&PrivateIpAddress.1={address}"
        ))
        .await
    }

    /// The same as [`Self::assign`], with `AllowReassignment`.
    pub async fn reassign(&self, interface: &str, address: &str) -> Answer {
        let form = "Action=AssignPrivateIpAddresses&AllowReassignment=true";
        self.call(&format!(
            "{form}&NetworkInterfaceId={interface}&PrivateIpAddress.1={address}"
        ))
        .await
    }

    /// A GET to the control API.
    pub async fn get(&self, path: &str) -> Value {
        let answer = self
            .send(&format!("GET /_emulator/{path}"), "text/plain", "")
            .await;
        let (status, body) = answer.unwrap();
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// A POST to the control API, with the status.
    pub async fn try_post(&self, path: &str, body: &Value) -> (u16, String) {
        let head = format!("POST /_emulator/{path}");
        self.send(&head, "application/json", &body.to_string())
            .await
            .unwrap()
    }

    /// A POST to the control API that must succeed.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.try_post(path, body).await;
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    pub async fn delete(&self, path: &str) -> u16 {
        let head = format!("DELETE /_emulator/{path}");
        self.send(&head, "text/plain", "").await.unwrap().0
    }

    /// The interfaces that have the address as a secondary one, in the current state of EC2. More than one is an error.
    pub async fn holders(&self, address: &str) -> String {
        let state = self.get("state").await;
        let interfaces = state["network_interfaces"].as_array().unwrap();
        interfaces
            .iter()
            .filter(|one| {
                one["secondary"]
                    .as_array()
                    .unwrap()
                    .contains(&json!(address))
            })
            .filter_map(|one| one["network_interface_id"].as_str())
            .collect::<Vec<_>>()
            .join(" and ")
    }

    /// The number of calls of an action with this outcome.
    pub async fn count(&self, action: &str, outcome: &str) -> u64 {
        self.get("calls").await[action][outcome]
            .as_u64()
            .unwrap_or(0)
    }

    /// Waits until this number of calls is held, and returns them.
    pub async fn held(&self, count: usize) -> Vec<Value> {
        until(&format!("{count} calls are held"), async || {
            let faults = self.get("faults").await;
            let held = faults["held"].as_array().unwrap().clone();
            if held.len() == count {
                Ok(held)
            } else {
                Err(faults)
            }
        })
        .await
    }
}

/// Waits for a condition. If it does not become true, the last evidence is printed.
pub async fn until<T, F: Future<Output = Result<T, Value>>>(what: &str, look: impl Fn() -> F) -> T {
    let begun = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(evidence) => {
                assert!(
                    begun.elapsed() < TIMEOUT,
                    "not {what} after {TIMEOUT:?}: {evidence:#}"
                );
            }
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// The text of the first element of this name.
pub fn element_of(xml: &str, name: &str) -> String {
    let (_, rest) = xml
        .split_once(&format!("<{name}>"))
        .unwrap_or_else(|| panic!("no {name}: {xml}"));
    rest.split_once('<').unwrap().0.to_owned()
}

/// Status and code of an error answer.
#[track_caller]
pub fn error_of(answer: Answer) -> (u16, String) {
    let (status, body) = answer.expect("an answer");
    (status, element_of(&body, "Code"))
}
