/// Whether a statement reads this table, which is named after FROM or JOIN.
pub fn reads(sql: &str, table: &str) -> bool {
    let words = sql.split([' ', '\n', '(', ')', ',']);
    let mut words = words.filter(|word| !word.is_empty());
    std::iter::from_fn(|| words.find(|word| matches!(*word, "FROM" | "JOIN")).and(words.next()))
        .any(|read| read == table)
}
