use aws_sdk_ec2::error::ProvideErrorMetadata;

use crate::client::emulator;

#[tokio::test]
async fn code_and_message_arrive_unchanged() {
    let ec2 = emulator().await;
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
    for _ in 0..2 {
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
    let assign = |id: &str| {
        ec2.assign_private_ip_addresses()
            .network_interface_id(id)
            .private_ip_addresses("10.0.0.99")
    };
    assign(&ids[0]).send().await.unwrap();
    let error = assign(&ids[1]).send().await.unwrap_err();
    assert_eq!(error.code(), Some("InvalidParameterValue"));
    assert_eq!(
        error.message(),
        Some("[10.0.0.99] assigned, but move is not allowed.")
    );
    let moved = assign(&ids[1])
        .allow_reassignment(true)
        .send()
        .await
        .unwrap();
    let [address] = moved.assigned_private_ip_addresses() else {
        panic!("not one address: {moved:?}");
    };
    assert_eq!(address.private_ip_address(), Some("10.0.0.99"));
}
