//! The values that a mutated function returns at once.

use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// The maximum number of values. More would find little, and for a tuple the number of combinations grows fast.
const MOST: usize = 8;

/// Values of the return type of a function.
pub(crate) fn returned(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, kind) => of_type(kind),
    }
}

/// Values of the items, if the return type is `impl Iterator`.
pub(crate) fn iterated(output: &ReturnType) -> Option<Vec<String>> {
    let ReturnType::Type(_, kind) = output else {
        return None;
    };
    let Type::ImplTrait(kind) = &**kind else {
        return None;
    };
    let item = kind.bounds.iter().find_map(|bound| match bound {
        syn::TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last()?;
            (last.ident == "Iterator").then(|| associated(&last.arguments))
        }
        _ => None,
    })??;
    Some(of_type(item))
}

fn associated(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(item) if item.ident == "Item" => Some(&item.ty),
        _ => None,
    })
}

fn of_type(kind: &Type) -> Vec<String> {
    let mut values = match kind {
        Type::Paren(inner) => of_type(&inner.elem),
        Type::Group(inner) => of_type(&inner.elem),
        Type::Tuple(tuple) => of_tuple(tuple),
        Type::Reference(reference) => of_reference(reference),
        Type::Path(path) => of_path(path),
        Type::ImplTrait(_) | Type::Never(_) => Vec::new(),
        _ => default(),
    };
    values.truncate(MOST);
    values
}

fn default() -> Vec<String> {
    vec!["Default::default()".to_owned()]
}

fn of_tuple(tuple: &syn::TypeTuple) -> Vec<String> {
    let mut sofar = vec![Vec::new()];
    for part in &tuple.elems {
        let values = of_type(part);
        sofar = sofar
            .iter()
            .flat_map(|before| {
                values
                    .iter()
                    .map(move |value| [before.as_slice(), std::slice::from_ref(value)].concat())
            })
            .collect();
    }
    let comma = if tuple.elems.len() == 1 { "," } else { "" };
    sofar
        .into_iter()
        .map(|values| format!("({}{comma})", values.join(", ")))
        .collect()
}

fn of_reference(reference: &syn::TypeReference) -> Vec<String> {
    match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") => {
            vec!["\"\"".to_owned(), "\"xyzzy\"".to_owned()]
        }
        Type::Slice(slice) => {
            let mut values = vec!["::std::vec::Vec::leak(::std::vec::Vec::new())".to_owned()];
            let items = of_type(&slice.elem).into_iter();
            values.extend(items.map(|item| format!("::std::vec::Vec::leak(::std::vec![{item}])")));
            values
        }
        other => each(other, "::std::boxed::Box::leak(::std::boxed::Box::new({}))"),
    }
}

/// The values of the type, each within `form`.
fn each(kind: &Type, form: &str) -> Vec<String> {
    of_type(kind)
        .iter()
        .map(|value| form.replace("{}", value))
        .collect()
}

fn of_path(path: &syn::TypePath) -> Vec<String> {
    let Some(last) = path.path.segments.last() else {
        return default();
    };
    let name = last.ident.to_string();
    let arguments: Vec<&Type> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(kind) => Some(kind),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let all = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match (name.as_str(), arguments.as_slice()) {
        ("bool", []) => all(&["true", "false"]),
        ("u8" | "u16" | "u32" | "u64" | "u128" | "usize", []) => all(&["0", "1"]),
        ("i8" | "i16" | "i32" | "i64" | "i128" | "isize", []) => all(&["0", "1", "-1"]),
        ("f32" | "f64", []) => all(&["0.0", "1.0", "-1.0"]),
        ("String", []) => all(&["::std::string::String::new()", "\"xyzzy\".into()"]),
        ("Option", [inner]) => [all(&["None"]), each(inner, "Some({})")].concat(),
        ("Result", []) => all(&["Ok(Default::default())"]),
        ("Result", [inner, ..]) => each(inner, "Ok({})"),
        ("Vec", [inner]) => [all(&["::std::vec![]"]), each(inner, "::std::vec![{}]")].concat(),
        ("Box" | "Arc" | "Rc", [inner]) => each(inner, "From::from({})"),
        ("BTreeSet" | "VecDeque", [inner]) => {
            let one = each(inner, "FromIterator::from_iter([{}])");
            [all(&["FromIterator::from_iter([])"]), one].concat()
        }
        ("BTreeMap", [key, value]) => {
            let mut maps: Vec<String> = all(&["FromIterator::from_iter([])"]);
            for key in of_type(key) {
                maps.extend(each(
                    value,
                    &format!("FromIterator::from_iter([({key}, {{}})])"),
                ));
            }
            maps
        }
        _ => default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(output: &str) -> Vec<String> {
        returned(&syn::parse_str(output).unwrap())
    }

    #[test]
    fn a_function_returns_every_truth_a_few_numbers_or_nothing() {
        assert_eq!(values("-> bool"), ["true", "false"]);
        assert_eq!(values("-> u64"), ["0", "1"]);
        assert_eq!(values(""), ["()"]);
    }

    #[test]
    fn a_container_is_empty_or_has_one_value() {
        assert_eq!(
            values("-> Option<bool>"),
            ["None", "Some(true)", "Some(false)"]
        );
        assert_eq!(values("-> Result<(), String>"), ["Ok(())"]);
        assert_eq!(
            values("-> Vec<Key>"),
            ["::std::vec![]", "::std::vec![Default::default()]"]
        );
        assert_eq!(
            values("-> (bool, Key)"),
            ["(true, Default::default())", "(false, Default::default())"]
        );
    }

    #[test]
    fn some_iterator_yields_nothing_or_one_item() {
        let output = syn::parse_str("-> impl Iterator<Item = u8> + use<'_>").unwrap();
        assert_eq!(iterated(&output).unwrap(), ["0", "1"]);
        assert!(returned(&output).is_empty());
    }
}
