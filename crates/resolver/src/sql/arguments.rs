//! The arguments that are clocks.

use rusqlite::types::ValueRef;
use timebase_sqlfn::{Arguments, Result, Values};

use crate::clock::{Clock, ClockId, MachineId, SeqId};

/// What a function of clocks asks its arguments for.
pub(super) trait ClockArguments {
    /// A clock by its number or its name; `None` if it is NULL.
    fn clock_id(&self, index: usize, name: &str) -> Result<Option<ClockId>>;

    /// A clock at `index` and its sequence behind it, on the machine that an
    /// optional further argument names; `None` if any is NULL.
    fn clock(&self, index: usize, names: [&str; 2], machine: usize) -> Result<Option<Clock>>;

    /// The reading of `(clock_id, seq_id, ts)`, in the clock's own unit; `None`
    /// if any of them is NULL.
    fn reading(&self, machine: usize) -> Result<Option<(Clock, i64)>>;
}

impl<V: Values + ?Sized> ClockArguments for Arguments<'_, V> {
    #[inline(always)]
    fn clock_id(&self, index: usize, name: &str) -> Result<Option<ClockId>> {
        match self.get(index) {
            Some(ValueRef::Text(_)) => Ok(self.text(index, name)?.map(ClockId::from_name)),
            Some(ValueRef::Integer(value)) => match u32::try_from(value) {
                Ok(id) if id != 0 => Ok(Some(ClockId(id))),
                _ => Err(self.must_be(index, name, "a clock number (1 to 4294967295) or name")),
            },
            Some(ValueRef::Null) => Ok(None),
            _ => Err(self.must_be(index, name, "a clock number or name")),
        }
    }

    #[inline(always)]
    fn clock(&self, index: usize, names: [&str; 2], machine: usize) -> Result<Option<Clock>> {
        let id = self.clock_id(index, names[0])?;
        let seq = self.number(index + 1, names[1])?;
        let machine = if self.has(machine) {
            self.number(machine, "machine_id")?
        } else {
            Some(MachineId::HOST.0)
        };
        let (Some(id), Some(seq), Some(machine)) = (id, seq, machine) else {
            return Ok(None);
        };
        Ok(Some(Clock::new(MachineId(machine), id, SeqId(seq))))
    }

    #[inline(always)]
    fn reading(&self, machine: usize) -> Result<Option<(Clock, i64)>> {
        let clock = self.clock(0, ["clock_id", "seq_id"], machine)?;
        let ticks = self.integer(2, "ts")?;
        Ok(clock.zip(ticks))
    }
}
