//! Enums whose variants are words that users see.

/// An enum without data, with the list of its variants and the text of each.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $words:ident { $($(#[$doc:meta])* $name:ident,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $words {
            $($(#[$doc])* $name,)+
        }

        impl $words {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }
        }
    };
}

pub(crate) use words;
