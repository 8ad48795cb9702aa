//! JSON paths: where in a file a value stands.

use std::fmt;

/// Depth to which a path is written out.
const DEPTH_MAX: usize = 32;
/// Characters of a key that are written out.
const KEY_CHARS_MAX: usize = 48;

/// A place in the document, as a chain on the stack; it costs nothing until it is displayed.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
    Column(ColumnPlace),
}

/// Which of a challenge's 15 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnPlace {
    /// The challenged node's.
    Challenged,
    /// That of a DRG parent.
    Drg(usize),
    /// That of an expander parent.
    Exp(usize),
}

impl fmt::Display for ColumnPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Challenged => f.write_str("replica_column_proofs.c_x"),
            Self::Drg(index) => write!(f, "replica_column_proofs.drg_parents[{index}]"),
            Self::Exp(index) => write!(f, "replica_column_proofs.exp_parents[{index}]"),
        }
    }
}

impl<'a> Path<'a> {
    /// A path that starts with `key`; empty for the top of the document.
    pub(super) const fn root(key: &'a str) -> Self {
        Self { parent: None, step: Step::Key(key) }
    }

    /// The member `key` of this object.
    pub(super) const fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }

    /// The element `index` of this array.
    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// One of the columns of this challenge.
    pub(super) const fn column(&'a self, place: ColumnPlace) -> Self {
        Self { parent: Some(self), step: Step::Column(place) }
    }

    fn is_top(&self) -> bool {
        self.parent.is_none() && matches!(self.step, Step::Key(""))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent.filter(|parent| !parent.is_top());
        if let Some(parent) = parent {
            parent.fmt(f)?;
        }
        let dot = if parent.is_some() { "." } else { "" };
        match self.step {
            Step::Key(key) => write!(f, "{dot}{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Column(place) => write!(f, "{dot}{place}"),
        }
    }
}

/// An open object or array of [`at_offset`].
enum Frame<'a> {
    Object { key: &'a [u8] },
    Array { index: usize },
}

/// The path of the value that byte `offset` of `text` belongs to, after `prefix`.
///
/// Reads the text only up to there, so what follows (or is missing) does not matter.
pub(super) fn at_offset(prefix: &str, text: &[u8], offset: usize) -> String {
    let text = &text[..offset.min(text.len())];
    let mut frames = Vec::new();
    let mut depth = 0_usize;
    let mut is_key = false;
    let mut position = 0;
    while let Some(&byte) = text.get(position) {
        position += 1;
        match byte {
            b'{' | b'[' => {
                is_key = byte == b'{';
                if depth < DEPTH_MAX {
                    frames.push(if is_key {
                        Frame::Object { key: b"" }
                    } else {
                        Frame::Array { index: 0 }
                    });
                }
                depth += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                frames.truncate(depth);
                is_key = false;
            }
            b',' if depth <= DEPTH_MAX => match frames.last_mut() {
                Some(Frame::Array { index }) => *index += 1,
                Some(Frame::Object { .. }) => is_key = true,
                None => {}
            },
            b'"' => {
                let string = &text[position..];
                let bytes = string_bytes(string);
                if is_key
                    && depth <= DEPTH_MAX
                    && let Some(Frame::Object { key }) = frames.last_mut()
                {
                    *key = &string[..bytes];
                }
                is_key = false;
                position += bytes + 1;
            }
            _ => {}
        }
    }
    written(prefix, &frames)
}

/// Bytes before the quote that ends a string.
fn string_bytes(string: &[u8]) -> usize {
    let mut escaped = false;
    string
        .iter()
        .position(|&byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })
        .unwrap_or(string.len())
}

fn written(prefix: &str, frames: &[Frame<'_>]) -> String {
    let mut path = prefix.to_owned();
    for frame in frames {
        match frame {
            Frame::Object { key: b"" } => {}
            Frame::Object { key } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&printable(&String::from_utf8_lossy(key), KEY_CHARS_MAX));
            }
            Frame::Array { index } => path.push_str(&format!("[{index}]")),
        }
    }
    if path.is_empty() { "top level".to_owned() } else { path }
}

/// At most `chars_max` characters of `text`, with control characters escaped.
pub(super) fn printable(text: &str, chars_max: usize) -> String {
    let cut = text.char_indices().nth(chars_max).map(|(bytes, _)| bytes);
    let mut shown: String = String::new();
    for character in text[..cut.unwrap_or(text.len())].chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if cut.is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_written_from_the_top() {
        let (top, wrapped) = (Path::root(""), Path::root("PoRep"));
        assert_eq!(top.key("a").index(3).key("b").to_string(), "a[3].b");
        assert_eq!(wrapped.key("a").index(3).to_string(), "PoRep.a[3]");
    }

    #[test]
    fn offsets_name_the_value_that_they_fall_into() {
        let text = br#"{"a":{"k\"":[1,[22,"x,]"]],"b":null},"c":7}"#;
        for (before, expected) in [
            ("{", "top level"),
            (r#"{"a":{"k\"":[1,[22"#, r#"a.k\"[1][0]"#),
            (r#"{"a":{"k\"":[1,[22,"x"#, r#"a.k\"[1][1]"#),
            (r#"{"a":{"k\"":[1,[22,"x,]"]"#, r#"a.k\"[1]"#),
            (r#"{"a":{"k\"":[1,[22,"x,]"]],"b":nu"#, "a.b"),
            (r#"{"a":{"k\"":[1,[22,"x,]"]],"b":null}"#, "a"),
        ] {
            assert!(text.starts_with(before.as_bytes()));
            assert_eq!(at_offset("", text, before.len()), expected);
        }
        assert_eq!(at_offset("PoRep", text, text.len() - 1), "PoRep.c");
    }

    #[test]
    fn deep_and_hostile_texts_stay_short() {
        let deep = vec![b'['; 1 << 20];
        assert_eq!(at_offset("", &deep, deep.len()), "[0]".repeat(DEPTH_MAX));
        let key = format!("{{\"{}\":", "\u{1b}".repeat(1000));
        assert!(at_offset("", key.as_bytes(), key.len()).len() < 8 * KEY_CHARS_MAX);
    }
}
