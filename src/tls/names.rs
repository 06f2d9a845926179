//! Names of the files and of the entries of the Secret.

/// The certificate chain as PEM: the leaf first, then the intermediate CAs.
pub const CERTIFICATE: &str = "tls.crt";
/// The private key as PEM.
pub const KEY: &str = "tls.key";
/// The next certificate, as PEM.
pub(super) const NEXT_CERTIFICATE: &str = "next.crt";
/// The private key of the next certificate, as PEM.
pub(super) const NEXT_KEY: &str = "next.key";
