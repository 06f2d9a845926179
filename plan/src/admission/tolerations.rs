//! The tolerations that decide when a pod is evicted from a node that is away.
//! Rule: R8.15.

/// The taints that Kubernetes puts on a node that is away (Kubernetes API, well-known taints).
pub const KEYS: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

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
    pub fn is_the_plugins(&self, seconds: i64) -> bool {
        self.key.is_some_and(|key| KEYS.contains(&key))
            && self.operator == Some("Exists")
            && self.value.is_none_or(str::is_empty)
            && self.effect == Some("NoExecute")
            && self.seconds == Some(seconds)
    }
}
