//! Finds the mutants of a file. The kinds of mutants are those of cargo-mutants.

mod walk;

use std::collections::BTreeSet;
use std::ops::Range;

use syn::Pat;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::operators;
use crate::site::{Asked, Found, Mutant, Shape, Site};
use crate::values;

/// Finds the mutants of the text of a file. Their numbers begin at `first`. `constant` has the names of the functions
/// that constants need.
pub(crate) fn discover(
    source: &str,
    first: u32,
    constant: &BTreeSet<String>,
) -> Result<Found, syn::Error> {
    let mut finder = Finder {
        source,
        constant,
        owner: Vec::new(),
        names: Vec::new(),
        asked: Asked::AtRunTime,
        found: Found {
            next: first,
            ..Found::default()
        },
    };
    finder.visit_file(&syn::parse_file(source)?);
    Ok(finder.found)
}

struct Finder<'a> {
    source: &'a str,
    constant: &'a BTreeSet<String>,
    /// The enclosing `impl` or `trait`.
    owner: Vec<String>,
    /// The enclosing functions.
    names: Vec<String>,
    asked: Asked,
    found: Found,
}

fn bytes(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

impl Finder<'_> {
    /// The source text, on one line.
    fn text(&self, of: &impl Spanned) -> String {
        let text = self.source.get(bytes(of)).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn original(&self, of: &impl Spanned) -> &str {
        self.source.get(bytes(of)).unwrap_or_default()
    }

    /// Stores a place with its changes, each as name and code.
    fn site(
        &mut self,
        range: Range<usize>,
        shape: Shape,
        at: &impl Spanned,
        changes: Vec<(String, String)>,
    ) {
        let start = at.span().start();
        let mut mutants = Vec::new();
        for (name, text) in changes {
            mutants.push(Mutant {
                id: self.found.next,
                line: start.line,
                column: start.column + 1,
                name,
                text,
            });
            self.found.next += 1;
        }
        if !mutants.is_empty() {
            self.found.sites.push(Site {
                range,
                shape,
                asked: self.asked,
                mutants,
            });
        }
    }

    /// The enclosing function, for example ` in Facts::see`. Empty for a constant outside of functions.
    fn within(&self) -> String {
        match self.names.last() {
            Some(name) => format!(" in {name}"),
            None => String::new(),
        }
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        if operators::chains_let(&binary.left) || operators::chains_let(&binary.right) {
            return;
        }
        let (left, right) = (self.original(&binary.left), self.original(&binary.right));
        let old = self.text(&binary.op);
        let changes = operators::others(&old).iter().map(|new| {
            let name = format!("replace {old} with {new}{}", self.within());
            (name, operators::with(left, new, right))
        });
        let changes = changes.collect();
        self.site(bytes(binary), Shape::Expression, &binary.op, changes);
    }

    fn function(&mut self, name: &str, signature: &syn::Signature, block: &syn::Block) {
        let full = match (self.names.last(), self.owner.last()) {
            (Some(outer), _) => format!("{outer}::{name}"),
            (None, Some(owner)) => format!("{owner}::{name}"),
            (None, None) => name.to_owned(),
        };
        let before = self.asked;
        if let Some(constness) = &signature.constness {
            if self.constant.contains(name) {
                self.asked = Asked::WhenCompiled;
            } else {
                self.found.constness.push(bytes(constness));
            }
        }
        self.names.push(full.clone());
        self.body(&full, name, signature, block);
        visit::visit_block(self, block);
        self.names.pop();
        self.asked = before;
    }

    fn body(&mut self, full: &str, name: &str, signature: &syn::Signature, block: &syn::Block) {
        // In a function `default` the value `Default::default()` would be an endless recursion.
        if block.stmts.is_empty() || name == "default" {
            return;
        }
        let kind = match &signature.output {
            syn::ReturnType::Default => String::new(),
            syn::ReturnType::Type(_, kind) => format!(" -> {}", self.text(kind)),
        };
        let named = |value: &str| {
            let value = value.replace("::std::", "");
            format!("replace {full}{kind} with {value}")
        };
        if let Some(items) = values::iterated(&signature.output) {
            let mut changes = vec![(named("iter::empty()"), "None".to_owned())];
            for item in items {
                changes.push((
                    named(&format!("iter::once({item})")),
                    format!("Some({item})"),
                ));
            }
            self.site(bytes(block), Shape::Iterator, &signature.ident, changes);
            return;
        }
        let is = match block.stmts.as_slice() {
            [syn::Stmt::Expr(only, None)] => self.text(only),
            _ => String::new(),
        };
        let values = values::returned(&signature.output).into_iter();
        let changes = values.filter(|value| *value != is);
        let changes = changes.map(|value| (named(&value), value)).collect();
        let start = bytes(&block.brace_token.span.open()).end;
        self.site(start..start, Shape::Body, &signature.ident, changes);
    }

    fn guard(&mut self, arm: &syn::Arm) {
        if let Pat::Guard(guarded) = &arm.pat
            && !operators::chains_let(&guarded.guard)
        {
            let text = self.text(&guarded.guard);
            let changes = ["true", "false"].map(|value| {
                let name = format!("replace match guard {text} with {value}{}", self.within());
                (name, value.to_owned())
            });
            let range = bytes(&guarded.guard);
            self.site(range, Shape::Expression, &guarded.guard, changes.into());
        }
    }

    fn arms(&mut self, matched: &syn::ExprMatch) {
        let is_rest = |arm: &syn::Arm| matches!(arm.pat, Pat::Wild(_));
        if !matched.arms.iter().any(is_rest) {
            return;
        }
        for arm in matched.arms.iter().filter(|arm| !is_rest(arm)) {
            // For an arm with a guard, the guard `false` has the same effect as a deleted arm.
            if matches!(arm.pat, Pat::Guard(_)) {
                continue;
            }
            let end = bytes(&arm.pat).end;
            let name = format!("delete match arm {}{}", self.text(&arm.pat), self.within());
            self.site(end..end, Shape::Arm, &arm.pat, vec![(name, String::new())]);
        }
    }

    fn fields(&mut self, made: &syn::ExprStruct) {
        let Some(base) = &made.rest else {
            return;
        };
        let (kind, base) = (self.text(&made.path), self.original(base).to_owned());
        for field in &made.fields {
            let syn::Member::Named(name) = &field.member else {
                continue;
            };
            let shape = match field.colon_token {
                Some(_) => Shape::Expression,
                None => Shape::Shorthand,
            };
            let what = format!(
                "delete field {name} from struct {kind} expression{}",
                self.within()
            );
            let text = format!("({base}).{name}");
            self.site(bytes(&field.expr), shape, field, vec![(what, text)]);
        }
    }

    fn of<T>(&mut self, owner: String, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.owner.push(owner);
        let visited = visit(self);
        self.owner.pop();
        visited
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.asked, Asked::WhenCompiled);
        visit(self);
        self.asked = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<String> {
        let found = discover(source, 1, &BTreeSet::new()).unwrap();
        let mutants = found.sites.into_iter().flat_map(|site| site.mutants);
        mutants.map(|mutant| mutant.name).collect()
    }

    #[test]
    fn a_name_says_what_changes_and_in_which_function() {
        let source = "impl<'a> A<'a> { fn f(self) -> bool { self.b > 1 } }";
        assert_eq!(
            names(source),
            [
                "replace A<'a>::f -> bool with true",
                "replace A<'a>::f -> bool with false",
                "replace > with == in A<'a>::f",
                "replace > with < in A<'a>::f",
                "replace > with >= in A<'a>::f",
            ]
        );
        let source = "impl B for A { fn f(&self) { g(!a) } }";
        assert_eq!(
            names(source),
            [
                "replace <impl B for A>::f with ()",
                "delete ! in <impl B for A>::f"
            ]
        );
    }

    #[test]
    fn code_for_tests_is_not_mutated() {
        assert!(names("#[cfg(test)] mod tests { fn f() -> bool { a == b } }").is_empty());
        assert!(names("#[test] fn f() { g() }").is_empty());
    }

    #[test]
    fn no_let_stands_in_an_or() {
        let found = names("fn f() { if let Some(a) = b && c == d { g() } }");
        assert_eq!(found, ["replace f with ()", "replace == with != in f"]);
    }

    #[test]
    fn a_function_does_not_return_what_it_returns_anyway() {
        assert_eq!(names("fn f() -> Option<u8> { None }").len(), 2);
        assert!(names("impl Default for A { fn default() -> Self { g() } }").is_empty());
    }

    #[test]
    fn an_arm_is_deleted_where_another_one_takes_the_rest() {
        let with = "fn f() -> bool { match a { Some(1) => g(), _ => h() } }";
        assert!(names(with).contains(&"delete match arm Some(1) in f".to_owned()));
        let without = "fn f() -> bool { match a { Some(1) => g(), b => h() } }";
        assert_eq!(names(without).len(), 2);
    }
}
