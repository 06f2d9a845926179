//! What the webhook counts.

use super::Metrics;

impl Metrics {
    /// Counts a review that was answered.
    pub fn admission(&self, webhook: &str, allowed: bool, seconds: f64) {
        let labels = [
            ("webhook", webhook.to_owned()),
            ("allowed", allowed.to_string()),
        ];
        self.0.admissions.get_or_create(&labels).observe(seconds);
    }

    /// Counts a panic in the handling of a review.
    pub fn webhook_panicked(&self) {
        self.0.webhook_panics.inc();
    }

    /// Counts a review that was answered with this HTTP code instead of a verdict.
    pub fn webhook_rejected(&self, code: u16) {
        self.0
            .webhook_rejected
            .get_or_create(&[("code", code.to_string())])
            .inc();
    }

    /// Sets when the certificate of the webhook expires, in seconds since 1970.
    pub fn certificate_expiry(&self, unix: i64) {
        // A 64-bit float is exact for the next 285 million years.
        #[allow(clippy::cast_precision_loss)]
        self.0.certificate_expiry.set(unix as f64);
    }
}
