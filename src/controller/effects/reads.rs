//! Quorum reads: requests without a resourceVersion, which the API server answers with the newest version.
//! Rule: R1.8.

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use mooring_plan::address::Address;
use mooring_plan::cloud::InstanceState;
use mooring_plan::engine::Completion;
use mooring_plan::facts::Fact;
use mooring_plan::names::{InstanceId, IpName, IpUid};
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::step::Read;

use super::Effects;
use super::timeout::with_timeout;
use crate::api::read::{self, Fields, Reduced, Unreadable};
use crate::api::{names, watching};
use crate::cloud::CloudError;
use crate::controller::error::Failure;

impl Effects {
    pub(in crate::controller) async fn read(&self, ip: &IpName, wanted: Read) -> Completion {
        let fact = match &wanted {
            Read::Pod(key) => {
                let pods = self.apis.pods(&key.namespace);
                let found = get(&pods, &key.name, || format!("reading pod {key}"), read::pod).await;
                found.map(|pod| Fact::PodRead(key.clone(), pod))
            }
            Read::Ip(name) => {
                let doing = || format!("reading IP {name}");
                let found = get(&self.apis.ips(), name.as_str(), doing, read::ip).await;
                found.map(|ip| Fact::IpRead(name.clone(), ip))
            }
            Read::Node(name) => {
                let doing = || format!("reading node {name}");
                let found = get(&self.apis.nodes(), name.as_str(), doing, read::node).await;
                found.map(|node| Fact::NodeRead(name.clone(), node))
            }
            Read::Reservation(address) => self.reservation(*address).await,
            Read::Reservations(uid) => self.reservations(uid).await,
            Read::ReplicaSets(pod, set) => self.replica_sets(pod, set).await,
            Read::Instance(id) => return self.instance(ip, id, wanted.clone()).await,
        };
        match fact {
            Ok(fact) => fact.into(),
            Err(failure) => {
                self.failed_for(ip, &failure);
                Fact::ReadFailed {
                    ip: ip.clone(),
                    read: wanted,
                    outcome: None,
                }
                .into()
            }
        }
    }

    /// Lists all IPs in pages. Each IP has the version of the first page or a newer one. An IP that cannot be listed or
    /// read is left out.
    pub(in crate::controller) async fn list_ips(&self) -> Completion {
        let (apis, mut params) = (self.apis.ips(), watching::list());
        let mut ips = Vec::new();
        loop {
            let page = match with_timeout(|| "listing the IPs".to_owned(), apis.list(&params)).await
            {
                Ok(page) => page,
                Err(failure) => {
                    self.failed(&failure);
                    break;
                }
            };
            for object in page.items {
                let object = object.into();
                self.apis.object_cache().see(&object);
                ips.extend(read::ip(&object).ok());
            }
            match watching::next_page(&params, page.metadata.continue_) {
                Some(next) => params = next,
                None => break,
            }
        }
        Fact::IpsRead(ips).into()
    }

    async fn reservation(&self, address: Address) -> Result<Fact, Failure> {
        let doing = || format!("reading IPAddress {address}");
        let found = get(
            &self.apis.reservations(),
            &address.to_string(),
            doing,
            read::reservation,
        )
        .await?;
        Ok(Fact::ReservationRead(address, found))
    }

    async fn reservations(&self, uid: &IpUid) -> Result<Fact, Failure> {
        let ours = ListParams::default().labels(&format!("{}={uid}", names::IP_UID_ANNOTATION));
        let doing = || format!("listing the IPAddresses of IP UID {uid}");
        let list = with_timeout(doing, self.apis.reservations().list(&ours)).await?;
        let read = list
            .items
            .into_iter()
            .map(|object| read::reservation(&object.into()))
            .collect::<Result<Vec<_>, _>>();
        let list = read.map_err(|source| Failure::Unreadable {
            doing: doing(),
            source,
        })?;
        Ok(Fact::ReservationsRead(uid.clone(), list))
    }

    /// Reads the state of an instance for an IP.
    async fn instance(&self, ip: &IpName, id: &InstanceId, wanted: Read) -> Completion {
        let asked = self.cloud.instance(id).await;
        let outcome = asked.as_ref().err().map(|error| error.outcome);
        let fact = instance_read(id, asked).unwrap_or_else(|error| {
            self.failed_for(ip, &Failure::Cloud(error));
            Fact::ReadFailed {
                ip: ip.clone(),
                read: wanted,
                outcome,
            }
        });
        Completion {
            facts: vec![fact],
            called: vec![(Action::DescribeInstances, outcome)],
        }
    }
}

/// The fact of the state of an instance. "EC2 does not know the instance" and "EC2 did not answer" are different, and
/// neither proves that the instance has ended.
pub(super) fn instance_read(
    id: &InstanceId,
    asked: Result<InstanceState, CloudError>,
) -> Result<Fact, CloudError> {
    match asked {
        Ok(state) => Ok(Fact::InstanceRead(id.clone(), Some(state))),
        Err(error) if error.outcome == Outcome::InstanceNotFound => {
            Ok(Fact::InstanceRead(id.clone(), None))
        }
        Err(error) => Err(error),
    }
}

/// GET of an object. None: 404.
pub(super) async fn get<F: Fields, T>(
    api: &Api<Reduced<F>>,
    name: &str,
    doing: impl Fn() -> String,
    read: fn(&DynamicObject) -> Result<T, Unreadable>,
) -> Result<Option<T>, Failure> {
    let found = with_timeout(&doing, api.get_opt(name)).await?;
    found
        .map(|object| read(&object.into()))
        .transpose()
        .map_err(|source| Failure::Unreadable {
            doing: doing(),
            source,
        })
}
