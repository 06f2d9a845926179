//! The version of a list, which shows that the API server was restored from a backup. The watch events of kube do not
//! contain it.
//! Rule: R1.25.

use std::fmt::Debug;

use kube::Api;
use kube::api::ListParams;
use mooring_plan::names::ResourceVersion;
use serde::de::DeserializeOwned;

use super::read;
use super::request::{RequestError, with_timeout};

/// Asks for the version of a list, with one object of it at most. `kind` is for the error message. None: the answer has
/// no version that can be compared.
///
/// # Errors
/// The request failed, or had no answer in time.
pub async fn list_version<K: Clone + Debug + DeserializeOwned>(
    api: &Api<K>,
    kind: impl Debug,
    label_selector: Option<&str>,
) -> Result<Option<ResourceVersion>, RequestError> {
    let params = ListParams {
        label_selector: label_selector.map(str::to_owned),
        ..ListParams::default().limit(1)
    };
    let doing = || format!("asking for the version of the list of {kind:?}");
    let list = with_timeout(doing, api.list_metadata(&params)).await?;
    let version = list.metadata.resource_version.as_deref();
    Ok(version.and_then(|version| read::version(version).ok()))
}
