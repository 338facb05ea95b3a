//! Lines of kallsyms, good and bad.

use super::*;

#[test]
fn takes_functions_and_the_reference_symbols() {
    let text = b"0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\nffffffff81000000 T _text\n\
        ffffffff81000100 t helper\nffffffff81000200 W weak\nffffffff82000000 D data\n\
        ffffffffc0201000 t vring_map\t[virtio_ring]\nnot a line\nffffffff81000300 T\n";
    let list = parse(text);
    let names: Vec<&str> = list
        .functions
        .iter()
        .map(|function| std::str::from_utf8(&text[function.name.clone()]).expect("test input"))
        .collect();
    assert_eq!(names, ["_stext", "_text", "helper", "weak", "vring_map"]);
    assert_eq!((list.reference("_text"), list.reference("other")), (Some(0xffff_ffff_8100_0000), None));
    assert_eq!(list.in_modules.iter().copied().collect::<Vec<_>>(), [0xffff_ffff_c020_1000]);
    assert!(!list.hidden);
}

#[test]
fn says_that_addresses_are_hidden() {
    let list = parse(b"0000000000000000 T _text\n0000000000000000 T _stext\n");
    assert!(list.hidden && list.functions.is_empty());
    assert!(!parse(b"").hidden);
}
