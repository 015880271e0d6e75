//! A few numbers in a row, for parameters that say something of each class.

use core::fmt;
use core::ops::Deref;

/// Numbers as they stand in a row, separated by commas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers {
    values: [f64; Self::MOST],
    count: usize,
}

impl Numbers {
    /// The most that a row holds.
    pub(crate) const MOST: usize = 8;

    /// `count` times `value`, or as often as there is room.
    pub(crate) const fn all(value: f64, count: usize) -> Self {
        Self { values: [value; Self::MOST], count: if count < Self::MOST { count } else { Self::MOST } }
    }

    /// Reads one or more numbers, each from `min` to `max`; `None` if `text` is anything else.
    pub(super) fn read(text: &str, min: f64, max: f64) -> Option<Self> {
        let mut numbers = Self::all(0.0, 0);
        for part in text.split(',') {
            let number = part.trim().parse().ok().filter(|number| (min..=max).contains(number))?;
            *numbers.values.get_mut(numbers.count)? = number;
            numbers.count += 1;
        }
        Some(numbers)
    }
}

impl Deref for Numbers {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.values[..self.count]
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.iter().enumerate() {
            write!(f, "{}{number}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    /// Would catch a number out of its range, one too many, and a row that is not read back as it was written.
    #[test]
    fn a_row_of_numbers() {
        let read = |text: &str| Numbers::read(text, 0.0, 8.0).map(|numbers| numbers.to_string());
        for (text, written) in [("1", "1"), ("0.5, 0.25 ,8", "0.5,0.25,8"), ("1,2,3,4,5,6,7,8", "1,2,3,4,5,6,7,8")] {
            assert_eq!(read(text).as_deref(), Some(written));
        }
        for text in ["", ",", "1,", "1;2", "8.1", "-1", "nan", "1,2,3,4,5,6,7,8,1"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Numbers::all(0.5, 2).to_string(), "0.5,0.5");
        assert_eq!(Numbers::all(1.0, 99).len(), 8);
    }
}
