//! The names that ends of slices have (rule DT9).

use crate::timeline::{Label, Name};

/// The set of names in ends of slices, and whether any end has no name.
#[derive(Debug, Default)]
pub(crate) struct EndNames {
    /// A bit for each name.
    named: Vec<u64>,
    has_named: bool,
    has_unnamed: bool,
    /// Whether names are translated, so that an end may have another name than it was read with.
    pub are_translated: bool,
}

const BITS: u32 = u64::BITS;

impl EndNames {
    /// An end has this name.
    #[inline]
    pub fn end(&mut self, name: Label<'_>) {
        match name {
            Label::None => self.has_unnamed = true,
            Label::Own(_) => self.has_named = true,
            Label::Known(Name(name)) => {
                self.has_named = true;
                let word = (name / BITS) as usize;
                if self.named.len() <= word {
                    self.named.resize(word + 1, 0);
                }
                self.named[word] |= 1 << (name % BITS);
            }
        }
    }

    /// Whether some ends have names and others have none.
    #[inline]
    pub fn are_mixed(&self) -> bool {
        self.has_named && self.has_unnamed
    }

    /// Whether an end without a name may have closed a slice before its own end, which has this name.
    #[inline]
    pub fn may_be_early(&self, Name(name): Name) -> bool {
        if !self.are_mixed() {
            return false;
        }
        let word = self.named.get((name / BITS) as usize);
        self.are_translated || word.is_some_and(|word| word >> (name % BITS) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dt9_only_names_of_ends_count_and_only_if_other_ends_have_none() {
        let mut ends = EndNames::default();
        ends.end(Label::Known(Name(70)));
        assert!(!ends.may_be_early(Name(70)));
        ends.end(Label::None);
        assert!(ends.may_be_early(Name(70)));
        assert!(!ends.may_be_early(Name(6)) && !ends.may_be_early(Name(1000)));
        ends.are_translated = true;
        assert!(ends.may_be_early(Name(6)));
    }
}
