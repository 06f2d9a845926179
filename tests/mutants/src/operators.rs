//! What each operator becomes.

use syn::{BinOp, Expr};

/// The operators that an operator becomes.
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

/// The operator between the same operands. What is assigned to is a place, not a value.
pub(crate) fn with(left: &str, operator: &str, right: &str) -> String {
    let compares = ["==", "!=", "<=", ">="].contains(&operator);
    if operator.ends_with('=') && !compares {
        format!("{left} {operator} {right}")
    } else {
        format!("({left}) {operator} ({right})")
    }
}

/// Is it, or does it chain with `&&`, a `let`? Nothing but `&&` may stand there.
pub(crate) fn chains_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            chains_let(&binary.left) || chains_let(&binary.right)
        }
        _ => false,
    }
}
