//! Where the wrong elements of an output lie, in words.
//!
//! Owns the figures that can be gathered in one parallel pass and merged, and the sentences made of them. A sentence
//! is true of every wrong element; where none fits, there is none.

use rayon::prelude::*;

/// Tile extents whose incomplete tiles at the edge are looked at.
const TILES: [u64; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Elements that one task looks at.
const CHUNK: u64 = 1 << 16;

/// Describes the set of wrong positions; at least one must be wrong.
pub(crate) fn describe(shape: &[u64], wrong: impl Fn(u64) -> bool + Sync) -> String {
    let total: u64 = shape.iter().product();
    let chunks = total.div_ceil(CHUNK);
    let gathered = (0..chunks)
        .into_par_iter()
        .filter_map(|chunk| {
            let mut seen: Option<Figures> = None;
            let mut coordinates = vec![0; shape.len()];
            for position in chunk * CHUNK..total.min((chunk + 1) * CHUNK) {
                if wrong(position) {
                    locate(shape, position, &mut coordinates);
                    match &mut seen {
                        Some(figures) => figures.include(shape, position, &coordinates),
                        None => seen = Some(Figures::of(shape, position, &coordinates)),
                    }
                }
            }
            seen
        })
        .reduce_with(Figures::merged);
    gathered.map(|figures| figures.words(shape, total)).unwrap_or_default()
}

/// What is known of a set of positions.
struct Figures {
    count: u64,
    first: u64,
    last: u64,
    /// Greatest common divisor of the distances between flat positions.
    step: u64,
    /// The same by dimension, with smallest and largest coordinate.
    axes: Vec<Axis>,
    /// By [`TILES`]: every position lies in an incomplete tile.
    edges: [bool; TILES.len()],
}

#[derive(Clone, Copy)]
struct Axis {
    low: u64,
    high: u64,
    step: u64,
}

impl Figures {
    fn of(shape: &[u64], position: u64, coordinates: &[u64]) -> Self {
        let axes = coordinates.iter().map(|at| Axis { low: *at, high: *at, step: 0 }).collect();
        let edges = TILES.map(|tile| at_edge(shape, coordinates, tile));
        Self { count: 1, first: position, last: position, step: 0, axes, edges }
    }

    /// Takes in one position more.
    fn include(&mut self, shape: &[u64], position: u64, coordinates: &[u64]) {
        self.count += 1;
        self.step = gcd(self.step, self.first.abs_diff(position));
        self.first = self.first.min(position);
        self.last = self.last.max(position);
        for (axis, at) in self.axes.iter_mut().zip(coordinates) {
            axis.step = gcd(axis.step, axis.low.abs_diff(*at));
            axis.low = axis.low.min(*at);
            axis.high = axis.high.max(*at);
        }
        for (edge, tile) in self.edges.iter_mut().zip(TILES) {
            *edge = *edge && at_edge(shape, coordinates, tile);
        }
    }

    fn merged(mut self, other: Self) -> Self {
        self.count += other.count;
        self.step = gcd(gcd(self.step, other.step), self.first.abs_diff(other.first));
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        for (axis, other) in self.axes.iter_mut().zip(other.axes) {
            axis.step = gcd(gcd(axis.step, other.step), axis.low.abs_diff(other.low));
            axis.low = axis.low.min(other.low);
            axis.high = axis.high.max(other.high);
        }
        for (edge, other) in self.edges.iter_mut().zip(other.edges) {
            *edge &= other;
        }
        self
    }

    fn words(&self, shape: &[u64], total: u64) -> String {
        if self.count == total {
            return "every element".to_owned();
        }
        if self.count == 1 {
            return "a single element".to_owned();
        }
        let volume: u64 = self.axes.iter().map(Axis::width).product();
        let run = self.last - self.first + 1 == self.count;
        let narrowed = self.axes.iter().zip(shape).filter(|(axis, extent)| axis.width() < **extent).count();
        // A tail within one row is a tail, and not a block of one row by some columns.
        if volume == self.count && !(run && narrowed > 1) {
            return format!("exactly {}", self.block(shape));
        }
        if run {
            return match (self.first, self.last) {
                (_, last) if last + 1 == total => format!("exactly the last {} elements", self.count),
                (0, _) => format!("exactly the first {} elements", self.count),
                (first, last) => format!("exactly one run of elements, {first} to {last}"),
            };
        }
        if let Some((_, tile)) = self.edges.iter().zip(TILES).find(|(edge, _)| **edge) {
            let edge: Vec<String> = (0..shape.len())
                .filter(|axis| shape[*axis] > tile && !shape[*axis].is_multiple_of(tile))
                .map(|axis| format!("{} from {} on", names(shape, axis), shape[axis] / tile * tile))
                .collect();
            return format!("only in {}: the incomplete tiles of {tile}", edge.join(" or "));
        }
        if self.step > 1 && shape.len() == 1 {
            return strided(
                self.step,
                self.first % self.step,
                "elements",
                self.count == total.div_ceil(self.step),
            );
        }
        for (axis, along) in self.axes.iter().enumerate().rev() {
            if along.step > 1 && along.width() > along.step {
                return strided(along.step, along.low % along.step, &names(shape, axis), false);
            }
        }
        if self.axes.iter().zip(shape).any(|(axis, extent)| axis.width() <= extent / 2) {
            return format!("only within {}", self.block(shape));
        }
        String::new()
    }

    /// The smallest block that holds all positions.
    fn block(&self, shape: &[u64]) -> String {
        let ranges: Vec<String> = (0..shape.len())
            .filter(|axis| self.axes[*axis].width() < shape[*axis])
            .map(|axis| {
                let Axis { low, high, .. } = self.axes[axis];
                let names = names(shape, axis);
                match (low, high, high - low + 1) {
                    (_, _, 1) => format!("{} {low}", names.strip_suffix('s').unwrap_or(&names)),
                    (_, high, width) if high + 1 == shape[axis] => format!("the last {width} {names}"),
                    (0, _, width) => format!("the first {width} {names}"),
                    (low, high, _) => format!("{names} {low} to {high}"),
                }
            })
            .collect();
        ranges.join(" and ")
    }
}

impl Axis {
    fn width(&self) -> u64 {
        self.high - self.low + 1
    }
}

fn strided(step: u64, remainder: u64, names: &str, all: bool) -> String {
    let exactly = if all { "exactly" } else { "only" };
    format!("{exactly} {names} whose index leaves {remainder} when divided by {step}")
}

/// What the indices of a dimension are called.
fn names(shape: &[u64], axis: usize) -> String {
    match shape.len() - axis {
        1 if shape.len() == 1 => "elements".to_owned(),
        1 => "columns".to_owned(),
        2 => "rows".to_owned(),
        _ => format!("indices of dimension {axis}"),
    }
}

/// Coordinates of a row-major position.
pub(crate) fn coordinates(shape: &[u64], position: u64) -> Vec<u64> {
    let mut coordinates = vec![0; shape.len()];
    locate(shape, position, &mut coordinates);
    coordinates
}

fn locate(shape: &[u64], mut position: u64, coordinates: &mut [u64]) {
    for (coordinate, extent) in coordinates.iter_mut().zip(shape).rev() {
        *coordinate = position % extent;
        position /= extent;
    }
}

/// Whether a position lies in a tile that the edge cuts off.
fn at_edge(shape: &[u64], coordinates: &[u64], tile: u64) -> bool {
    coordinates.iter().zip(shape).any(|(at, extent)| *extent > tile && *at >= extent / tile * tile)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    // Settled soon, and then asked for every position.
    if a == 1 {
        return 1;
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Describes the positions of a 2-D output whose (row, column) the predicate picks.
    fn matrix(rows: u64, columns: u64, wrong: impl Fn(u64, u64) -> bool + Sync) -> String {
        describe(&[rows, columns], |position| wrong(position / columns, position % columns))
    }

    #[test]
    fn everything_and_single_elements() {
        assert_eq!(matrix(5, 7, |_, _| true), "every element");
        assert_eq!(matrix(5, 7, |row, column| (row, column) == (2, 3)), "a single element");
        assert_eq!(describe(&[10], |_| false), "");
    }

    #[test]
    fn a_tail_that_was_left_out() {
        assert_eq!(describe(&[1021], |at| at >= 1016), "exactly the last 5 elements");
        assert_eq!(describe(&[1000, 1021], |at| at >= 1_020_000), "exactly the last 1000 elements");
        assert_eq!(describe(&[1 << 20], |at| at < 3), "exactly the first 3 elements");
    }

    #[test]
    fn last_rows_and_columns() {
        assert_eq!(matrix(100, 67, |row, _| row >= 96), "exactly the last 4 rows");
        assert_eq!(matrix(100, 67, |_, column| column >= 64), "exactly the last 3 columns");
        assert_eq!(matrix(100, 67, |_, column| column == 5), "exactly column 5");
    }

    #[test]
    fn incomplete_tiles_at_both_edges() {
        assert_eq!(
            matrix(1021, 2039, |row, column| row >= 992 || column >= 2016),
            "only in rows from 992 on or columns from 2016 on: the incomplete tiles of 32"
        );
    }

    #[test]
    fn one_tile() {
        assert_eq!(
            matrix(128, 128, |row, column| (32..64).contains(&row) && column < 32),
            "exactly rows 32 to 63 and the first 32 columns"
        );
        assert_eq!(
            matrix(128, 128, |row, column| (32..64).contains(&row) && column < 32 && (row + column) % 3 == 0),
            "only within rows 32 to 63 and the first 32 columns"
        );
    }

    #[test]
    fn every_nth() {
        assert_eq!(
            describe(&[4096], |at| at % 32 == 5),
            "exactly elements whose index leaves 5 when divided by 32"
        );
        assert_eq!(
            matrix(64, 64, |row, column| column % 4 == 3 && row != 7),
            "only columns whose index leaves 3 when divided by 4"
        );
    }

    #[test]
    fn no_pattern_no_words() {
        assert_eq!(matrix(256, 256, |row, column| (row * 31 + column * 17) % 101 < 3), "");
    }

    #[test]
    fn higher_ranks_name_their_dimensions() {
        assert_eq!(describe(&[4, 8, 16], |at| at / 128 == 2), "exactly indices of dimension 0 2");
    }

    #[test]
    fn coordinates_are_row_major() {
        assert_eq!(coordinates(&[2, 3, 4], 23), [1, 2, 3]);
        assert_eq!(coordinates(&[2, 3, 4], 13), [1, 0, 1]);
    }
}
