use crate::client::{error_of, server};

#[tokio::test]
async fn with_the_code_that_ec2_has_for_it() {
    let server = server().await;
    let assign = format!(
        "Action=AssignPrivateIpAddresses&NetworkInterfaceId={}",
        server.a
    );
    let run = format!(
        "Action=RunInstances&SubnetId={}&InstanceType=m5.large",
        server.subnet
    );
    for (form, code) in [
        (String::new(), "MissingParameter"),
        ("%ff%fe&&&=;=".to_owned(), "MissingParameter"),
        ("Action=MakeTea".to_owned(), "InvalidAction"),
        (
            "Action=AssignPrivateIpAddresses".to_owned(),
            "MissingParameter",
        ),
        (assign.clone(), "MissingParameter"),
        (
            format!("{assign}&PrivateIpAddress.1=10.0.0.999"),
            "InvalidParameterValue",
        ),
        (
            format!("{assign}&PrivateIpAddress.x=10.0.0.99"),
            "MalformedQueryString",
        ),
        (
            format!("{assign}&PrivateIpAddress.1=10.0.0.99&AllowReassignment=maybe"),
            "InvalidParameterValue",
        ),
        (
            format!("{assign}&PrivateIpAddress.1=10.0.0.99&SecondaryPrivateIpAddressCount=1"),
            "InvalidParameterCombination",
        ),
        (
            format!("{assign}&PrivateIpAddress.1=10.0.0.99&DryRun=perhaps"),
            "InvalidParameterValue",
        ),
        (
            format!("{assign}&Ipv4PrefixCount=1"),
            "UnsupportedOperation",
        ),
        (
            "Action=DeleteNetworkInterface&NetworkInterfaceId=eni-x".to_owned(),
            "InvalidNetworkInterfaceID.Malformed",
        ),
        (
            "Action=DeleteNetworkInterface&NetworkInterfaceId=eni-fffffffffffffffff".to_owned(),
            "InvalidNetworkInterfaceID.NotFound",
        ),
        ("Action=StopInstances".to_owned(), "MissingParameter"),
        (
            "Action=DescribeInstances&InstanceId.1=node".to_owned(),
            "InvalidInstanceID.Malformed",
        ),
        (
            "Action=DescribeNetworkInterfaces&Filter.1.Name=colour&Filter.1.Value.1=red".to_owned(),
            "InvalidParameterValue",
        ),
        (
            "Action=DescribeNetworkInterfaces&MaxResults=many".to_owned(),
            "InvalidParameterValue",
        ),
        (
            "Action=DescribeInstanceTypes&InstanceType.1=m5.large&InstanceType.2=z9.huge"
                .to_owned(),
            "InvalidInstanceType",
        ),
        (run.clone(), "MissingParameter"),
        (
            format!("{run}&MinCount=2&MaxCount=1"),
            "InvalidParameterValue",
        ),
        (
            format!("{run}&MinCount=0&MaxCount=0"),
            "InvalidParameterValue",
        ),
        (
            "Action=CreateVpc&CidrBlock=10.0.0.0".to_owned(),
            "InvalidParameterValue",
        ),
        (
            "Action=CreateVpc&CidrBlock=10.0.0.0/8".to_owned(),
            "InvalidVpc.Range",
        ),
    ] {
        let before = server.get("state").await;
        assert_eq!(
            error_of(server.call(&form).await),
            (400, code.to_owned()),
            "{form}"
        );
        assert_eq!(server.get("state").await, before, "{form}");
    }
}
