//! All names that Mooring uses in objects, in one place, so that all parts spell them in the same way.

/// The API group of Mooring.
pub const GROUP: &str = "ip.wgtwo.com";
/// The API version of Mooring.
pub const VERSION: &str = "v1alpha1";

/// Pod annotation, written by the user: the name or the address of an `IP`.
pub const IP_ANNOTATION: &str = "ip.wgtwo.com/ip";
/// Pod annotation, written by admission: the UID of the `IP`, which identifies the IP from then on. Also the
/// label of a reservation (`IPAddress`).
pub const IP_UID_ANNOTATION: &str = "ip.wgtwo.com/ip-uid";
/// Pod annotation: when the new pod of a rollout may take over the address.
pub const HANDOVER_ANNOTATION: &str = "ip.wgtwo.com/handover";
/// Value of [`HANDOVER_ANNOTATION`] (default): once all containers are ready.
pub const HANDOVER_CONTAINERS_READY: &str = "containers-ready";
/// Value of [`HANDOVER_ANNOTATION`]: once all containers run, for programs that need the address to
/// become ready.
pub const HANDOVER_RUNNING: &str = "running";

/// Pod label, written by admission: the name of the `IP`. The controller watches pods by it.
pub const IP_LABEL: &str = "ip.wgtwo.com/ip";
/// Readiness gate and condition of a pod: its address is where the pod is.
pub const ATTACHED_GATE: &str = "ip.wgtwo.com/attached";

/// Pod annotation, written by the controller: the version of the `IP` from which the condition of a loser was last
/// decided. It makes that write a change, so that a late `True` conflicts.
pub const DENIED_AT_ANNOTATION: &str = "ip.wgtwo.com/denied-at";

/// `IP` annotation: an ENI that the address may be taken from although no status explains it.
pub const TAKE_FROM_ANNOTATION: &str = "ip.wgtwo.com/take-from";
/// `IPBlock` annotation: a person confirms that the pods which disappeared together are gone.
pub const RELEASE_BRAKE_ANNOTATION: &str = "ip.wgtwo.com/release-brake";

/// Annotation of a reservation (`IPAddress`): the version of the `IP` that it was last adopted for. It makes
/// an adoption a change, so that a release that was decided before conflicts.
pub const WANTED_AT_ANNOTATION: &str = "ip.wgtwo.com/wanted-at";

/// Finalizer of an `IP`: its address may still be on an ENI.
pub const IP_FINALIZER: &str = "ip.wgtwo.com/detach";
/// Finalizer of an `IPBlock`: addresses of it are reserved.
pub const BLOCK_FINALIZER: &str = "ip.wgtwo.com/in-use";
/// Finalizer of a reservation (`IPAddress`): the address may still be on an ENI.
pub const RESERVATION_FINALIZER: &str = "ip.wgtwo.com/attached";

/// Label of a reservation that names its manager (a key of Kubernetes).
pub const MANAGED_BY_LABEL: &str = "ipaddress.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY_LABEL`] on reservations of Mooring.
pub const MANAGED_BY: &str = "ip.wgtwo.com";

/// Taint of a node that is shut down (Kubernetes, "Well-Known Labels"). Kubernetes deletes its pods by force.
pub const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";
/// Value of [`OUT_OF_SERVICE_TAINT`] if fast failover has set it. The taint of a person has another value, or none.
pub const OUT_OF_SERVICE_VALUE: &str = "mooring";
/// The effect of the taint.
pub const OUT_OF_SERVICE_EFFECT: &str = "NoExecute";
