//! Walks through a file, and tracks what encloses each place.

use syn::Expr;
use syn::visit::{self, Visit};

use super::{Finder, bytes};
use crate::constants;
use crate::site::Shape;

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !constants::is_of_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !constants::is_of_tests(&function.attrs) {
            let name = function.sig.ident.to_string();
            self.function(&name, &function.sig, &function.block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if constants::is_of_tests(&item.attrs) {
            return;
        }
        let kind = self.text(&item.self_ty);
        let owner = match &item.trait_ {
            Some((path, _)) => format!("<impl {} for {kind}>", self.text(path)),
            None => kind,
        };
        self.of(owner, |this| visit::visit_item_impl(this, item));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !constants::is_of_tests(&function.attrs) {
            let name = function.sig.ident.to_string();
            self.function(&name, &function.sig, &function.block);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let owner = item.ident.to_string();
        self.of(owner, |this| visit::visit_item_trait(this, item));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig.ident.to_string(), &function.sig, block);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(|this| visit::visit_item_const(this, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(|this| visit::visit_impl_item_const(this, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.constant(|this| visit::visit_item_static(this, item));
    }

    fn visit_type_array(&mut self, item: &'ast syn::TypeArray) {
        self.constant(|this| visit::visit_type_array(this, item));
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        self.binary(binary);
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let operator = self.text(&unary.op);
        if operator != "*" && !matches!(&*unary.expr, Expr::Lit(_)) {
            let name = format!("delete {operator}{}", self.within());
            let text = self.original(&unary.expr).to_owned();
            let changes = vec![(name, text)];
            self.site(bytes(unary), Shape::Expression, unary, changes);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        self.arms(matched);
        for arm in &matched.arms {
            self.guard(arm);
        }
        visit::visit_expr_match(self, matched);
    }

    fn visit_expr_struct(&mut self, made: &'ast syn::ExprStruct) {
        self.fields(made);
        visit::visit_expr_struct(self, made);
    }
}
