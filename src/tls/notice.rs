//! Notices about the certificate.

use super::error::Error;

/// The result of a read of the files.
#[derive(Debug)]
pub enum CertificateNotice {
    /// A pair is now served.
    Loaded {
        /// When the certificate expires, in seconds since 1970.
        not_after: i64,
    },
    /// The files cannot be served. The former pair, if there is one, is still served.
    Refused(Error),
}

/// Reports an error once, not at every read.
pub(super) fn report_once<N: FnMut(CertificateNotice)>(
    last: &mut Option<String>,
    error: Error,
    notice: &mut N,
) {
    let text = format!("{error:?}");
    if last.as_ref() != Some(&text) {
        *last = Some(text);
        notice(CertificateNotice::Refused(error));
    }
}
