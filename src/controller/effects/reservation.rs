//! Writes of an `IPAddress`: the reservation of an address.
//! Rules: R2.1, R2.2, R2.23.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams, Preconditions};
use kube::core::ObjectMeta;
use mooring_plan::address::Address;
use mooring_plan::names::{IpName, IpUid, ResourceVersion};
use mooring_plan::objects::Reservation;
use serde_json::{Value, json};

use super::Effects;
use super::patch::{Guard, PatchOutcome, Subresource, finalizers, patch};
use super::timeout::with_timeout;
use crate::api::{names, read};
use crate::controller::apis;
use crate::controller::error::Failure;

impl Effects {
    /// Creates the reservation. The API server allows only one object of a name, and this makes the address unique.
    pub(super) async fn reserve(
        &self,
        ip: &IpName,
        uid: &IpUid,
        address: Address,
    ) -> Result<PatchOutcome, Failure> {
        let parent = json!({"spec": {"parentRef": read::parent(ip)}});
        let mut reservation =
            DynamicObject::new(&address.to_string(), &apis::reservation()).data(parent);
        reservation.metadata = metadata(ip, uid, address);
        let doing = || format!("reserving {address} for IP {ip}");
        let reservations: Api<DynamicObject> = self.apis.all(&apis::reservation());
        let created = with_timeout(
            doing,
            reservations.create(&PostParams::default(), &reservation),
        )
        .await?;
        Ok(PatchOutcome::Done(created))
    }

    /// Repairs owner, labels and finalizer, and writes the version of the IP that this was decided from.
    pub(super) async fn repair(
        &self,
        ip: &IpName,
        uid: &IpUid,
        wanted_at: ResourceVersion,
        reservation: &Reservation,
    ) -> Result<PatchOutcome, Failure> {
        let name = reservation.address.to_string();
        patch(
            &self.apis.reservations(),
            &object(reservation),
            &name,
            guard(reservation),
            Subresource::Object,
            |object| {
                let mut owners = object.metadata.owner_references.clone().unwrap_or_default();
                owners.retain(|owner| {
                    owner.kind != "IP" || !owner.api_version.starts_with(names::GROUP)
                });
                let mut owners = serde_json::to_value(owners)?;
                if let Value::Array(owners) = &mut owners {
                    owners.push(owner(ip, uid));
                }
                let mut patch = json!({"metadata": {
                    "labels": labels(uid),
                    "annotations": {names::WANTED_AT_ANNOTATION: wanted_at.to_string()},
                    "ownerReferences": owners,
                }});
                // The API server refuses a new finalizer on an object that is being deleted.
                if object.metadata.deletion_timestamp.is_none()
                    && let Some(finalizers) = finalizers(object, names::RESERVATION_FINALIZER, true)
                {
                    merge(&mut patch, finalizers);
                }
                Ok(Some(patch))
            },
        )
        .await
    }

    /// Deletes the reservation and removes its finalizer. If a crash prevents one of the two, the next attempt makes
    /// it.
    pub(super) async fn release(&self, reservation: &Reservation) -> Result<PatchOutcome, Failure> {
        let name = reservation.address.to_string();
        let reservations = self.apis.reservations();
        // Another IP can adopt the reservation at any time, also while it is being deleted.
        let mut version = Some(reservation.version);
        if !reservation.deleting {
            let only_this = Preconditions {
                uid: Some(reservation.uid.clone()),
                resource_version: Some(reservation.version.to_string()),
            };
            let params = DeleteParams::default().preconditions(only_this);
            let doing = || format!("deleting {}", object(reservation));
            match with_timeout(doing, reservations.delete(&name, &params)).await {
                Ok(deleted) => {
                    let deleted = deleted.left();
                    let deleted = deleted.and_then(|object| read::reservation(&object.into()).ok());
                    version = deleted.map(|deleted| deleted.version);
                }
                Err(failure) if failure.is_not_found() => return Ok(PatchOutcome::Gone),
                Err(failure) => return Err(failure),
            }
        }
        let only_this = Guard {
            uid: Some(&reservation.uid),
            version,
        };
        patch(
            &reservations,
            &object(reservation),
            &name,
            only_this,
            Subresource::Object,
            |object| Ok(finalizers(object, names::RESERVATION_FINALIZER, false)),
        )
        .await
    }
}

fn object(reservation: &Reservation) -> String {
    format!("IPAddress {}", reservation.address)
}

fn guard(reservation: &Reservation) -> Guard<'_> {
    Guard {
        uid: Some(&reservation.uid),
        version: Some(reservation.version),
    }
}

fn labels(uid: &IpUid) -> Value {
    json!({names::MANAGED_BY_LABEL: names::MANAGED_BY, names::IP_UID_ANNOTATION: uid.as_str()})
}

/// The owner reference. `blockOwnerDeletion` is false: in a foreground deletion the IP must not wait for the
/// reservation, because the release of the reservation waits for the IP.
fn owner(ip: &IpName, uid: &IpUid) -> Value {
    json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": "IP",
        "name": ip.as_str(),
        "uid": uid.as_str(),
        "blockOwnerDeletion": false,
    })
}

fn metadata(ip: &IpName, uid: &IpUid, address: Address) -> ObjectMeta {
    let labels = [
        (names::MANAGED_BY_LABEL, names::MANAGED_BY),
        (names::IP_UID_ANNOTATION, uid.as_str()),
    ];
    ObjectMeta {
        name: Some(address.to_string()),
        labels: Some(
            labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
        ),
        owner_references: serde_json::from_value(json!([owner(ip, uid)])).ok(),
        finalizers: Some(vec![names::RESERVATION_FINALIZER.to_owned()]),
        ..ObjectMeta::default()
    }
}

fn merge(patch: &mut Value, more: Value) {
    match (patch, more) {
        (Value::Object(patch), Value::Object(more)) => {
            for (key, value) in more {
                merge(patch.entry(key).or_insert(Value::Null), value);
            }
        }
        (patch, more) => *patch = more,
    }
}
