//! A collection of errors.

/// The distances of many times from the truth, in nanoseconds.
///
/// ```
/// use timebase_lab::accuracy::Off;
///
/// let off = Off::of(vec![3.0, 0.0, 4.0]);
/// assert_eq!((off.count, off.median, off.worst), (3, 3.0, 4.0));
/// assert!((off.rms - 2.887).abs() < 0.001);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Off {
    /// Their number.
    pub count: usize,
    /// The root of the mean of their squares.
    pub rms: f64,
    /// Half of them are smaller.
    pub median: f64,
    /// The largest.
    pub worst: f64,
}

impl Off {
    /// The statistics of errors without sign.
    pub fn of(mut errors: Vec<f64>) -> Off {
        errors.sort_unstable_by(f64::total_cmp);
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        Off {
            count: errors.len(),
            rms: (squares / errors.len().max(1) as f64).sqrt(),
            median: errors.get(errors.len() / 2).copied().unwrap_or_default(),
            worst: errors.last().copied().unwrap_or_default(),
        }
    }
}
