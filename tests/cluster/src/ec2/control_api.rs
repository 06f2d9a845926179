//! The control API of the emulator: counters, history, state and faults.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Calls, Ec2, EmulatorState, Fault, FaultId, HeldCall, Mutation};
use crate::http::{http_get, http_post, http_send};

impl Ec2 {
    /// The number of calls since the start or the last [`Ec2::reset_counters`], by any client. Calls of `add_node` and
    /// similar functions count too.
    pub async fn calls(&self) -> Calls {
        self.control_api("calls").await
    }

    /// Resets the counters.
    pub async fn reset_counters(&self) {
        self.post_control_api("reset-counters", &json!({})).await;
    }

    /// Every execution of a call that may change something, since the start.
    pub async fn history(&self) -> Vec<Mutation> {
        self.control_api("history").await
    }

    /// The executions of Assign and Unassign that name an address.
    pub async fn history_of(&self, address: &str) -> Vec<Mutation> {
        let mut history = self.history().await;
        history.retain(|mutation| {
            mutation.action.ends_with("PrivateIpAddresses")
                && mutation.addresses.iter().any(|other| other == address)
        });
        history
    }

    /// The state of EC2.
    pub async fn state(&self) -> EmulatorState {
        self.control_api("state").await
    }

    /// The interface that has this secondary address.
    pub async fn address_on(&self, address: &str) -> Option<String> {
        let state = self.state().await;
        let mut interfaces = state.network_interfaces.into_iter();
        interfaces
            .find(|interface| interface.secondary.iter().any(|other| other == address))
            .map(|interface| interface.network_interface_id)
    }

    /// The MAC address of an interface in EC2.
    pub async fn mac_of(&self, interface: &str) -> String {
        let parameters = [("NetworkInterfaceId.1", interface)];
        let shown = self.call("DescribeNetworkInterfaces", &parameters).await;
        let (_, rest) = shown.split_once("<macAddress>").expect("it has a MAC");
        rest.split_once('<').expect("XML").0.to_owned()
    }

    /// The secondary addresses of an interface. `None`: it does not exist.
    pub async fn addresses_of(&self, interface: &str) -> Option<Vec<String>> {
        let state = self.state().await;
        let mut interfaces = state.network_interfaces.into_iter();
        interfaces
            .find(|other| other.network_interface_id == interface)
            .map(|interface| interface.secondary)
    }

    /// Orders a fault for the next matching calls.
    pub async fn fault(&self, fault: Fault) -> FaultId {
        let answer = self.post_control_api("faults", &fault.0).await;
        FaultId(answer["id"].as_u64().expect("a fault has a number"))
    }

    /// Removes a fault, if it is still pending. Calls that it holds stay held.
    pub async fn clear_fault(&self, fault: FaultId) {
        let url = format!("{}/_emulator/faults/{}", self.endpoint(), fault.0);
        // 404: the fault has affected its last call already.
        http_send("DELETE", &url, "", String::new())
            .await
            .expect("the emulator answers");
    }

    /// Removes all faults. Held calls stay held.
    pub async fn clear_faults(&self) {
        let url = format!("{}/_emulator/faults", self.endpoint());
        http_send("DELETE", &url, "", String::new())
            .await
            .expect("the emulator answers");
    }

    /// The held calls.
    pub async fn held(&self) -> Vec<HeldCall> {
        #[derive(Deserialize)]
        struct Faults {
            held: Vec<HeldCall>,
        }
        self.control_api::<Faults>("faults").await.held
    }

    /// Releases the calls that a fault holds.
    pub async fn release(&self, fault: FaultId) {
        self.post_control_api("release", &json!({"fault": fault.0}))
            .await;
    }

    /// Releases every held call.
    pub async fn release_all(&self) {
        self.post_control_api("release", &json!({"all": true}))
            .await;
    }

    /// Closes the connections of the held calls. A call that was not executed is never executed.
    pub async fn drop_held(&self, fault: FaultId) {
        self.post_control_api("release", &json!({"fault": fault.0, "drop": true}))
            .await;
    }

    /// Changes settings of the emulator: `lag_ms` (of Describes), `latency_ms` (`{"default": 5}`), `token_buckets`
    /// (`false`: no throttling), `bucket_sizes`, `tokens` (the remaining tokens). Omitted fields do not change.
    pub async fn settings(&self, changes: &Value) {
        self.post_control_api("settings", changes).await;
    }

    async fn control_api<T: DeserializeOwned>(&self, path: &str) -> T {
        let answer = http_get(&format!("{}/_emulator/{path}", self.endpoint()))
            .await
            .expect("the emulator answers");
        assert_eq!(answer.code, 200, "GET /_emulator/{path}: {}", answer.body);
        serde_json::from_str(&answer.body)
            .unwrap_or_else(|error| panic!("/_emulator/{path}: {error}: {}", answer.body))
    }

    async fn post_control_api(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}/_emulator/{path}", self.endpoint());
        let answer = http_post(&url, "application/json", body.to_string())
            .await
            .expect("the emulator answers");
        assert!(
            answer.code < 300,
            "POST /_emulator/{path} {body}: {}",
            answer.body
        );
        serde_json::from_str(&answer.body).unwrap_or_default()
    }
}
