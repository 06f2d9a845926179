//! The tolerations that decide when a pod is evicted from a node that is away.
//! Rule: R8.15.

/// The taint of a node that is not ready (Kubernetes API, well-known taints).
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// The taint of a node whose kubelet does not report.
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// The `tolerationSeconds` of the plugin for each taint: flags of the API server, which can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Defaults {
    /// `--default-not-ready-toleration-seconds`
    pub not_ready: i64,
    /// `--default-unreachable-toleration-seconds`
    pub unreachable: i64,
}

impl Defaults {
    /// The value for the taint with this key. None: the plugin adds no toleration for it.
    fn of(self, key: &str) -> Option<i64> {
        match key {
            NOT_READY => Some(self.not_ready),
            UNREACHABLE => Some(self.unreachable),
            _ => None,
        }
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            not_ready: 300,
            unreachable: 300,
        }
    }
}

/// A toleration of a pod, as in the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration<'a> {
    /// `key`
    pub key: Option<&'a str>,
    /// `operator`
    pub operator: Option<&'a str>,
    /// `value`
    pub value: Option<&'a str>,
    /// `effect`
    pub effect: Option<&'a str>,
    /// `tolerationSeconds`
    pub seconds: Option<i64>,
}

impl Toleration<'_> {
    /// True if it equals the toleration that the `DefaultTolerationSeconds` plugin adds. Any other toleration belongs
    /// to the user and is not changed.
    #[must_use]
    pub fn is_the_plugins(&self, defaults: Defaults) -> bool {
        let seconds = self.key.and_then(|key| defaults.of(key));
        seconds.is_some()
            && self.seconds == seconds
            && self.operator == Some("Exists")
            && self.value.is_none_or(str::is_empty)
            && self.effect == Some("NoExecute")
    }
}
