//! Is the state what is wished for?

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::cloud::Cloud;
use crate::replicas::is_ours;
use crate::world::{Kind, PLUGINS, World};

/// Is the state what is wished for? If not, what is missing.
///
/// # Errors
/// The first thing that is not as it is to be.
pub fn as_wished(world: &World) -> Result<(), String> {
    let ips = world.cluster.list("ips");
    let pods = world.living();
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    let mut reserved = BTreeSet::new();
    if let Some(block) = world.leaving.first() {
        return Err(format!("block {block} is still to go and to be made again"));
    }
    for ip in &ips {
        let name = text(ip, "/metadata/name");
        let told = || format!("IP {name}: {}", ip["status"]);
        if !ip["metadata"]["deletionTimestamp"].is_null() {
            return Err(format!("IP {name} is still there: {ip}"));
        }
        let address = text(ip, "/status/address");
        if address.is_empty() {
            if taken(world, &ips, ip) {
                continue;
            }
            return Err(format!("nothing is reserved for {}", told()));
        }
        reserved.insert(address.to_owned());
        if is_kept(world, address) {
            if ip["status"]["assigned"] == true {
                return Err(format!("an interface keeps it: {}", told()));
            }
            if ip["spec"]["address"].is_null() {
                return Err(format!("an interface keeps what was chosen for {}", told()));
            }
            continue;
        }
        let asking: Vec<&Value> = pods
            .iter()
            .map(|pod| &**pod)
            .filter(|pod| asks(world, pod, ip))
            .collect();
        let saying: Vec<&str> = asking
            .iter()
            .filter(|pod| attached(pod))
            .map(|pod| text(pod, "/metadata/name"))
            .collect();
        if asking.is_empty() {
            if ip["status"]["claimed"] == true {
                return Err(format!("nobody asks for {}", told()));
            }
            continue;
        }
        let holder = asking
            .iter()
            .find(|pod| pod["metadata"]["uid"] == ip["status"]["podUID"]);
        let Some(holder) = holder else {
            return Err(format!("{} pods ask for {}", asking.len(), told()));
        };
        let node = text(holder, "/spec/nodeName");
        let interface = text(ip, "/status/networkInterfaceID").to_owned();
        if ip["status"]["assigned"] != true || !is_of(world, node, ip, &interface) {
            return Err(format!("its pod is on {node}: {}", told()));
        }
        if saying != [text(holder, "/metadata/name")] {
            return Err(format!("{saying:?} say True for {}", told()));
        }
        placed.insert(address.to_owned(), interface);
    }
    let there = world.cloud.look(|ec2| {
        let interfaces = ec2.interfaces().flat_map(|interface| {
            let id = interface.id.to_string();
            let secondary = interface.secondary.iter();
            let plugins = |address: &Ipv4Addr| PLUGINS.contains(&address.octets()[3]);
            let ours = secondary.filter(move |address| !(world.shape.plugin && plugins(address)));
            ours.map(move |address| (address.to_string(), id.clone()))
        });
        interfaces.collect::<BTreeMap<String, String>>()
    });
    if there != placed {
        return Err(format!("EC2 has {there:?}, and it should be {placed:?}"));
    }
    let left = world.cluster.list("ipaddresses");
    let left: BTreeSet<String> = left
        .iter()
        .map(|one| text(one, "/metadata/name").to_owned())
        .collect();
    if left != reserved {
        return Err(format!(
            "reserved is {left:?}, and it should be {reserved:?}"
        ));
    }
    rolled_out(world)
}

/// Is the state what is wished for, and does no IP name a place that is empty? (Two inventories have to show that.)
///
/// # Errors
/// The first thing that is not as it is to be.
pub fn tidied(world: &World) -> Result<(), String> {
    as_wished(world)?;
    let ips = world.cluster.list("ips");
    let named = ips.iter().find(|ip| {
        let address = text(ip, "/status/address");
        let places = ip["status"]["previous"].as_array();
        !address.is_empty()
            && !is_kept(world, address)
            && places.is_some_and(|places| !places.is_empty())
    });
    match named {
        Some(ip) => Err(format!("places are named that are empty: {ip}")),
        None => Ok(()),
    }
}

/// Does somebody else have what the IP is to have: its address, or all of its block?
fn taken(world: &World, ips: &[Arc<Value>], ip: &Value) -> bool {
    let wished = &ip["spec"]["address"];
    let had = |address: &Value| {
        let mut others = ips.iter().map(|other| &other["status"]["address"]);
        others.any(|other| other == address)
    };
    if !wished.is_null() {
        return had(wished) || is_kept(world, wished.as_str().unwrap_or_default());
    }
    let Some(range) = world.blocks.get(text(ip, "/spec/block")) else {
        return false;
    };
    let subnet = world.subnets[&range.third];
    let on_an_interface = |address| {
        world
            .cloud
            .look(|ec2| ec2.holder(subnet, address).is_some())
            || is_kept(world, &address.to_string())
    };
    range
        .addresses()
        .all(|address| had(&json!(address)) || on_an_interface(address))
}

/// Is it an interface of the node, in the subnet of the IP's block?
fn is_of(world: &World, node: &str, ip: &Value, interface: &str) -> bool {
    let machine = world.machines.get(node);
    let range = world.blocks.get(text(ip, "/spec/block"));
    let Some((machine, range)) = machine.zip(range) else {
        return false;
    };
    world.cloud.look(|ec2| {
        let mut interfaces = ec2.interfaces();
        interfaces.any(|known| {
            let on = known.attachment.map(|attachment| attachment.instance);
            known.id.to_string() == interface
                && on == Some(machine.instance)
                && known.subnet == world.subnets[&range.third]
        })
    })
}

/// Does an interface keep it: is it its first address, or in a prefix that is delegated to it?
fn is_kept(world: &World, address: &str) -> bool {
    let Ok(address) = address.parse::<Ipv4Addr>() else {
        return false;
    };
    world.cloud.look(|ec2| {
        ec2.interfaces()
            .any(|interface| interface.primary == address || interface.has_in_prefix(address))
    })
}

/// Each workload whose pods have the address for themselves runs as its template says, and only so.
fn rolled_out(world: &World) -> Result<(), String> {
    for (index, workload) in world.workloads.iter().enumerate() {
        let alone = world
            .workloads
            .iter()
            .filter(|other| other.ip == workload.ip)
            .count()
            == 1;
        let Some(newest) = workload
            .templates
            .last()
            .filter(|_| workload.kind != Kind::Bare)
        else {
            continue;
        };
        // Another may have what it was to have.
        let address = world.address_of(&workload.ip);
        if address.is_none_or(|address| is_kept(world, &address)) {
            continue;
        }
        let of = || {
            world
                .pods
                .values()
                .filter(|pod| pod.workload == index && pod.counts())
        };
        let ready = of()
            .filter(|pod| pod.revision == newest.number && pod.ready)
            .count();
        let released = of().any(|pod| pod.revision == newest.number && !pod.ready) && !alone;
        if alone && workload.replicas == 1 && ready == 0 && !released {
            return Err(format!(
                "{} does not run as template {} says",
                workload.name, newest.number
            ));
        }
    }
    Ok(())
}

/// What Mooring wrote since then, the `Lease` aside.
#[must_use]
pub fn written_since(api: &ApiServer, cloud: &Cloud, sequence: u64, sent: usize) -> Vec<String> {
    let mut written: Vec<String> = api
        .history_since(sequence)
        .iter()
        .map(|entry| &entry.request)
        .filter(|request| {
            is_ours(&request.user) && request.verb.writes() && request.resource != "leases"
        })
        .map(|request| {
            format!(
                "{} {} {} {}: {}",
                request.user, request.verb, request.resource, request.name, request.body
            )
        })
        .collect();
    let calls = cloud.calls();
    written.extend(calls.iter().skip(sent).map(|call| format!("{call:?}")));
    written
}

/// Does the pod ask for the IP, and can it have it?
fn asks(world: &World, pod: &Value, ip: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    let known = world.pods.get(text(pod, "/metadata/uid"));
    annotations["ip.wgtwo.com/ip-uid"] == ip["metadata"]["uid"]
        && !annotations["ip.wgtwo.com/ip"].is_null()
        && known.is_some_and(|known| known.counts() && known.node.is_some())
}

fn attached(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|one| one["type"] == "ip.wgtwo.com/attached" && one["status"] == "True")
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Blocks whose brake waits for a person.
#[must_use]
pub fn braked(world: &World) -> Vec<String> {
    let engaged = |block: &Value| {
        let conditions = block
            .pointer("/status/conditions")
            .and_then(Value::as_array);
        conditions.is_some_and(|conditions| {
            conditions
                .iter()
                .any(|one| one["type"] == "BrakeEngaged" && one["status"] == "True")
        })
    };
    let blocks = world.cluster.list("ipblocks");
    let engaged = blocks.iter().filter(|block| engaged(block));
    engaged
        .map(|block| text(block, "/metadata/name").to_owned())
        .collect()
}
