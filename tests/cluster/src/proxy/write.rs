//! The properties of a write request.

use hyper::Method;
use hyper::http::request::Parts;
use jiff::Timestamp;
use serde_json::Value;

/// A request that may change an object.
#[derive(Clone, Debug)]
pub struct ProxiedWrite {
    /// 0, 1, 2... in the order of arrival.
    pub number: usize,
    /// When it arrived, in milliseconds since 1970.
    pub unix_ms: u64,
    /// `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: String,
    /// API group, empty for core.
    pub group: String,
    /// Plural: `pods`, `ips`...
    pub resource: String,
    /// `status`..., or empty.
    pub subresource: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// For a create: the name in the body.
    pub name: String,
    /// The body. Null if it is not JSON.
    pub body: Value,
    /// The HTTP status of each execution. Empty: it was never executed.
    pub answers: Vec<u16>,
}

impl ProxiedWrite {
    /// The write of this request. `None`: the request only reads.
    pub(super) fn of(number: usize, parts: &Parts, body: &[u8]) -> Option<Self> {
        if matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return None;
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut path = parts.uri.path().split('/').filter(|part| !part.is_empty());
        let group = match path.next() {
            Some("apis") => path.next().unwrap_or_default(),
            _ => "",
        };
        let _version = path.next();
        let mut rest: Vec<&str> = path.collect();
        let mut namespace = "";
        // `namespaces/x` and `namespaces/x/status` are the namespace itself.
        if let ["namespaces", name, kind, ..] = rest.as_slice()
            && !matches!(*kind, "status" | "finalize")
        {
            namespace = name;
            rest.drain(..2);
        }
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        let (resource, mut name) = (part(0), part(1));
        if name.is_empty() {
            body["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut name);
        }
        Some(Self {
            number,
            unix_ms: u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default(),
            method: parts.method.to_string(),
            group: group.to_owned(),
            resource,
            subresource: part(2),
            namespace: namespace.to_owned(),
            name,
            body,
            answers: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ProxiedWrite;

    fn write(method: &str, path: &str, body: &str) -> Option<[String; 5]> {
        let request = hyper::Request::builder().method(method).uri(path);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        ProxiedWrite::of(0, &parts, body.as_bytes()).map(|write| {
            [
                write.group,
                write.resource,
                write.subresource,
                write.namespace,
                write.name,
            ]
        })
    }

    #[test]
    fn a_path_names_the_written_object() {
        for (method, path, body, expected) in [
            (
                "PATCH",
                "/apis/ip.wgtwo.com/v1alpha1/ips/web/status?fieldManager=x",
                "{}",
                ["ip.wgtwo.com", "ips", "status", "", "web"],
            ),
            (
                "PATCH",
                "/api/v1/namespaces/shop/pods/web-0/status",
                "{}",
                ["", "pods", "status", "shop", "web-0"],
            ),
            (
                "POST",
                "/apis/networking.k8s.io/v1/ipaddresses?",
                r#"{"metadata": {"name": "10.0.0.1"}}"#,
                ["networking.k8s.io", "ipaddresses", "", "", "10.0.0.1"],
            ),
            (
                "DELETE",
                "/api/v1/namespaces/shop",
                "",
                ["", "namespaces", "", "", "shop"],
            ),
            (
                "PUT",
                "/api/v1/namespaces/shop/finalize",
                "{}",
                ["", "namespaces", "finalize", "", "shop"],
            ),
        ] {
            assert_eq!(
                write(method, path, body),
                Some(expected.map(str::to_owned)),
                "{method} {path}"
            );
        }
        assert_eq!(write("GET", "/api/v1/pods?watch=true", ""), None);
    }
}
