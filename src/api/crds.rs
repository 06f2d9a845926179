//! The kinds as `CustomResourceDefinition`s: the output of `mooring crds` and the content of `config/crd`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;

use super::{Ip, IpBlock, IpNode};

/// A kind cannot be converted to YAML.
#[derive(Debug, thiserror::Error)]
#[error("writing the CustomResourceDefinition {name} as YAML")]
pub struct CrdError {
    name: String,
    source: serde_yaml::Error,
}

/// All kinds, in the order in which they are printed.
#[must_use]
pub fn definitions() -> [CustomResourceDefinition; 3] {
    [Ip::crd(), IpBlock::crd(), IpNode::crd()].map(|mut definition| {
        let kind = definition.spec.names.kind.clone();
        for version in &mut definition.spec.versions {
            let schema = version
                .schema
                .as_mut()
                .and_then(|schema| schema.open_api_v3_schema.as_mut());
            if let Some(schema) = schema {
                schema.title = Some(kind.clone());
                tidy(schema);
            }
        }
        definition
    })
}

/// Corrects the derived schema. It allows null for every optional field, and `has()` in a CEL rule is true for null.
/// Without `nullable` the API server drops a null. Also joins the lines of descriptions, because `kubectl explain`
/// wraps them itself.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(description) = &mut schema.description {
        let paragraphs: Vec<_> = description
            .split("\n\n")
            .map(|lines| lines.replace('\n', " "))
            .collect();
        *description = paragraphs.join("\n\n");
    }
    schema
        .properties
        .iter_mut()
        .flat_map(|fields| fields.values_mut())
        .for_each(tidy);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => tidy(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy),
        None => {}
    }
}

/// One kind as YAML.
///
/// # Errors
/// The kind cannot be converted to YAML.
pub fn yaml(definition: &CustomResourceDefinition) -> Result<String, CrdError> {
    serde_yaml::to_string(definition).map_err(|source| CrdError {
        name: definition.metadata.name.clone().unwrap_or_default(),
        source,
    })
}

/// All kinds as YAML documents separated by `---`.
///
/// # Errors
/// A kind cannot be converted to YAML.
pub fn crds() -> Result<String, CrdError> {
    let documents = definitions()
        .iter()
        .map(yaml)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(documents.join("---\n"))
}
