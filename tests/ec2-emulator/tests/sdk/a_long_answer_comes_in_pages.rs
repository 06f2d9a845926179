use aws_sdk_ec2::Client;

use crate::client::{emulator, refused};

async fn interfaces(ec2: &Client, count: usize) -> Vec<String> {
    let vpc = ec2
        .create_vpc()
        .cidr_block("10.0.0.0/16")
        .send()
        .await
        .unwrap();
    let vpc = vpc.vpc().unwrap().vpc_id().unwrap().to_owned();
    let subnet = ec2
        .create_subnet()
        .vpc_id(vpc)
        .cidr_block("10.0.0.0/24")
        .send()
        .await
        .unwrap();
    let subnet = subnet.subnet().unwrap().subnet_id().unwrap().to_owned();
    let mut ids = Vec::new();
    for _ in 0..count {
        let created = ec2
            .create_network_interface()
            .subnet_id(&subnet)
            .send()
            .await
            .unwrap();
        ids.push(
            created
                .network_interface()
                .unwrap()
                .network_interface_id()
                .unwrap()
                .to_owned(),
        );
    }
    ids
}

#[tokio::test]
async fn the_paginator_of_the_sdk_returns_each_item_once() {
    let ec2 = emulator().await;
    let ids = interfaces(&ec2, 13).await;
    let mut pages = ec2
        .describe_network_interfaces()
        .into_paginator()
        .page_size(5)
        .send();
    let (mut seen, mut sizes) = (Vec::new(), Vec::new());
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        sizes.push(page.network_interfaces().len());
        for interface in page.network_interfaces() {
            seen.push(interface.network_interface_id().unwrap().to_owned());
        }
    }
    assert_eq!(seen, ids);
    assert_eq!(sizes, [5, 5, 3]);
}

#[tokio::test]
async fn a_page_that_ec2_would_refuse_is_refused() {
    let ec2 = emulator().await;
    let ids = interfaces(&ec2, 1).await;
    let tiny = ec2
        .describe_network_interfaces()
        .max_results(1)
        .send()
        .await;
    assert_eq!(refused(tiny).1, "InvalidParameterValue");
    let both = ec2
        .describe_network_interfaces()
        .max_results(5)
        .network_interface_ids(&ids[0])
        .send()
        .await;
    assert_eq!(refused(both).1, "InvalidParameterCombination");
}
