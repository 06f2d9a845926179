//! Every rule of the protocol has an id of its own, and code or tests cite it.

use crate::{prose, read};

#[test]
fn the_rules_of_the_protocol_are_numbered_in_sequence() {
    let protocol = read("docs/design/protocol.md");
    let mut section = 0;
    let mut rule = 0;
    for (number, line) in prose(&protocol) {
        if let Some(heading) = line.strip_prefix("## ") {
            section += 1;
            rule = 0;
            assert!(heading.starts_with(&format!("{section}. ")), "{heading}");
        }
        let begins = line
            .strip_prefix("- **R")
            .or_else(|| line.strip_prefix("| **R"));
        if let Some(rest) = begins {
            rule += 1;
            let wanted = format!("{section}.{rule}**");
            assert!(
                rest.starts_with(&wanted),
                "line {number}: R{wanted} is next"
            );
        } else {
            let top = line.starts_with("- ") && section > 0;
            assert!(!top, "line {number} is a rule without an id: {line}");
        }
    }
    assert_eq!(section, 8);
}
