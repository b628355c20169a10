//! Empty batch files to be filled in.

mod form;
mod workbook;

pub(super) use form::is_example;
pub use form::{EXAMPLE, Template};

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Country, Currency, PaymentKind, ServiceCode};
    use crate::intake::{Options, Reader, Row, Rules, ServiceRule, is_workbook};

    fn template(kind: PaymentKind) -> Template {
        let service = |code, currency| {
            let code = ServiceCode::parse(code).unwrap();
            (code, Currency::from_code(currency).unwrap())
        };
        Template {
            kind,
            services: vec![service("A_KES", "KES"), service("B_UGX", "UGX")],
            country: Country::from_code("KE"),
        }
    }

    fn rules(template: &Template) -> Arc<Rules> {
        let services = template.services.iter().map(|(code, currency)| {
            let rule = ServiceRule {
                kind: template.kind,
                currency: Some(*currency),
                min: None,
                max: None,
                account_format: None,
                takes_landlines: false,
            };
            (code.clone(), rule)
        });
        Arc::new(Rules {
            services: services.collect(),
            ..Rules::default()
        })
    }

    fn rows(bytes: Vec<u8>, rules: Arc<Rules>) -> Vec<Row> {
        let options = Options::default();
        let reader = match is_workbook(Cursor::new(&bytes)) {
            true => Reader::open_workbook(Cursor::new(bytes), &options, rules),
            false => Reader::open(Cursor::new(bytes), &options, rules),
        };
        reader.unwrap().map(Result::unwrap).collect()
    }

    fn errors(rows: &[Row]) -> Vec<String> {
        let of = |row: &Row| match row {
            Row::Bad(row) => row.told_text(),
            other => panic!("{other:?}"),
        };
        rows.iter().map(of).collect()
    }

    #[test]
    fn an_example_that_is_left_in_is_refused_in_every_kind_and_form() {
        for (kind, name) in PaymentKind::ALL {
            let template = template(kind);
            let (mut csv, mut xlsx) = (Vec::new(), Cursor::new(Vec::new()));
            template.write_csv(&mut csv).unwrap();
            template.write_xlsx(&mut xlsx).unwrap();
            for bytes in [csv, xlsx.into_inner()] {
                let found = errors(&rows(bytes, rules(&template)));
                assert_eq!(found.len(), 1, "{name}");
                assert!(
                    found[0].contains("example row of a template"),
                    "{name}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn an_example_without_its_mark_is_no_payment_either() {
        for (kind, name) in PaymentKind::ALL {
            let template = template(kind);
            let mut csv = Vec::new();
            template.write_csv(&mut csv).unwrap();
            let text = String::from_utf8(csv)
                .unwrap()
                .replace(EXAMPLE, "Ana 12345");
            let found = errors(&rows(text.into_bytes(), rules(&template)));
            assert!(found[0].contains("msisdn"), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_row_that_is_filled_in_is_read_digit_for_digit() {
        let template = template(PaymentKind::Bank);
        let mut csv = Vec::new();
        template.write_csv(&mut csv).unwrap();
        let text = String::from_utf8(csv).unwrap();
        let (header, _) = text.split_once('\n').unwrap();
        let row = "P-1,A_KES,254712345678,1500.50,KES,KE,Ana Were,Wages,01,Mlima Bank,Ana Were,0012345678901";
        let read = rows(format!("{header}\n{row}\n").into_bytes(), rules(&template));
        let [Row::Good(row)] = read.as_slice() else {
            panic!("{read:?}");
        };
        assert_eq!(row.account_number, "0012345678901");
        assert_eq!(row.money.to_string(), "1500.50");
    }

    #[test]
    fn a_template_is_the_same_each_time() {
        let made = || {
            let mut book = Cursor::new(Vec::new());
            template(PaymentKind::Bank).write_xlsx(&mut book).unwrap();
            book.into_inner()
        };
        assert!(made() == made());
    }
}
