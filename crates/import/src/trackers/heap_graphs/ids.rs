//! The rows of a graph.

/// The numbers of the rows that a graph makes. They follow each other as long as no other graph makes rows in between.
#[derive(Debug, Default)]
pub(super) struct RowIds {
    /// The first number within the graph and the first row of each stretch of rows that follow each other.
    stretches: Vec<(u32, u32)>,
    count: u32,
}

impl RowIds {
    /// Takes the next row of the table; returns its number within the graph.
    pub fn take(&mut self, next: &mut u32) -> u32 {
        let number = self.count;
        let follows = |&(first, row): &(u32, u32)| row.wrapping_add(number - first) == *next;
        if !self.stretches.last().is_some_and(follows) {
            self.stretches.push((number, *next));
        }
        self.count = number.wrapping_add(1);
        *next = next.wrapping_add(1);
        number
    }

    /// The row of a number within the graph.
    pub fn row(&self, number: u32) -> u32 {
        let after = self.stretches.partition_point(|(first, _)| *first <= number);
        let stretch = after.checked_sub(1).and_then(|place| self.stretches.get(place));
        stretch.map_or(number, |(first, row)| row.wrapping_add(number - first))
    }

    /// The number of rows.
    pub fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_two_graphs_alternate() {
        let mut next = 7;
        let (mut one, mut other) = (RowIds::default(), RowIds::default());
        for _ in 0..2 {
            assert_eq!(one.take(&mut next) % 2, 0);
            assert_eq!(one.take(&mut next) % 2, 1);
            other.take(&mut next);
        }
        let rows =
            |ids: &RowIds| (0..ids.count()).map(|number| ids.row(number)).collect::<Vec<_>>();
        assert_eq!((rows(&one), rows(&other)), (vec![7, 8, 10, 11], vec![9, 12]));
    }
}
