//! Measures the time after the leader is killed or terminated until a standby attaches a new IP.

use std::sync::Arc;

use mooring_cluster::Mooring;

use super::cluster::{Bench, options};
use super::figures::Figure;
use super::timeline::millis;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Killed,
    Asked,
}

impl End {
    fn of(self, leader: &Mooring) {
        match self {
            Self::Killed => leader.kill9(),
            Self::Asked => leader.process().signal("TERM"),
        }
    }
}

pub async fn successor(bench: &mut Bench<'_>) {
    for (end, key, name, goal, cncc) in [
        (End::Killed, "killed", "kill -9", "16 s", "159 s"),
        (End::Asked, "asked", "SIGTERM", "0.7 s", ""),
    ] {
        let ips = bench.more_ips(1).await;
        let standby = bench.scene.mooring_with(options()).await;
        bench.scene.cluster().register_webhooks(&[&standby]).await;
        bench.quiet_leader().await;
        bench.full_buckets().await;
        let leader = std::mem::replace(&mut bench.mooring, Arc::clone(&standby));
        let gone = jiff::Timestamp::now();
        end.of(&leader);
        let prefix = format!("after-{}", ips.start);
        bench.pods(&prefix, ips.clone(), &(0..1)).await;
        bench.attached_one(&format!("{prefix}-{}", ips.start)).await;
        bench.attached += 1;
        let call = bench.scene.ec2().history().await.pop().expect("an Assign");
        let call = jiff::Timestamp::from_millisecond(i64::try_from(call.unix_ms).expect("a time"));
        let took = millis(gone, call.expect("a time")) / 1e3;
        let (all, attached) = (bench.ips.len(), bench.attached);
        Figure::new(
            &format!("{key}-{attached}"),
            &format!("{name} of the leader to the next EC2 call, {all} IPs, {attached} attached"),
        )
        .others(cncc, "")
        .goal(goal)
        .is(format!("{took:.1} s"));
    }
}
