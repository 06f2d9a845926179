//! The connector that the SDK uses in place of HTTP.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

use super::Cloud;
use super::execute::Answer;

/// The connection of one process to EC2.
#[derive(Clone, Debug)]
struct Connector {
    cloud: Cloud,
    client: String,
}

/// A sender waits for an answer until this is dropped.
struct Waits(Cloud);

impl Waits {
    fn new(cloud: &Cloud) -> Self {
        cloud.lock().waiting += 1;
        Self(cloud.clone())
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let answer = self.cloud.begin(&self.client, body);
        let waits = Waits::new(&self.cloud);
        HttpConnectorFuture::new(async move {
            let _waits = waits;
            match answer.await {
                Ok(Answer::Xml(status, body)) => {
                    let status = status
                        .try_into()
                        .map_err(|error| ConnectorError::user(Box::new(error)))?;
                    Ok(HttpResponse::new(status, SdkBody::from(body)))
                }
                Ok(Answer::Broken) | Err(_) => {
                    Err(ConnectorError::io("the connection broke".into()))
                }
            }
        })
    }
}

impl HttpClient for Connector {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// The configuration of the SDK for one process.
#[must_use]
pub fn configuration(cloud: &Cloud, client: &str) -> SdkConfig {
    let credentials = Credentials::new("simulated", "simulated", None, None, "simulation");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-north-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .sleep_impl(TokioSleep::new())
        .http_client(Connector {
            cloud: cloud.clone(),
            client: client.to_owned(),
        })
        .build()
}
