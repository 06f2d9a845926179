use crate::client::{emulator, refused};

#[tokio::test]
async fn an_allowed_dry_run_reports_it_and_creates_nothing() {
    let ec2 = emulator().await;
    let vpc = ec2
        .create_vpc()
        .cidr_block("10.0.0.0/16")
        .send()
        .await
        .unwrap();
    let vpc = vpc.vpc().unwrap().vpc_id().unwrap().to_owned();
    let subnet = ec2.create_subnet().vpc_id(&vpc).cidr_block("10.0.0.0/24");
    let dry = subnet.clone().dry_run(true).send().await;
    assert_eq!(refused(dry), (412, "DryRunOperation".to_owned()));
    assert!(
        ec2.describe_subnets()
            .send()
            .await
            .unwrap()
            .subnets()
            .is_empty()
    );
    subnet.send().await.unwrap();
}
