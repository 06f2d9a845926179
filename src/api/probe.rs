//! The probe: the node part asks a target which source address it sees.
#![allow(
    clippy::doc_markdown,
    reason = "kubectl explain shows these lines as they are"
)]

use std::net::Ipv4Addr;
use std::time::Duration;

use ipnet::Ipv4Net;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::length::length;

/// The default of `interval`.
const INTERVAL: &str = "30s";
/// The shortest interval: an attempt ends within 3 s.
const SHORTEST: Duration = Duration::from_secs(5);
/// The longest interval.
const LONGEST: Duration = Duration::from_hours(1);

/// The target that the node part asks which source address it sees, and how often.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Where the program answers, as host:port. The host is an IPv4 address, or a name that the cluster resolves. It
    /// must be in one of the routes. The program sends the source address of each TCP connection as text with a
    /// newline.
    #[schemars(length(max = 259))]
    #[x_kube(
        validation = Rule::new("self.matches('^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?:[0-9]{1,5}$')")
            .message("must be host:port, such as 198.51.100.7:7000"),
        validation = Rule::new(
            "!self.matches(':[0-9]{1,5}$') || \
             (int(self.substring(self.lastIndexOf(':') + 1)) > 0 && int(self.substring(self.lastIndexOf(':') + 1)) < 65536)"
        ).message("the port must be between 1 and 65535")
    )]
    pub target: String,

    /// How often each node asks, for each address, such as 30s or 2m: 5s to 1h.
    #[serde(default = "interval")]
    #[schemars(length(max = 16))]
    #[x_kube(
        validation = Rule::new("self.matches('^([0-9]+h)?([0-9]+m)?([0-9]+s)?$') && self.size() > 0")
            .message("must be a length of time in hours, minutes and seconds, such as 30s or 2m"),
        // A value with more digits is too long, and duration() may not be able to parse it.
        validation = Rule::new(
            "!self.matches('[0-9]{6}') && (!self.matches('^([0-9]{1,5}[hms])+$') || \
             (duration(self) >= duration('5s') && duration(self) <= duration('1h')))"
        ).message("must be between 5s and 1h")
    )]
    pub interval: String,
}

fn interval() -> String {
    INTERVAL.to_owned()
}

/// The probe has an impossible value.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProbeError {
    /// The target is not host and port.
    #[error("probe.target \"{0}\" is not host:port, such as 198.51.100.7:7000")]
    Target(String),
    /// The interval is not a duration, or is too short or too long.
    #[error("probe.interval \"{0}\" is not a length of time from 5s to 1h, such as 30s or 2m")]
    Interval(String),
    /// Packets to the target never leave with the address.
    #[error(
        "probe.target {0} is in no route, so that no packet to it leaves with the address: add a route that contains it"
    )]
    NotRouted(Ipv4Addr),
    /// Packets to the target never leave with the address.
    #[error(
        "probe.target {target} is within the internal network {internal}, which never sees the address"
    )]
    Internal {
        /// The address of the target.
        target: Ipv4Addr,
        /// The internal network.
        internal: Ipv4Net,
    },
}

impl Probe {
    /// Host and port of the target.
    ///
    /// # Errors
    /// The target is not host:port.
    pub fn target(&self) -> Result<(&str, u16), ProbeError> {
        let wrong = || ProbeError::Target(self.target.clone());
        let (host, port) = self.target.rsplit_once(':').ok_or_else(wrong)?;
        let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        let port = port.parse().ok().filter(|port| *port > 0);
        match port {
            Some(port) if !host.is_empty() && host.bytes().all(of_names) => Ok((host, port)),
            _ => Err(wrong()),
        }
    }

    /// How often each address is probed.
    ///
    /// # Errors
    /// The interval is not a duration, or is too short or too long.
    pub fn interval(&self) -> Result<Duration, ProbeError> {
        let text = match self.interval.as_str() {
            "" => INTERVAL,
            given => given,
        };
        length(text)
            .filter(|length| (SHORTEST..=LONGEST).contains(length))
            .ok_or_else(|| ProbeError::Interval(text.to_owned()))
    }

    /// Checks the fields. A target that is an address is also checked against the networks. (The nodes look up a name.)
    ///
    /// # Errors
    /// The first error.
    pub fn check(&self, routes: &[Ipv4Net], internal: &[Ipv4Net]) -> Result<(), ProbeError> {
        let (host, _) = self.target()?;
        self.interval()?;
        let Ok(target) = host.parse::<Ipv4Addr>() else {
            return Ok(());
        };
        if let Some(internal) = internal.iter().find(|network| network.contains(&target)) {
            let internal = *internal;
            return Err(ProbeError::Internal { target, internal });
        }
        if !routes.iter().any(|network| network.contains(&target)) {
            return Err(ProbeError::NotRouted(target));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, interval: &str) -> Result<(), ProbeError> {
        let probe = Probe {
            target: target.to_owned(),
            interval: interval.to_owned(),
        };
        let network = |text: &str| text.parse::<Ipv4Net>().unwrap();
        let routes = [network("198.51.100.0/24"), network("10.0.0.0/8")];
        probe.check(&routes, &[network("10.0.0.0/8")])
    }

    #[test]
    fn a_target_that_is_an_address_lies_in_a_route_and_in_no_internal_network() {
        assert_eq!(check("198.51.100.7:7000", "30s"), Ok(()));
        assert_eq!(check("echo.partner.example:7000", "1m30s"), Ok(()));
        let elsewhere = "192.0.2.7".parse().unwrap();
        assert_eq!(
            check("192.0.2.7:7000", "30s"),
            Err(ProbeError::NotRouted(elsewhere))
        );
        let internal = check("10.1.2.3:7000", "30s");
        assert!(
            matches!(internal, Err(ProbeError::Internal { .. })),
            "{internal:?}"
        );
    }

    #[test]
    fn an_unreadable_target_is_refused() {
        for target in [
            "",
            "198.51.100.7",
            ":7000",
            "198.51.100.7:0",
            "198.51.100.7:65536",
            "[2001:db8::1]:7000",
            "a b:7000",
        ] {
            let refused = check(target, "30s");
            assert_eq!(
                refused,
                Err(ProbeError::Target(target.to_owned())),
                "{target}"
            );
        }
        for interval in ["4s", "61m", "1h1s", "soon", "30"] {
            let refused = check("198.51.100.7:7000", interval);
            assert_eq!(refused, Err(ProbeError::Interval(interval.to_owned())));
        }
        assert_eq!(
            check("198.51.100.7:7000", ""),
            Ok(()),
            "left out: the default"
        );
    }
}
