//! Writes XML: elements and text, nothing else.

use std::fmt::{Display, Write};

/// The namespace of the answers of this API version.
const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// An XML document during writing.
pub struct Xml(String);

impl Xml {
    /// Only the declaration.
    pub fn document() -> Self {
        Self("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned())
    }

    /// The root of an answer, with the namespace.
    pub fn root(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.open(&format!("{name} xmlns=\"{NAMESPACE}\""));
        content(self);
        self.close(name);
    }

    /// An element with elements in it.
    pub fn within(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.open(name);
        content(self);
        self.close(name);
    }

    /// An element with text in it.
    pub fn leaf(&mut self, name: &str, text: impl Display) {
        self.open(name);
        self.text(&text.to_string());
        self.close(name);
    }

    /// A list as EC2 writes it: one `item` each.
    pub fn items<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut content: impl FnMut(&mut Self, T),
    ) {
        self.within(name, |xml| {
            for item in items {
                xml.within("item", |xml| content(xml, item));
            }
        });
    }

    /// The text of the document.
    pub fn finish(self) -> String {
        self.0
    }

    fn open(&mut self, name: &str) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "<{name}>");
    }

    fn close(&mut self, name: &str) {
        let _ = write!(self.0, "</{name}>");
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                _ => self.0.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Xml;

    #[test]
    fn text_that_looks_like_markup_stays_text() {
        let mut xml = Xml::document();
        xml.items("tagSet", ["a<b>&c"], |xml, value| xml.leaf("value", value));
        assert!(
            xml.finish()
                .ends_with("<tagSet><item><value>a&lt;b&gt;&amp;c</value></item></tagSet>")
        );
    }
}
