//! Prints part attributes for `info`.

use crate::output::{one_line, table};
use meshreel_commands::info::AttributeInfo;

/// Returns a table of at most `most` attributes; empty if there are none.
pub fn attribute_table(all: &[AttributeInfo], most: usize) -> String {
    let row = |a: &AttributeInfo| {
        let more = match a.nodes.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let node = a.nodes.first().map_or(String::new(), |n| one_line(n));
        vec![one_line(&a.name), node + &more, a.of.to_owned(), a.groups.to_string(), a.components.to_string()]
    };
    let mut rows: Vec<Vec<String>> = all.iter().take(most).map(row).collect();
    if all.len() > most {
        rows.push(vec![format!("… and {} more", all.len() - most)]);
    }
    match rows.is_empty() {
        true => String::new(),
        false => table(&["attribute", "<node", "<of", "groups", "numbers each"], &rows),
    }
}
