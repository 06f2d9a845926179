//! Names of files, and of the entries of the Secret.

/// Name of the certificate's file: the leaf first, then what leads to its CA, as PEM.
pub const CERTIFICATE: &str = "tls.crt";
/// Name of the private key's file, as PEM.
pub const KEY: &str = "tls.key";
/// The certificate that comes after it, as PEM.
pub(super) const NEXT_CERTIFICATE: &str = "next.crt";
/// Its private key, as PEM.
pub(super) const NEXT_KEY: &str = "next.key";
