//! Finds the definitions in the sources, with their files.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use crate::files_below;

/// One definition.
struct Definition {
    file: String,
    /// The enum of a variant, the struct of a field, or the type of a method.
    parent: Option<String>,
}

/// All definitions of the sources, by name: items, variants, fields, methods, and the names that macros define.
pub struct Definitions(BTreeMap<String, Vec<Definition>>);

impl Definitions {
    /// The definitions in `plan/src` and `src`.
    pub fn of_product() -> Self {
        let mut found = BTreeMap::new();
        for (name, path) in ["plan/src", "src"].into_iter().flat_map(files_below) {
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let file = syn::parse_file(&text).unwrap();
            let mut finder = Finder {
                file: name,
                parent: None,
                found: &mut found,
            };
            finder.visit_file(&file);
        }
        Self(found)
    }

    /// Is `name` defined, as a part of `parent` if there is one, in a file that `is_there` accepts?
    pub fn has(&self, parent: Option<&str>, name: &str, is_there: impl Fn(&str) -> bool) -> bool {
        let of_parent = |definition: &&Definition| match parent {
            None => true,
            // For a name that a macro defines, the parent is not known.
            Some(_) if definition.parent.as_deref() == Some(IN_MACRO) => true,
            Some(parent) => definition.parent.as_deref() == Some(parent),
        };
        let mut all = self.0.get(name).into_iter().flatten().filter(of_parent);
        all.any(|definition| is_there(&definition.file))
    }
}

const IN_MACRO: &str = "macro";

struct Finder<'a> {
    file: String,
    parent: Option<String>,
    found: &'a mut BTreeMap<String, Vec<Definition>>,
}

impl Finder<'_> {
    fn add(&mut self, name: &syn::Ident) {
        let definition = Definition {
            file: self.file.clone(),
            parent: self.parent.clone(),
        };
        self.found
            .entry(name.to_string())
            .or_default()
            .push(definition);
    }

    fn within(&mut self, parent: String, walk: impl FnOnce(&mut Self)) {
        let before = self.parent.replace(parent);
        walk(self);
        self.parent = before;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(&item.ident);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.add(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(&item.ident);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.ident);
        self.within(item.ident.to_string(), |this| {
            for name in item.fields.iter().filter_map(|field| field.ident.as_ref()) {
                this.add(name);
            }
        });
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.ident);
        self.within(item.ident.to_string(), |this| {
            for variant in &item.variants {
                this.add(&variant.ident);
            }
        });
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(of) = item.self_ty.as_ref() else {
            return;
        };
        let of = of.path.segments.last().unwrap().ident.to_string();
        self.within(of, |this| {
            for part in &item.items {
                if let syn::ImplItem::Fn(method) = part {
                    this.add(&method.sig.ident);
                }
            }
        });
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.within(IN_MACRO.to_owned(), |this| {
            if item.ident.is_some() {
                // The definition of a macro: adds the types that its body names.
                let body = item.mac.tokens.to_string();
                let mut words = body.split_whitespace();
                while let Some(word) = words.next() {
                    if matches!(word, "struct" | "enum")
                        && let Some(Ok(name)) = words.next().map(syn::parse_str)
                    {
                        this.add(&name);
                    }
                }
                return;
            }
            for token in item.mac.tokens.clone() {
                if let Ok(name) = syn::parse_str(&token.to_string()) {
                    this.add(&name);
                }
            }
        });
    }
}
