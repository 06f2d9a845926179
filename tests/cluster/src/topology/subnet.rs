//! Subnets.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use crate::cluster::Cluster;
use crate::ec2::{REGION, element};

/// A subnet in a separate VPC.
#[derive(Clone, Debug)]
pub struct Subnet {
    /// `subnet-...`
    pub id: String,
    /// Its CIDR.
    pub cidr: String,
    next: Arc<Mutex<u32>>,
}

impl Subnet {
    /// Interfaces get their primary addresses from the end of the range, so that tests can use the low addresses.
    pub(super) fn next_primary(&self) -> String {
        let mut next = self.next.lock().unwrap();
        *next -= 1;
        Ipv4Addr::from(*next).to_string()
    }
}

impl Cluster {
    /// Makes a subnet and a VPC for it.
    pub async fn add_subnet(&self, cidr: &str) -> Subnet {
        let answer = self.ec2().call("CreateVpc", &[("CidrBlock", cidr)]).await;
        let vpc = element(&answer, "vpcId").expect("CreateVpc answers with an id");
        let zone = format!("{REGION}a");
        let parameters = [
            ("VpcId", vpc.as_str()),
            ("CidrBlock", cidr),
            ("AvailabilityZone", zone.as_str()),
        ];
        let answer = self.ec2().call("CreateSubnet", &parameters).await;
        let id = element(&answer, "subnetId").expect("CreateSubnet answers with an id");
        let (network, length) = cidr.split_once('/').expect("a CIDR");
        let network: u32 = network.parse::<Ipv4Addr>().expect("a CIDR").into();
        let size = 1_u32 << (32 - length.parse::<u32>().expect("a CIDR"));
        // AWS reserves the last address of a subnet.
        Subnet {
            id,
            cidr: cidr.to_owned(),
            next: Arc::new(Mutex::new(network + size - 1)),
        }
    }

    /// The subnet of the primary interfaces, which has no block.
    pub(super) async fn node_subnet(&self) -> Subnet {
        let mut subnet = self.node_subnet.lock().await;
        if let Some(subnet) = subnet.as_ref() {
            return subnet.clone();
        }
        let made = self.add_subnet("10.77.0.0/16").await;
        *subnet = Some(made.clone());
        made
    }
}
