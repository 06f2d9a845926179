//! How objects are listed and watched.

use kube::api::ListParams;
use kube::runtime::watcher;

/// The most objects in one answer to a list. An answer is parsed into trees that take many times the memory of what is
/// kept of the objects, and that memory does not go back to the system.
pub const PAGE: u32 = 100;

/// The server ends a watch after this time, in seconds (R1.22). A connection on which nothing arrives for a little longer is broken.
pub const WATCH_SECONDS: u32 = 45;

/// A watch that begins with a list.
#[must_use]
pub fn watch() -> watcher::Config {
    watcher::Config::default()
        .timeout(WATCH_SECONDS)
        .page_size(PAGE)
}

/// The first page of a list. Without a resourceVersion it is the most recent there is.
#[must_use]
pub fn list() -> ListParams {
    ListParams::default().limit(PAGE)
}

/// The next page, if there is one; `continue_token` is the one of the last page.
#[must_use]
pub fn next_page(continue_token: Option<String>) -> Option<ListParams> {
    let token = continue_token.filter(|token| !token.is_empty())?;
    Some(list().continue_token(&token))
}
