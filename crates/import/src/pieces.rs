//! A list that grows in pieces of one size.
//!
//! # Design
//!
//! The state of each sequence, thread and track is in such lists, and there may be 100,000 of them. A vector moves when it
//! grows, and leaves a hole that it never fits in again. A piece does not move, and the next thing of this size takes its
//! place when it is freed. The alternative was to tell the allocator to map all that is large: this saves 10 MB more with
//! 100,000 sequences, but the kernel takes a tenth more of the whole processor time, only C can do it, and only with the GNU
//! allocator.

use std::ops::{Index, IndexMut};

/// The number of elements in a piece.
const PIECE: usize = 1 << 10;

/// Elements by their numbers. The first piece grows as a vector does.
#[derive(Debug)]
pub(crate) struct Pieces<T>(Vec<Vec<T>>);

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Pieces(Vec::new())
    }
}

impl<T> Pieces<T> {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * PIECE + last.len())
    }

    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        self.0.get(place / PIECE)?.get(place % PIECE)
    }

    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.0.get_mut(place / PIECE)?.get_mut(place % PIECE)
    }

    pub fn push(&mut self, element: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < PIECE => last.push(element),
            None => self.0.push(vec![element]),
            Some(_) => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(element);
                self.0.push(piece);
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.iter().flatten()
    }
}

impl<T: Default> Pieces<T> {
    /// The element of a number. It and those before it become the default if they are not there.
    #[inline]
    pub fn reach(&mut self, place: usize) -> &mut T {
        if place >= self.len() {
            self.grow(place);
        }
        &mut self[place]
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        while self.len() <= place {
            self.push(T::default());
        }
    }
}

impl<T> Index<usize> for Pieces<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        &self.0[place / PIECE][place % PIECE]
    }
}

impl<T> IndexMut<usize> for Pieces<T> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.0[place / PIECE][place % PIECE]
    }
}

impl<T> IntoIterator for Pieces<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    /// Each piece is freed after its last element.
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_of_a_vector() {
        let (mut pieces, mut vector) = (Pieces::default(), Vec::new());
        for number in 0..3 * PIECE + 5 {
            assert_eq!(pieces.len(), vector.len());
            pieces.push(number);
            vector.push(number);
        }
        *pieces.reach(4 * PIECE) = 7;
        vector.resize(4 * PIECE, 0);
        vector.push(7);
        pieces[PIECE] = 3;
        vector[PIECE] = 3;
        assert_eq!(pieces.get(4 * PIECE), Some(&7));
        assert!(pieces.get(4 * PIECE + 1).is_none() && pieces.get_mut(9 * PIECE).is_none());
        assert!(pieces.iter().eq(&vector));
        assert!(pieces.into_iter().eq(vector));
    }
}
