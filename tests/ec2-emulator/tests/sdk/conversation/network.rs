//! A network with one subnet is created.

use aws_sdk_ec2::Client;

const SUBNET: &str = "10.42.1.0/24";

pub struct Place {
    pub vpc: String,
    pub subnet: String,
    pub zone: String,
}

pub async fn network(ec2: &Client) -> Place {
    let created = ec2
        .create_vpc()
        .cidr_block("10.42.0.0/16")
        .send()
        .await
        .unwrap();
    let vpc = created.vpc().unwrap();
    assert_eq!(vpc.cidr_block(), Some("10.42.0.0/16"));
    let vpc = vpc.vpc_id().unwrap().to_owned();

    let created = ec2
        .create_subnet()
        .vpc_id(&vpc)
        .cidr_block(SUBNET)
        .availability_zone("eu-north-1b")
        .send()
        .await
        .unwrap();
    let subnet = created.subnet().unwrap().subnet_id().unwrap().to_owned();

    let described = ec2
        .describe_subnets()
        .subnet_ids(&subnet)
        .send()
        .await
        .unwrap();
    let [one] = described.subnets() else {
        panic!("not one subnet: {described:?}");
    };
    assert_eq!(one.cidr_block(), Some(SUBNET));
    assert_eq!(one.vpc_id(), Some(vpc.as_str()));
    assert_eq!(one.availability_zone(), Some("eu-north-1b"));
    assert_eq!(one.available_ip_address_count(), Some(251));
    let zone = one.availability_zone().unwrap().to_owned();
    Place { vpc, subnet, zone }
}
