//! The constraints of a query that reach the tables of a span join.
//!
//! SQLite checks all constraints again, so that a table only has to leave out rows
//! that cannot matter:
//!
//! | constraint | reaches | because |
//! |---|---|---|
//! | on the partition | every table with that partition | a partition's rows come from it alone |
//! | `ts <= x` | a table without gaps | a row begins with the later of its spans; without a span, a gap would become longer |
//! | `ts >= x` | a table, by the ends of its spans | a span that ended before cannot be in such a row; but the last span of a partition makes the partition known |
//! | on another column | its table, if it takes part without gaps | a row has the span's value |
//!
//! Only numbers are passed on: a comparison with them is the same in the table and in the join.

use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::vtab::{IndexConstraintOp, IndexInfo};

use crate::ValueRef;

use crate::query::quoted;

use super::definition::{Definition, Input, Partitioning, Place};

/// Columns that are always read are in this mask, and all from the 64th on are in its last bit.
type Used = u64;

/// Chooses constraints and tells SQLite about the order of the rows. The cost stays SQLite's
/// default: a span join as an inner loop would sort its tables again and again (PQ12).
pub fn choose(info: &mut IndexInfo, definition: &Definition) {
    let used = info.col_used();
    let mut plan = format!("{used:x}");
    let mut count = 0;
    for (constraint, mut usage) in info.constraints_and_usages() {
        let column = usize::try_from(constraint.column()).unwrap_or(usize::MAX);
        let operator = operator(&constraint.operator());
        let (Some(operator), true) = (operator, column < definition.places().len()) else {
            continue;
        };
        if constraint.is_usable() {
            count += 1;
            usage.set_argv_index(count);
            // Writing to a text cannot fail.
            let _ = write!(plan, ",{column}{operator}");
        }
    }
    info.set_idx_str(&plan);
    let by: Vec<Option<usize>> = info
        .order_bys()
        .map(|by| usize::try_from(by.column()).ok().filter(|_| !by.is_order_by_desc()))
        .collect();
    let is_ordered = match definition.partitioning {
        Partitioning::None => by == [Some(0)],
        _ => by == [Some(2)] || by == [Some(2), Some(0)],
    };
    info.set_order_by_consumed(is_ordered);
}

fn operator(operator: &IndexConstraintOp) -> Option<&'static str> {
    match operator {
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ => Some("="),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GT => Some(">"),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GE => Some(">="),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LT => Some("<"),
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LE => Some("<="),
        _ => None,
    }
}

/// A query of a table: its text, and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub sql: String,
    pub parameters: Vec<Value>,
}

/// The constraints of one run, with their values.
#[derive(Debug)]
pub struct Plan {
    used: Used,
    constraints: Vec<Constraint>,
}

#[derive(Debug)]
struct Constraint {
    column: usize,
    operator: &'static str,
    value: Value,
}

impl Plan {
    /// Reads the text from `choose`.
    pub fn parse(plan: &str, values: &[ValueRef<'_>]) -> Plan {
        let mut parts = plan.split(',');
        let used = parts.next().and_then(|used| Used::from_str_radix(used, 16).ok());
        let constraints = parts.zip(values).filter_map(|(part, value)| {
            let end = part.find(|c: char| !c.is_ascii_digit())?;
            let (column, operator) = part.split_at_checked(end)?;
            let operator =
                ["=", ">=", ">", "<=", "<"].into_iter().find(|&known| known == operator)?;
            let value = match *value {
                ValueRef::Integer(value) => Value::Integer(value),
                ValueRef::Real(value) => Value::Real(value),
                _ => return None,
            };
            Some(Constraint { column: column.parse().ok()?, operator, value })
        });
        Plan { used: used.unwrap_or(Used::MAX), constraints: constraints.collect() }
    }

    /// The query for one of the tables: all its columns in their order, those that nobody reads
    /// as NULL.
    pub fn query(&self, definition: &Definition, table: usize) -> Query {
        let Some(input) = definition.inputs.get(table) else {
            return Query { sql: String::new(), parameters: Vec::new() };
        };
        let mut needed = vec![false; input.columns.len()];
        for at in [Some(input.ts), input.dur, input.partition_at].into_iter().flatten() {
            if let Some(needed) = needed.get_mut(at) {
                *needed = true;
            }
        }
        for (index, place) in definition.places().iter().enumerate() {
            let is_used = self.used >> index.min(63) & 1 == 1;
            let Place::Of(of, column) = *place else {
                continue;
            };
            if let Some(needed) = needed.get_mut(column).filter(|_| of == table && is_used) {
                *needed = true;
            }
        }
        let columns = input.columns.iter().zip(needed).map(|(column, is_needed)| match is_needed {
            true => quoted(&column.name),
            false => "NULL".to_owned(),
        });
        let columns: Vec<String> = columns.collect();
        let mut sql = format!("SELECT {} FROM {}", columns.join(", "), input.quoted);
        let mut parameters = Vec::new();
        for constraint in &self.constraints {
            if let Some(condition) = constraint.condition(definition, table, input) {
                parameters.push(constraint.value.clone());
                let word = if parameters.len() == 1 { "WHERE" } else { "AND" };
                let _ = write!(sql, " {word} {condition} ?{}", parameters.len());
            }
        }
        // By their places: an expression in a view may have the name of another column.
        let order = [input.partition_at, Some(input.ts)].into_iter().flatten();
        let order: Vec<String> = order.map(|place| (place + 1).to_string()).collect();
        let _ = write!(sql, " ORDER BY {}", order.join(", "));
        Query { sql, parameters }
    }
}

impl Constraint {
    /// The left side of the constraint on a table and its operator, if it may reach the table.
    fn condition(&self, definition: &Definition, table: usize, input: &Input) -> Option<String> {
        let name = |place: usize| input.columns.get(place).map(|column| quoted(&column.name));
        let operator = self.operator;
        match definition.place(self.column) {
            Place::Partition => Some(format!("{} {operator}", name(input.partition_at?)?)),
            Place::Ts => {
                let ts = name(input.ts)?;
                let is_upper = matches!(operator, "<" | "<=" | "=");
                if is_upper && !input.has_gaps {
                    let operator = if operator == "<" { "<" } else { "<=" };
                    return Some(format!("{ts} {operator}"));
                }
                // The rows of a left or outer join need to know that a partition exists.
                let makes_partitions =
                    input.has_gaps && definition.partitioning == Partitioning::Only(table);
                if is_upper || makes_partitions {
                    return None;
                }
                let dur = input.dur.and_then(name);
                let dur = dur.map(|dur| format!(" + max(ifnull({dur}, 0), 0)"));
                Some(format!("{ts}{} >=", dur.unwrap_or_default()))
            }
            Place::Of(of, column) if of == table && !input.has_gaps => {
                Some(format!("{} {operator}", name(column)?))
            }
            Place::Dur | Place::Of(..) => None,
        }
    }
}
