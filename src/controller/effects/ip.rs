//! Writes of an `IP`: status, finalizer, the one-use annotation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::DynamicObject;
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::IpStatus;
use mooring_plan::step::Moved;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Effects;
use super::amend::{Amended, Guard, Part, amend_known, finalizers};
use crate::api::read::{ip_status_patch, unreadable_ip_patch};
use crate::api::{self, names};
use crate::cloud::Cloud;
use crate::controller::error::Failure;

impl<C: Cloud> Effects<C> {
    pub(super) async fn write_status(
        &self,
        name: &IpName,
        version: ResourceVersion,
        status: &IpStatus,
        moved: Moved,
    ) -> Result<Amended, Failure> {
        let now = Time(Timestamp::now());
        self.change_ip(name, version, Part::Status, |ip| {
            let before = match ip.data.get("status") {
                None | Some(Value::Null) => api::IpStatus::default(),
                Some(status) => api::IpStatus::deserialize(status)?,
            };
            Ok(Some(
                json!({"status": ip_status_patch(status, &before, moved, &now)?}),
            ))
        })
        .await
    }

    /// Says on an `IP` that it cannot be read. Whatever else its status holds is left to be mended.
    pub(super) async fn say_unreadable(
        &self,
        name: &IpName,
        version: ResourceVersion,
        message: &str,
    ) -> Result<Amended, Failure> {
        let now = Time(Timestamp::now());
        self.change_ip(name, version, Part::Status, |ip| {
            Ok(unreadable_ip_patch(ip, message, &now))
        })
        .await
    }

    pub(super) async fn finalizer(
        &self,
        name: &IpName,
        version: ResourceVersion,
        wanted: bool,
    ) -> Result<Amended, Failure> {
        self.change_ip(name, version, Part::Object, |ip| {
            Ok(finalizers(ip, names::IP_FINALIZER, wanted))
        })
        .await
    }

    pub(super) async fn drop_take_from(
        &self,
        name: &IpName,
        version: ResourceVersion,
    ) -> Result<Amended, Failure> {
        self.change_ip(name, version, Part::Object, |_| {
            Ok(Some(
                json!({"metadata": {"annotations": {names::TAKE_FROM_ANNOTATION: null}}}),
            ))
        })
        .await
    }

    /// Each is made of the very version that it was decided from, and guarded by it.
    async fn change_ip(
        &self,
        name: &IpName,
        version: ResourceVersion,
        part: Part,
        change: impl FnOnce(&DynamicObject) -> Result<Option<Value>, serde_json::Error>,
    ) -> Result<Amended, Failure> {
        let guard = Guard {
            uid: None,
            version: Some(version),
        };
        let latest = self.kinds.latest();
        let amended = amend_known(
            latest.at(name.as_str(), version),
            &self.kinds.ips(),
            &format!("IP {name}"),
            name.as_str(),
            guard,
            part,
            change,
        )
        .await?;
        if let Amended::Done(ip) | Amended::Changed(ip) = &amended {
            latest.see(ip);
        }
        Ok(amended)
    }
}
