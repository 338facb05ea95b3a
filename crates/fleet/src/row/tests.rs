use super::*;
use crate::schema::schema;

fn agrees<T: TableRow>() {
    let place = schema().place(T::TABLE).expect("the table");
    let columns = schema().tables[place].columns.iter();
    let expected: Vec<(&str, Kind, bool)> =
        columns.map(|column| (&*column.name, column.kind, column.nullable)).collect();
    assert_eq!(T::FIELDS, expected, "{}", T::TABLE);
}

#[test]
fn the_row_types_are_the_tables() {
    agrees::<CaptureRow>();
    agrees::<PopulationRow>();
    agrees::<IntervalRow>();
    agrees::<CauseRow>();
    agrees::<SegmentRow>();
    agrees::<AttributeRow>();
    agrees::<DiagnosticRow>();
    assert_eq!((schema().tables.len(), schema().place(CaptureRow::TABLE)), (7, Some(0)));
}

#[test]
fn rows_as_json_and_back() {
    let place = schema().place("diagnostics").expect("the table");
    let table = &schema().tables[place];
    let row = |place| {
        DiagnosticRow { capture: "c".to_owned(), severity: "note".to_owned(), what: "\"\n".to_owned(), place }
            .into_cells()
    };
    let json = to_json(&row(None), table);
    assert_eq!(json.to_string(), r#"{"capture":"c","place":null,"severity":"note","what":"\"\n"}"#);
    assert_eq!(from_json(json.as_object().expect("an object"), table).expect("a row"), row(None));
    check(&row(filled("x")), table).expect("fits");
    assert!(check(&vec![Cell::Null; 4], table).is_err(), "a null where none may be");
    assert!(check(&row(None)[..3].to_vec(), table).is_err(), "a cell is missing");
    let wrong = serde_json::json!({ "capture": 7, "severity": "", "what": "" });
    assert!(from_json(wrong.as_object().expect("an object"), table).is_err());
}
