//! Queries that run along a graph: from some nodes with values to those behind their edges.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_graph_scan(graph, init, step_query, columns)` | a table with `id` and the columns in the list `columns`, as `(depth, name)`: the rows of `init`, and those of all steps |
//! | `__intrinsic_graph_aggregating_scan(graph, init, agg_query, columns)` | the same, where a node waits for all nodes with an edge to it; for a graph without circles |
//!
//! `init` is a list of rows, its first column is `id`. The query reads `$table`: for each edge from
//! a node with a row, the row's values with the id at the other end. It returns `id` and the
//! columns. A scan ends when a step has no rows; the query of an aggregating scan runs once for
//! each depth, with all rows that came together at a node.
//!
//! # Design
//!
//! The query is prepared once, over a table pointer that is bound anew for each step. The
//! alternative was a recursive query. That cannot group the rows of a node, and SQLite runs it row
//! by row.
//!
//! Both functions are for statements of a user alone (`DIRECTONLY`). SQLite lets a text of SQL call
//! what a view may not, so a stranger's view could use them to call such functions.

use std::collections::HashMap;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};

use crate::{Error, Result};

use super::call::{Call, names, scalar};
use super::graph::Graph;
use super::limits::{Budget, Watch, connection};
use super::pointer::Pointer;
use super::rows::Rows;
use super::table::{Cell, Table};

const SCAN: &str = "__intrinsic_graph_scan";
const AGGREGATE: &str = "__intrinsic_graph_aggregating_scan";

/// The result depends on the tables that the query reads.
const DIRECT: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DIRECTONLY);

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    scalar(conn, SCAN, 4, DIRECT, |call| scan(call, SCAN, forwards))?;
    scalar(conn, AGGREGATE, 4, DIRECT, |call| scan(call, AGGREGATE, aggregate))
}

type Run = fn(&mut Scan<'_>, &Rows) -> Result<()>;

fn scan(call: Call<'_, '_>, name: &'static str, run: Run) -> Result<Pointer<Table>> {
    let query = call.text(2, "query")?;
    let columns = names(call.text(3, "columns")?);
    let columns: Vec<String> = std::iter::once("id").chain(columns).map(str::to_owned).collect();
    let Some(init) = call.pointer::<Rows>(1, "init")? else {
        return Ok(Pointer::to(Rows::new(columns).table()));
    };
    if init.names() != columns {
        return Err(call.error(format_args!(
            "init has the columns {}, but the list has {}",
            init.names().join(", "),
            columns.join(", ")
        )));
    }
    let graph = call.pointer::<Graph>(0, "graph")?;
    let conn = connection(call.context())?;
    let mut scan = Scan {
        name,
        graph: &graph.unwrap_or_default(),
        out: Rows::new(columns.clone()),
        query: prepare(&conn, query, &columns).map_err(|error| match error.is_interrupt() {
            true => error,
            false => call.error(format_args!("the query: {error}")),
        })?,
        watch: Watch::new(&conn),
        budget: Budget::new(name),
    };
    run(&mut scan, &init)?;
    Ok(Pointer::to(scan.out.table()))
}

/// Prepares the query, with `$table` as a table pointer in the first parameter.
fn prepare<'c>(conn: &'c Connection, query: &str, columns: &[String]) -> Result<Statement<'c>> {
    let quoted = |name: &str, quote: char| {
        let doubled = name.replace(quote, &format!("{quote}{quote}"));
        format!("{quote}{doubled}{quote}")
    };
    let select =
        columns.iter().enumerate().map(|(at, name)| format!("c{at} AS {}", quoted(name, '"')));
    let binds = columns.iter().enumerate();
    let binds = binds
        .map(|(at, name)| format!("__intrinsic_table_ptr_bind(c{at}, {})", quoted(name, '\'')));
    let table = format!(
        "(SELECT {} FROM __intrinsic_table_ptr(?1) WHERE {})",
        select.collect::<Vec<_>>().join(", "),
        binds.collect::<Vec<_>>().join(" AND ")
    );
    let statement = conn.prepare(&format!("SELECT * FROM ({})", with_table(query, &table)))?;
    if statement.parameter_count() != 1 {
        return Err(Error::new("it must read FROM $table, and have no other parameters"));
    }
    if !statement.readonly() {
        return Err(Error::new("it must only read"));
    }
    let found: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if found != columns {
        return Err(Error::new(format_args!(
            "it returns the columns {}, but must return {}",
            found.join(", "),
            columns.join(", ")
        )));
    }
    Ok(statement)
}

/// The query with `table` for each `$table`, which is no part of a longer name.
fn with_table(query: &str, table: &str) -> String {
    const NAME: &str = "$table";
    let mut parts = query.split(NAME);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
        text += if goes_on { NAME } else { table };
        text += part;
    }
    text
}

/// A scan while it runs.
struct Scan<'s> {
    name: &'static str,
    graph: &'s Graph,
    out: Rows,
    query: Statement<'s>,
    watch: Watch<'s>,
    budget: Budget,
}

impl Scan<'_> {
    fn rows(&self) -> Rows {
        Rows::new(self.out.names().to_vec())
    }

    /// The indexes of the nodes behind a row's edges; the row becomes a part of the result.
    fn put(&mut self, row: &[Cell]) -> Result<Vec<u32>> {
        self.watch.step()?;
        let id = match row.first() {
            Some(Cell::Integer(id)) => *id as u32,
            _ => {
                return Err(Error::new(format_args!("{}(): an id must be an integer", self.name)));
            }
        };
        let size: usize = row.iter().map(Cell::size).sum();
        self.budget.take(size)?;
        let id_cell = Cell::Integer(id.into());
        self.out.push(std::iter::once(id_cell).chain(row.iter().skip(1).cloned()));
        let edges = self.graph.index(id).map(|index| self.graph.edges(index));
        let edges = edges.unwrap_or_default();
        self.budget.take(size.saturating_mul(edges.len()))?;
        Ok(edges.to_vec())
    }

    /// A row of a node with the values of another one.
    fn passed(&self, node: u32, row: &[Cell]) -> Vec<Cell> {
        let id = Cell::Integer(self.graph.id(node).into());
        std::iter::once(id).chain(row.iter().skip(1).cloned()).collect()
    }

    /// Runs the query over a table, and calls `each` with its rows.
    fn run(&mut self, table: Rows) -> Result<Vec<Vec<Cell>>> {
        let name = self.name;
        let table = Pointer::to(table.table());
        let count = self.out.names().len();
        let mut found = Vec::new();
        let mut rows = self.query.query([table])?;
        while let Some(row) = rows.next()? {
            let mut cells = Vec::with_capacity(count);
            for column in 0..count {
                let value: ValueRef<'_> = row.get_ref(column)?;
                cells.push(Cell::of(value, name)?);
            }
            let size: usize = cells.iter().map(Cell::size).sum();
            self.budget.take(size)?;
            found.push(cells);
        }
        Ok(found)
    }
}

/// Each step goes along all edges of the rows of the last one.
fn forwards(scan: &mut Scan<'_>, init: &Rows) -> Result<()> {
    let mut step = scan.rows();
    for row in init.iter() {
        for node in scan.put(row)? {
            let row = scan.passed(node, row);
            step.push(row);
        }
    }
    while !step.is_empty() {
        let rows = scan.run(step)?;
        step = scan.rows();
        for row in rows {
            for node in scan.put(&row)? {
                let row = scan.passed(node, &row);
                step.push(row);
            }
        }
    }
    Ok(())
}

/// A node's query runs after those of all nodes with an edge to it: by the longest way to an end
/// of the graph, the farthest first.
fn aggregate(scan: &mut Scan<'_>, init: &Rows) -> Result<()> {
    let starts = init.iter().filter_map(|row| match row.first() {
        Some(Cell::Integer(id)) => scan.graph.index(*id as u32),
        _ => None,
    });
    let starts: Vec<u32> = starts.collect();
    let Some(depths) = depths(scan.graph, &starts, &mut scan.watch)? else {
        return Err(Error::new(format_args!(
            "{}(): the graph has a circle, in which every node would wait for the others",
            scan.name
        )));
    };
    let mut waiting: HashMap<u32, Rows> = HashMap::new();
    let depth = |node: u32| depths.get(node as usize).copied().unwrap_or_default();
    let mut deepest = 0;
    for row in init.iter() {
        for node in scan.put(row)? {
            let (row, empty) = (scan.passed(node, row), scan.rows());
            waiting.entry(depth(node)).or_insert(empty).push(row);
            deepest = deepest.max(depth(node));
        }
    }
    for level in (0..=deepest).rev() {
        let Some(table) = waiting.remove(&level) else {
            continue;
        };
        for row in scan.run(table)? {
            for node in scan.put(&row)? {
                // An edge leads to a lesser depth, so that its table has still to come.
                if depth(node) >= level {
                    return Err(Error::new(format_args!(
                        "{}(): the query returned an id that is not in its $table",
                        scan.name
                    )));
                }
                let (row, empty) = (scan.passed(node, &row), scan.rows());
                waiting.entry(depth(node)).or_insert(empty).push(row);
            }
        }
    }
    Ok(())
}

/// The length of the longest way from each node that the starts reach to an end of the graph.
/// `None` if there is a circle.
fn depths(graph: &Graph, starts: &[u32], watch: &mut Watch<'_>) -> Result<Option<Vec<u32>>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnTheWay,
        Done,
    }
    let mut states = vec![State::New; graph.len()];
    let mut depths = vec![0_u32; graph.len()];
    // Nodes of the way, with their next edges.
    let mut way: Vec<(u32, usize)> = Vec::new();
    for &start in starts {
        for &first in graph.edges(start) {
            if states[first as usize] == State::New {
                states[first as usize] = State::OnTheWay;
                way.push((first, 0));
            }
            while let Some((node, edge)) = way.last_mut() {
                watch.step()?;
                let Some(&dest) = graph.edges(*node).get(*edge) else {
                    let deepest = graph.edges(*node).iter().map(|&dest| depths[dest as usize] + 1);
                    depths[*node as usize] = deepest.max().unwrap_or_default();
                    states[*node as usize] = State::Done;
                    way.pop();
                    continue;
                };
                *edge += 1;
                match states[dest as usize] {
                    State::Done => {}
                    State::OnTheWay => return Ok(None),
                    State::New => {
                        states[dest as usize] = State::OnTheWay;
                        way.push((dest, 0));
                    }
                }
            }
        }
    }
    Ok(Some(depths))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
