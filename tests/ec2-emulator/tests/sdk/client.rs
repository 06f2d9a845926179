//! The client of the SDK, and an emulator for it.

use std::fmt::Debug;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::config::retry::RetryConfig;
use aws_sdk_ec2::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use ec2_emulator::front::settings::Settings;
use ec2_emulator::front::{Emulator, serve};
use tokio::net::TcpListener;

/// A client that tries once.
pub fn client(endpoint: &str) -> Client {
    let credentials = Credentials::builder()
        .access_key_id("test")
        .secret_access_key("test")
        .provider_name("test")
        .build();
    let config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-north-1"))
        .credentials_provider(credentials)
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

/// An emulator in this process, and a client of it.
pub async fn emulator() -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Emulator::new(Settings::default())));
    client(&format!("http://{address}"))
}

/// The HTTP status and the error code of a call that must fail.
#[track_caller]
pub fn refused<T: Debug, E: ProvideErrorMetadata + Debug>(
    result: Result<T, SdkError<E>>,
) -> (u16, String) {
    match result.expect_err("this is refused") {
        SdkError::ServiceError(error) => (
            error.raw().status().as_u16(),
            error.err().code().unwrap_or("(none)").to_owned(),
        ),
        other => panic!("not an answer of EC2: {other:?}"),
    }
}
