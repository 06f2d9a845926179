//! Starts a separate emulator with some resources for each test.

use std::path::Path;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ec2::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_ec2::types::{InstanceType as TypeName, ResourceType, Tag, TagSpecification};
use mooring::cloud::CloudError;
use mooring::cloud::ec2::Ec2;
use mooring::metrics::Metrics;
use mooring_cluster::{Process, eventually, http_get, http_post, target};
use mooring_plan::address::Address;
use mooring_plan::names::{InstanceId, InterfaceId, SubnetId};
use mooring_plan::outcome::{Action, Outcome};
use serde_json::Value;

pub const LIMIT: Duration = Duration::from_secs(20);

/// An emulator with one subnet, and two instances with a second interface each.
pub struct World {
    pub endpoint: String,
    pub sdk: aws_sdk_ec2::Client,
    pub ec2: Ec2,
    pub metrics: Metrics,
    pub vpc: String,
    pub subnet: SubnetId,
    pub instances: Vec<InstanceId>,
    pub interfaces: Vec<InterfaceId>,
    /// The process ends when the test ends.
    _emulator: Process,
}

pub fn keys() -> Credentials {
    Credentials::new("test", "test", None, None, "the test")
}

pub fn config(endpoint: &str, credentials: impl ProvideCredentials + 'static) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

impl World {
    pub async fn start(test: &str) -> Self {
        let logs = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cloud-ec2-{test}"));
        let _ = std::fs::remove_dir_all(&logs);
        std::fs::create_dir_all(&logs).unwrap();
        let binary = target().join("debug/ec2-emulator");
        assert!(
            binary.exists(),
            "{} is not built: run `cargo build --workspace --bins`",
            binary.display()
        );
        let arguments = ["--listen".to_owned(), "127.0.0.1:0".to_owned()];
        let emulator = Process::start("ec2-emulator", &binary, &arguments, &[], &logs);
        let endpoint = eventually("the emulator prints its address", LIMIT, async || {
            let log = emulator.log();
            let line = log
                .lines()
                .find_map(|line| line.strip_prefix("listening on "));
            line.map(|address| format!("http://{}", address.trim()))
        })
        .await;
        let config = config(&endpoint, keys());
        let sdk = aws_sdk_ec2::Client::new(&config);
        let metrics = Metrics::new();
        let ec2 = Ec2::new(&config, metrics.clone());
        let vpc = sdk
            .create_vpc()
            .cidr_block("203.0.113.0/24")
            .send()
            .await
            .unwrap();
        let vpc = vpc.vpc.unwrap().vpc_id.unwrap();
        let subnet = sdk
            .create_subnet()
            .vpc_id(&vpc)
            .cidr_block("203.0.113.0/25")
            .availability_zone("eu-central-1b")
            .send()
            .await
            .unwrap();
        let subnet = subnet.subnet.unwrap().subnet_id.unwrap();
        let mut world = Self {
            endpoint,
            sdk,
            ec2,
            metrics,
            vpc,
            subnet: SubnetId::new(subnet),
            instances: Vec::new(),
            interfaces: Vec::new(),
            _emulator: emulator,
        };
        for _ in 0..2 {
            world.add_instance().await;
        }
        world
    }

    async fn add_instance(&mut self) {
        let run = self
            .sdk
            .run_instances()
            .instance_type(TypeName::T3Medium)
            .min_count(1)
            .max_count(1);
        let run = run.subnet_id(self.subnet.as_str()).send().await.unwrap();
        let instance = run.instances()[0].instance_id.clone().unwrap();
        let tag = Tag::builder()
            .key("node.k8s.amazonaws.com/no_manage")
            .value("true")
            .build();
        let tags = TagSpecification::builder()
            .resource_type(ResourceType::NetworkInterface)
            .tags(tag);
        let made = self
            .sdk
            .create_network_interface()
            .subnet_id(self.subnet.as_str());
        let made = made.tag_specifications(tags.build()).send().await.unwrap();
        let interface = made
            .network_interface
            .unwrap()
            .network_interface_id
            .unwrap();
        let attach = self
            .sdk
            .attach_network_interface()
            .network_interface_id(&interface);
        attach
            .instance_id(&instance)
            .device_index(1)
            .send()
            .await
            .unwrap();
        self.instances.push(InstanceId::new(instance));
        self.interfaces.push(InterfaceId::new(interface));
    }

    pub async fn fault(&self, fault: Value) {
        let url = format!("{}/_emulator/faults", self.endpoint);
        let answer = http_post(&url, "application/json", fault.to_string())
            .await
            .unwrap();
        assert_eq!(answer.code, 200, "{}", answer.body);
    }

    /// The number of calls of an action that the emulator has received since it started.
    pub async fn calls(&self, action: Action) -> u64 {
        let answer = http_get(&format!("{}/_emulator/calls", self.endpoint))
            .await
            .unwrap();
        let calls: Value = serde_json::from_str(&answer.body).unwrap();
        let outcomes = calls[action.name()]
            .as_object()
            .cloned()
            .unwrap_or_default();
        outcomes.values().filter_map(Value::as_u64).sum()
    }

    /// The interface that has an address.
    pub async fn holder(&self, address: Address) -> Option<InterfaceId> {
        let interfaces = self.ec2.interfaces(&self.subnet).await.unwrap();
        interfaces
            .into_iter()
            .find(|interface| interface.addresses.contains(&address))
            .map(|found| found.id)
    }
}

pub fn address(last: u8) -> Address {
    Address::v4([203, 0, 113, last])
}

pub fn refused<T: std::fmt::Debug>(result: Result<T, CloudError>) -> (Outcome, String) {
    let error = result.unwrap_err();
    (error.outcome, error.code)
}
