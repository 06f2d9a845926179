//! What the English sentences in error messages of EC2 contain besides their meaning.
//! They are not part of the documented API; where nothing is found, nothing is assumed.

use std::collections::BTreeSet;

use mooring_plan::address::Address;
use mooring_plan::outcome::Outcome;

/// The code and the sentence without the parts that differ each time: the ID of the request. The sentence of a denial is
/// left out: it names the session and contains an encoded message.
pub(super) fn lasting_text(code: &str, sentence: &str, outcome: Outcome) -> String {
    if outcome.is_denial() {
        return code.to_owned();
    }
    let request = ["Request ID", "RequestId"];
    let ends = request.iter().filter_map(|word| sentence.find(word)).min();
    let lasting = ends.and_then(|end| sentence.get(..end));
    let lasting = lasting.unwrap_or(sentence).trim_end_matches([' ', '(']);
    format!("{code}: {lasting}")
}

/// The addresses that a sentence names.
pub(super) fn addresses(sentence: &str) -> BTreeSet<Address> {
    let words = sentence.split(|char: char| !char.is_ascii_digit() && char != '.');
    words
        .filter_map(|word| word.trim_matches('.').parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use mooring_plan::address::Address;
    use mooring_plan::outcome::Outcome;

    use super::{addresses, lasting_text};

    #[test]
    fn the_id_of_a_request_is_not_in_the_text() {
        for end in [" (Service: Ec2, Request ID: 1)", " (RequestId: 2)", " ("] {
            let sentence = format!("Value is not valid.{end}");
            let text = lasting_text("InvalidParameterValue", &sentence, Outcome::Invalid);
            assert!(
                text.starts_with("InvalidParameterValue: Value is not valid."),
                "{text}"
            );
            assert!(!text.contains("ID") && !text.contains("Id"), "{text}");
        }
    }

    #[test]
    fn the_text_of_a_denial_is_its_code() {
        let sentence = "User a1 may not. Encoded authorization failure message: b2";
        assert_eq!(
            lasting_text("UnauthorizedOperation", sentence, Outcome::Denied),
            "UnauthorizedOperation"
        );
    }

    #[test]
    fn addresses_are_found_between_any_signs_and_numbers_are_none() {
        let sentence = "[203.0.113.4] and 203.0.113.40. are not on eni-1.2 (3 of 10.0.0/24)";
        let expected = [4, 40].map(|last| Address::v4([203, 0, 113, last]));
        assert_eq!(addresses(sentence), expected.into());
        assert!(addresses("no address").is_empty());
    }
}
