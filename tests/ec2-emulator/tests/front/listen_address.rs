use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::client::at;

#[tokio::test]
async fn in_one_line_and_serves_there() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_ec2-emulator"))
        .args([
            "--listen",
            "127.0.0.1:0",
            "--lag-ms",
            "7",
            "--token-buckets",
            "false",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let address = line.strip_prefix("listening on ").unwrap();
    let server = at(address.to_owned());
    let settings = server.get("settings").await;
    assert_eq!(settings["lag_ms"], 7);
    assert_eq!(settings["token_buckets"], false);
    assert_eq!(server.call("Action=DescribeSubnets").await.unwrap().0, 200);
}
