//! What is told of the certificate.

use super::error::Error;

/// What the files were found to be.
#[derive(Debug)]
pub enum CertificateNotice {
    /// A pair is now served.
    Loaded {
        /// When the certificate ends, in seconds since 1970.
        not_after: i64,
    },
    /// What is in the files cannot be served. What was served before, if anything, still is.
    Refused(Error),
}

/// Reports once what is wrong, not at every look.
pub(super) fn complain<N: FnMut(CertificateNotice)>(
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
