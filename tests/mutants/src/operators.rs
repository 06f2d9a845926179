//! The replacements of each operator.

use syn::{BinOp, Expr};

/// The replacements of an operator.
pub(crate) fn others(operator: &str) -> &'static [&'static str] {
    match operator {
        "==" => &["!="],
        "!=" => &["=="],
        "<" => &["==", ">", "<="],
        ">" => &["==", "<", ">="],
        "<=" => &[">"],
        ">=" => &["<"],
        "&&" => &["||"],
        "||" => &["&&"],
        "+" => &["-", "*"],
        "-" | "*" => &["+", "/"],
        "/" => &["%", "*"],
        "%" => &["/", "+"],
        "&" => &["|", "^"],
        "|" => &["&", "^"],
        "^" => &["|", "&"],
        "<<" => &[">>"],
        ">>" => &["<<"],
        "+=" => &["-=", "*="],
        "-=" | "*=" => &["+=", "/="],
        "/=" => &["%=", "*="],
        "%=" => &["/=", "+="],
        "&=" => &["|=", "^="],
        "|=" => &["&=", "^="],
        "^=" => &["|=", "&="],
        "<<=" => &[">>="],
        ">>=" => &["<<="],
        _ => &[],
    }
}

/// The operator between the same operands. The left side of an assignment gets no parentheses.
pub(crate) fn with(left: &str, operator: &str, right: &str) -> String {
    let compares = ["==", "!=", "<=", ">="].contains(&operator);
    if operator.ends_with('=') && !compares {
        format!("{left} {operator} {right}")
    } else {
        format!("({left}) {operator} ({right})")
    }
}

/// Is it a `let`, or a chain of `&&` with a `let`? Such an expression is allowed only in a chain of `&&`.
pub(crate) fn chains_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            chains_let(&binary.left) || chains_let(&binary.right)
        }
        _ => false,
    }
}
