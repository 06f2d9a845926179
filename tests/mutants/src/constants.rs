//! Finds the functions that constants need. They stay `const`, and a `const` function cannot check at run time which
//! mutant is switched on.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr};

/// Is it compiled for tests only?
pub(crate) fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let argument = attribute.parse_args::<syn::Path>();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && argument.is_ok_and(|path| path.is_ident("test"))
    })
}

/// The names of all functions that constants of these files call, and what those call.
pub(crate) fn needed(files: &[syn::File]) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    loop {
        let mut caller = Caller {
            needed: needed.clone(),
            constant: false,
        };
        for file in files {
            caller.visit_file(file);
        }
        if caller.needed == needed {
            return needed;
        }
        needed = caller.needed;
    }
}

struct Caller {
    needed: BTreeSet<String>,
    /// True inside a constant, or inside a function that a constant calls.
    constant: bool,
}

impl Caller {
    fn within(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let before = self.constant;
        self.constant |= constant;
        visit(self);
        self.constant = before;
    }

    fn is_needed(&self, signature: &syn::Signature) -> bool {
        signature.constness.is_some() && self.needed.contains(&signature.ident.to_string())
    }
}

impl<'ast> Visit<'ast> for Caller {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.within(true, |this| visit::visit_item_const(this, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.within(true, |this| visit::visit_impl_item_const(this, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.within(true, |this| visit::visit_item_static(this, item));
    }

    fn visit_type_array(&mut self, item: &'ast syn::TypeArray) {
        self.within(true, |this| visit::visit_type_array(this, item));
    }

    fn visit_expr_repeat(&mut self, item: &'ast syn::ExprRepeat) {
        self.within(true, |this| visit::visit_expr_repeat(this, item));
    }

    fn visit_expr_const(&mut self, item: &'ast syn::ExprConst) {
        self.within(true, |this| visit::visit_expr_const(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let needed = self.is_needed(&item.sig);
        self.within(needed, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let needed = self.is_needed(&item.sig);
        self.within(needed, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(path) = &*call.func
            && let Some(last) = path.path.segments.last()
            && self.constant
        {
            self.needed.insert(last.ident.to_string());
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if self.constant {
            self.needed.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_a_constant_calls_are_needed_and_those_that_they_call() {
        let file = syn::parse_file(
            "const A: u8 = double(2);
             const fn double(n: u8) -> u8 { add(n, n) }
             const fn add(a: u8, b: u8) -> u8 { a + b }
             const fn of_no_constant(a: u8) -> u8 { other(a) }",
        );
        let needed = needed(&[file.unwrap()]);
        assert_eq!(Vec::from_iter(&needed), ["add", "double"]);
    }
}
