//! The different texts of a column.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Different texts, in order of first appearance.
#[derive(Clone, Default)]
pub(crate) struct Levels {
    pub(crate) texts: Vec<String>,
    /// Positions in `texts`, found by the hash of the text.
    codes: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Levels {
    /// No texts yet; they are hashed as `hasher` does it.
    pub(crate) fn new(hasher: DefaultHashBuilder) -> Self {
        Levels { hasher, ..Levels::default() }
    }

    /// The position of `text`, which becomes a level if it is none.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        self.code_of_hash(self.hasher.hash_one(text.as_bytes()), text)
    }

    /// The same for a text whose hash is known.
    pub(crate) fn code_of_hash(&mut self, hash: u64, text: &str) -> u32 {
        let found = self.codes.find(hash, |&code| self.texts[code as usize] == text);
        if let Some(&code) = found {
            return code;
        }
        let code = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        let (texts, hasher) = (&self.texts, &self.hasher);
        self.codes.insert_unique(hash, code, |&code| hasher.hash_one(texts[code as usize].as_bytes()));
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_code_in_order_of_appearance() {
        let mut levels = Levels::default();
        let texts: Vec<String> = (0..1000).map(|i| format!("text {}", i * 7 % 300)).collect();
        let codes: Vec<u32> = texts.iter().map(|text| levels.code(text)).collect();
        assert_eq!(levels.texts.len(), 300);
        assert!(codes.iter().zip(&texts).all(|(&code, text)| levels.texts[code as usize] == *text));
        assert_eq!(codes[..300], (0..300).collect::<Vec<u32>>());
    }
}
