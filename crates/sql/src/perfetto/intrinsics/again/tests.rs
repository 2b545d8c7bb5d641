use super::*;

#[test]
fn pq12_the_same_values_make_a_table_once_while_it_lives() {
    let again = Again::new();
    let (one, two) = (Arc::new(1), Arc::new(2));
    let made = std::cell::Cell::new(0);
    let table = |values: &[&Arc<i32>], rest: &str| {
        let values: Vec<Arc<i32>> = values.iter().map(|&value| Arc::clone(value)).collect();
        let make = || {
            made.set(made.get() + 1);
            Ok(Table::empty(&["ts"]))
        };
        again.table(&values, rest.to_owned(), make).unwrap()
    };
    let first = table(&[&one, &two], "(a)");
    assert!(Arc::ptr_eq(&first, &table(&[&one, &two], "(a)")));
    assert_eq!(made.get(), 1);
    // Other values, even equal ones, and another text make another table.
    let equal = Arc::new(2);
    let other = table(&[&one, &equal], "(a)");
    assert!(!Arc::ptr_eq(&first, &other));
    let (_by_text, _by_count) = (table(&[&one, &equal], "(b)"), table(&[&one], "(b)"));
    assert_eq!(made.get(), 4);
    // Nobody holds the table any more.
    drop(table(&[&two], ""));
    drop(table(&[&two], ""));
    assert_eq!(made.get(), 6);
}
