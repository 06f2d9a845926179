//! Measures the reservation of many IPs that are created at the same time in one block.

use std::time::Instant;

use super::Extent;
use super::cluster::{AddressFrom, Bench, Wanted};
use super::figures::{Figure, expect, number};

pub async fn at_once(bench: &mut Bench<'_>, extent: Extent) {
    let count = match extent {
        Extent::Quick => 250,
        Extent::Full => 1000,
    };
    for (address, how) in [
        (AddressFrom::Spec, "with spec.address"),
        (AddressFrom::Block, "with spec.block"),
    ] {
        bench.quiet().await;
        let wanted = Wanted {
            address,
            ..Wanted::default()
        };
        let (mark, begun) = (bench.mark().await, Instant::now());
        let ips = bench.more_ips_of(count, wanted).await;
        let took = begun.elapsed().as_secs_f64();
        bench.quiet().await;
        let counted = bench.since(&mark).await;
        let writes = counted.writes_of(&bench.ips[ips]);
        let refused = writes.iter().filter(|event| event.code >= 400).count();
        let each = number(writes.len()) / number(count);
        let key = match address {
            AddressFrom::Spec => "reserve-address",
            AddressFrom::Block => "reserve-block",
        };
        Figure::new(
            key,
            &format!("{count} IPs {how} created at once: attempts to write for each (refused in all), time"),
        )
        .goal("3 writes")
        .is(format!("{each:.2} ({refused}), {took:.1} s"));
        // Refused requests count too, because they cost the API server the same.
        expect(writes.len() <= 3 * count, || {
            let made = writes.len();
            format!("{made} writes of {count} IPs {how}, {refused} of them refused")
        });
    }
}
