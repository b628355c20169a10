//! Whatever the bytes: no panic, and every row once.

use proptest::prelude::*;

use super::*;

const HEADER: &str = "service_code,msisdn,amount,narration\n";

/// Reads to the end and returns how many rows there were; an error ends the reading.
fn drain(bytes: Vec<u8>, options: Options) -> usize {
    let Ok(reader) = Reader::open(Cursor::new(bytes), &options, rules()) else {
        return 0;
    };
    reader.take_while(Result::is_ok).count()
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), windows in any::<bool>()) {
        let encoding = if windows { Encoding::Windows1252 } else { Encoding::Utf8 };
        drain(bytes.clone(), Options { encoding, ..Options::default() });
        drain([HEADER.as_bytes(), &bytes].concat(), Options { encoding, ..Options::default() });
    }

    #[test]
    fn no_csv_panics(text in "[\",;\r\n a1é#.]{0,200}") {
        drain(format!("{HEADER}{text}").into_bytes(), Options::default());
    }

    #[test]
    fn no_json_panics(text in "[\\[\\]{}\",:\\\\\n a1.é]{0,200}") {
        for format in [Format::Json, Format::JsonLines] {
            drain(format!("[{text}").into_bytes(), Options { format: Some(format), ..Options::default() });
            drain(format!("{{{text}").into_bytes(), Options { format: Some(format), ..Options::default() });
        }
    }

    /// The same records come out as the csv crate writes them and reads them.
    #[test]
    fn every_row_comes_out_once_with_its_cells(
        rows in prop::collection::vec(prop::collection::vec("[a-z\", ;\\né\r]{0,6}", 1..6), 1..20),
        delimiter in prop::sample::select(vec![b',', b';', b'\t', b'|']),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') };
        let mut writer = ::csv::WriterBuilder::new().flexible(true).delimiter(delimiter).terminator(end).from_writer(Vec::new());
        writer.write_record(["service_code", "msisdn", "amount", "narration"]).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let expected: Vec<&Vec<String>> = rows.iter().filter(|row| row.iter().any(|cell| !cell.trim().is_empty())).collect();
        match read_all(writer.into_inner().unwrap(), rules()) {
            Ok(found) => {
                prop_assert_eq!(found.len(), expected.len());
                for (row, cells) in found.iter().zip(expected) {
                    if let Row::Bad(bad) = row {
                        prop_assert_eq!(&bad.raw, cells);
                    }
                }
            }
            // Cells that look like swallowed rows are refused on purpose.
            Err(error) => prop_assert!(matches!(error, Error::Swallowed { .. } | Error::NoRows(_)), "{}", error),
        }
    }

    #[test]
    fn good_rows_and_bad_rows_add_up(kinds in prop::collection::vec(0_u8..5, 1..60)) {
        let mut file = HEADER.to_owned();
        let mut expected = Vec::new();
        let mut line = 2;
        for kind in kinds {
            let (row, lines, good) = match kind {
                0 => ("B2C_MPESA,254712345678,50,x\n", 1, true),
                1 => ("B2C_MPESA,254712345678,50,\"x\ny\"\n", 2, true),
                2 => ("B2C_MPESA,2547,50,x\n", 1, false),
                3 => ("B2C_MPESA,254712345678\n", 1, false),
                _ => ("B2C_MPESA,254712345678,50,\"x\" y\r\n", 1, false),
            };
            file.push_str(row);
            expected.push((line, good));
            line += lines;
        }
        let found: Vec<(u64, bool)> = read(file).iter().map(|row| match row {
            Row::Good(instruction) => (instruction.line, true),
            Row::Unpriced(row) => (row.line, false),
            Row::Bad(bad) | Row::Skipped(bad) => (bad.line, false),
        }).collect();
        prop_assert_eq!(found, expected);
    }
}
