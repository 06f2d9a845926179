//! The parts of an `IP` that the caches keep. The whole object takes ten times the memory.

use kube::api::{DynamicObject, ObjectMeta};
use mooring_plan::address::Address;
use mooring_plan::admission::address::{Asked, Other};
use mooring_plan::names::{BlockName, IpName, IpUid, Namespace, PodKey};
use mooring_plan::objects::Namespaces;
use serde::Deserialize as _;
use serde_json::Value;

use crate::api::read::{desired_address, namespaces};
use crate::api::{Ip, IpSpec, IpStatus, Route};

/// The parts of an `IP` that verdicts depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownIp {
    /// Its name.
    pub name: IpName,
    /// Its UID.
    pub uid: IpUid,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The address that its spec asks for. An address that cannot be parsed counts as none: the schema refuses it.
    pub desired: Option<Address>,
    /// The block that its spec names.
    pub block: Option<BlockName>,
    /// The namespaces whose pods may have it.
    pub namespaces: Namespaces,
    /// Its own routes. Nearly all IPs have none, and an empty slice takes no memory of its own.
    pub routes: Box<[Route]>,
    /// The address that is reserved for it.
    pub reserved: Option<Address>,
    /// The block that contains the reserved address.
    pub reserved_in: Option<BlockName>,
    /// The pod that holds the address. None: no pod holds it.
    pub holder: Option<PodKey>,
    /// Whether the address is being detached from the holder, which can be gone.
    pub detaching: bool,
}

impl KnownIp {
    /// Reads an object from a watch event.
    ///
    /// # Errors
    /// The object does not match the schema.
    pub fn read(object: &DynamicObject) -> Result<Self, serde_json::Error> {
        let spec = IpSpec::deserialize(object.data.get("spec").unwrap_or(&Value::Null))?;
        let status = object.data.get("status").unwrap_or(&Value::Null);
        let status = Option::<IpStatus>::deserialize(status)?.unwrap_or_default();
        Ok(Self::new(&object.metadata, &spec, &status))
    }

    fn new(metadata: &ObjectMeta, spec: &IpSpec, status: &IpStatus) -> Self {
        Self {
            name: IpName::from(metadata.name.as_deref().unwrap_or_default()),
            uid: IpUid::from(metadata.uid.as_deref().unwrap_or_default()),
            deleting: metadata.deletion_timestamp.is_some(),
            desired: desired_address(spec),
            block: spec.block.as_deref().map(BlockName::from),
            namespaces: namespaces(spec.allowed_namespaces.as_deref()),
            routes: spec.routes.as_slice().into(),
            reserved: status.reserved_address(),
            reserved_in: status.block.as_deref().map(BlockName::from),
            holder: status.holder(),
            detaching: status.is_detaching(),
        }
    }

    /// Whether pods of this namespace may have it.
    #[must_use]
    pub fn allows(&self, namespace: &Namespace) -> bool {
        self.namespaces.allow(namespace)
    }

    /// The address and the block that it asks for.
    #[must_use]
    pub fn asked(&self) -> Asked {
        Asked {
            name: self.name.clone(),
            address: self.desired,
            block: self.block.clone(),
        }
    }

    /// Converts it to the input of the address rules.
    #[must_use]
    pub fn as_other(&self) -> Other {
        Other {
            name: self.name.clone(),
            desired: self.desired,
            reserved: self.reserved,
            block: self.reserved_in.as_ref().or(self.block.as_ref()).cloned(),
            deleting: self.deleting,
        }
    }
}

impl From<&Ip> for KnownIp {
    fn from(ip: &Ip) -> Self {
        let none = IpStatus::default();
        Self::new(&ip.metadata, &ip.spec, ip.status.as_ref().unwrap_or(&none))
    }
}
