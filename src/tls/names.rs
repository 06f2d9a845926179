//! Names of files, and of the entries of the Secret.

/// Name of the certificate's file: the leaf first, then what leads to its CA, as PEM.
pub const CERTIFICATE: &str = "tls.crt";
/// Name of the private key's file, as PEM.
pub const KEY: &str = "tls.key";
/// The CAs' certificates as PEM, the newest first.
pub(super) const AUTHORITIES: &str = "ca.crt";
/// The newest CA's private key as PEM.
pub(super) const AUTHORITY_KEY: &str = "ca.key";
