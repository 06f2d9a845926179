//! The goal: the state that the objects ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api_server::ApiServer;
use crate::cloud::Cloud;
use crate::replicas::is_ours;
use crate::world::{Kind, PLUGINS, World};

/// Is the goal reached? If not, what is missing.
///
/// # Errors
/// The first difference from the goal.
pub fn goal_reached(world: &World) -> Result<(), String> {
    let ips = world.cluster.list("ips");
    let pods = world.living();
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    let mut reserved = BTreeSet::new();
    if let Some(block) = world.leaving.first() {
        return Err(format!("block {block} must be deleted and created again"));
    }
    for ip in &ips {
        let name = text(ip, "/metadata/name");
        let shown = || format!("IP {name}: {}", ip["status"]);
        if !ip["metadata"]["deletionTimestamp"].is_null() {
            return Err(format!("IP {name} still exists: {ip}"));
        }
        let address = text(ip, "/status/address");
        if address.is_empty() {
            if taken(world, &ips, ip) {
                continue;
            }
            return Err(format!("nothing is reserved for {}", shown()));
        }
        reserved.insert(address.to_owned());
        if is_kept(world, address) {
            if ip["status"]["assigned"] == true {
                return Err(format!(
                    "the address is primary or in a prefix: {}",
                    shown()
                ));
            }
            if ip["spec"]["address"].is_null() {
                return Err(format!(
                    "an allocated address is primary or in a prefix: {}",
                    shown()
                ));
            }
            continue;
        }
        // An edit waits while the new address is in use.
        let is_edited = !ip["spec"]["address"].is_null() && ip["spec"]["address"] != address;
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
                return Err(format!("no pod asks for {}", shown()));
            }
            conditions(ip, is_edited, false)
                .map_err(|missing| format!("{missing}: {}", shown()))?;
            continue;
        }
        let holder = asking
            .iter()
            .find(|pod| pod["metadata"]["uid"] == ip["status"]["podUID"]);
        let Some(holder) = holder else {
            return Err(format!("{} pods ask for {}", asking.len(), shown()));
        };
        let node = text(holder, "/spec/nodeName");
        let interface = text(ip, "/status/networkInterfaceID").to_owned();
        if ip["status"]["assigned"] != true || !is_of(world, node, ip, &interface) {
            return Err(format!("its pod is on {node}: {}", shown()));
        }
        if saying != [text(holder, "/metadata/name")] {
            return Err(format!("{saying:?} say True for {}", shown()));
        }
        conditions(ip, is_edited, true).map_err(|missing| format!("{missing}: {}", shown()))?;
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
        return Err(format!("EC2 has {there:?}, expected {placed:?}"));
    }
    let left = world.cluster.list("ipaddresses");
    let left: BTreeSet<String> = left
        .iter()
        .map(|one| text(one, "/metadata/name").to_owned())
        .collect();
    if left != reserved {
        return Err(format!("reserved is {left:?}, expected {reserved:?}"));
    }
    rolled_out(world)
}

/// Checks the conditions of an IP whose address a pod has, or none.
fn conditions(ip: &Value, is_edited: bool, held: bool) -> Result<(), String> {
    if is_true(ip, "Attached") != held {
        return Err(format!("Attached must be {held}"));
    }
    // While an edit waits, both say why.
    if !is_edited && !(is_true(ip, "Reserved") && (is_true(ip, "Ready") || !held)) {
        return Err("Reserved and Ready must be True".to_owned());
    }
    Ok(())
}

/// Is the goal reached, and has no IP a previous place? (Two inventories prove that a place is empty.)
///
/// # Errors
/// The first difference from the goal.
pub fn goal_reached_and_clean(world: &World) -> Result<(), String> {
    goal_reached(world)?;
    let ips = world.cluster.list("ips");
    let named = ips.iter().find(|ip| {
        let address = text(ip, "/status/address");
        let places = ip["status"]["previous"].as_array();
        !address.is_empty()
            && !is_kept(world, address)
            && places.is_some_and(|places| !places.is_empty())
    });
    match named {
        Some(ip) => Err(format!("an IP still has previous places: {ip}")),
        None => Ok(()),
    }
}

/// Is the address of the IP in use elsewhere, or are all addresses of its block in use?
fn taken(world: &World, ips: &[Arc<Value>], ip: &Value) -> bool {
    let desired = &ip["spec"]["address"];
    let had = |address: &Value| {
        let mut others = ips.iter().map(|other| &other["status"]["address"]);
        others.any(|other| other == address)
    };
    if !desired.is_null() {
        return had(desired) || is_kept(world, desired.as_str().unwrap_or_default());
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

/// Is it an interface of the node, in the subnet of the block of the IP?
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

/// Is it the primary address of an interface, or in a prefix that is delegated to an interface?
fn is_kept(world: &World, address: &str) -> bool {
    let Ok(address) = address.parse::<Ipv4Addr>() else {
        return false;
    };
    world.cloud.look(|ec2| {
        ec2.interfaces()
            .any(|interface| interface.primary == address || interface.has_in_prefix(address))
    })
}

/// Checks that each workload whose IP no other workload uses has a ready pod of its newest template.
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
        // The address may be in use elsewhere.
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
                "{} does not match template {}",
                workload.name, newest.number
            ));
        }
    }
    Ok(())
}

/// The writes and calls of Mooring since then, without the `Lease`.
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

/// Does the pod ask for the IP, and can it hold the address?
fn asks(world: &World, pod: &Value, ip: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    let known = world.pods.get(text(pod, "/metadata/uid"));
    annotations["ip.wgtwo.com/ip-uid"] == ip["metadata"]["uid"]
        && !annotations["ip.wgtwo.com/ip"].is_null()
        && known.is_some_and(|known| known.counts() && known.node.is_some())
}

fn attached(pod: &Value) -> bool {
    is_true(pod, "ip.wgtwo.com/attached")
}

/// Does the object have this condition, and is it `True`?
fn is_true(object: &Value, kind: &str) -> bool {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|one| one["type"] == kind && one["status"] == "True")
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The blocks whose brake is engaged.
#[must_use]
pub fn braked(world: &World) -> Vec<String> {
    let blocks = world.cluster.list("ipblocks");
    let engaged = blocks.iter().filter(|block| is_true(block, "BrakeEngaged"));
    engaged
        .map(|block| text(block, "/metadata/name").to_owned())
        .collect()
}
