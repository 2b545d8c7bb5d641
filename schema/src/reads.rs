/// The tables that a statement reads: the names after FROM and JOIN.
pub fn reads(sql: &str) -> impl Iterator<Item = &str> {
    let words = sql.split([' ', '\n', '(', ')', ',']);
    let mut words = words.filter(|word| !word.is_empty());
    std::iter::from_fn(move || {
        words.find(|word| matches!(*word, "FROM" | "JOIN")).and_then(|_| words.next())
    })
}
