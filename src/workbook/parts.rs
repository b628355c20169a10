//! The parts of a workbook beside its sheets.

use std::fmt::Write as _;

use super::cell::{DECIMALS_MAX, push_escaped};

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
/// Formats below this number are the format's own.
const OWN_FORMATS: u8 = 164;

/// A sheet, as the book lists it.
pub(super) struct Listed {
    pub(super) name: String,
    /// The area that is filtered, as `$A$1:$B$9`, of a list with a header.
    pub(super) area: Option<String>,
}

/// Returns each part with its name.
pub(super) fn all(
    sheets: &[Listed],
    active: usize,
    (title, created): (&str, &str),
) -> Vec<(&'static str, String)> {
    vec![
        ("[Content_Types].xml", content_types(sheets.len())),
        (
            "_rels/.rels",
            package(&[("officeDocument", "xl/workbook.xml")]),
        ),
        ("docProps/core.xml", core(title, created)),
        ("xl/workbook.xml", book(sheets, active)),
        ("xl/_rels/workbook.xml.rels", relations(sheets.len())),
        ("xl/styles.xml", styles()),
    ]
}

fn content_types(sheets: usize) -> String {
    let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    let mut xml = format!(
        r#"{XML}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/><Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>"#
    );
    for number in 1..=sheets {
        push(
            &mut xml,
            format_args!(
                r#"<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{kind}.worksheet+xml"/>"#
            ),
        );
    }
    xml.push_str("</Types>");
    xml
}

fn package(parts: &[(&str, &str)]) -> String {
    let mut xml = format!(r#"{XML}<Relationships xmlns="{PACKAGE}/relationships">"#);
    for (at, (kind, target)) in parts.iter().enumerate() {
        push(
            &mut xml,
            format_args!(
                r#"<Relationship Id="rId{}" Type="{RELATIONS}/{kind}" Target="{target}"/>"#,
                at + 1
            ),
        );
    }
    let id = parts.len() + 1;
    push(
        &mut xml,
        format_args!(
            r#"<Relationship Id="rId{id}" Type="{PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/></Relationships>"#
        ),
    );
    xml
}

fn core(title: &str, created: &str) -> String {
    let mut xml = format!(
        r#"{XML}<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>"#
    );
    push_escaped(&mut xml, title);
    push(
        &mut xml,
        format_args!(
            r#"</dc:title><dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created></cp:coreProperties>"#
        ),
    );
    xml
}

fn book(sheets: &[Listed], active: usize) -> String {
    let mut xml = format!(
        r#"{XML}<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><bookViews><workbookView activeTab="{active}"/></bookViews><sheets>"#
    );
    for (at, sheet) in sheets.iter().enumerate() {
        let number = at + 1;
        xml.push_str("<sheet name=\"");
        push_escaped(&mut xml, &sheet.name);
        push(
            &mut xml,
            format_args!(r#"" sheetId="{number}" r:id="rId{number}"/>"#),
        );
    }
    xml.push_str("</sheets>");
    let lists = sheets.iter().enumerate();
    let lists: Vec<_> = lists
        .filter_map(|(at, sheet)| Some((at, sheet, sheet.area.as_ref()?)))
        .collect();
    if !lists.is_empty() {
        xml.push_str("<definedNames>");
        for (at, sheet, area) in &lists {
            let name = &sheet.name;
            push(
                &mut xml,
                format_args!(
                    r#"<definedName name="_xlnm._FilterDatabase" localSheetId="{at}" hidden="1">'{name}'!{area}</definedName>"#
                ),
            );
        }
        for (at, sheet, _) in &lists {
            let name = &sheet.name;
            push(
                &mut xml,
                format_args!(
                    r#"<definedName name="_xlnm.Print_Titles" localSheetId="{at}">'{name}'!$1:$1</definedName>"#
                ),
            );
        }
        xml.push_str("</definedNames>");
    }
    xml.push_str("</workbook>");
    xml
}

fn relations(sheets: usize) -> String {
    let mut xml = format!(r#"{XML}<Relationships xmlns="{PACKAGE}/relationships">"#);
    for number in 1..=sheets {
        push(
            &mut xml,
            format_args!(
                r#"<Relationship Id="rId{number}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{number}.xml"/>"#
            ),
        );
    }
    let id = sheets + 1;
    push(
        &mut xml,
        format_args!(
            r#"<Relationship Id="rId{id}" Type="{RELATIONS}/styles" Target="styles.xml"/></Relationships>"#
        ),
    );
    xml
}

/// Format 49 is text, 3 and 4 are amounts without decimals and with two; the second font is bold.
fn styles() -> String {
    let mut formats = String::new();
    let mut amounts = String::new();
    let mut own = OWN_FORMATS;
    for decimals in 0..=DECIMALS_MAX {
        let format = match decimals {
            0 => 3,
            2 => 4,
            many => {
                let zeros = "0".repeat(usize::from(many));
                push(
                    &mut formats,
                    format_args!(r##"<numFmt numFmtId="{own}" formatCode="#,##0.{zeros}"/>"##),
                );
                own += 1;
                own - 1
            }
        };
        push(
            &mut amounts,
            format_args!(r#"<xf numFmtId="{format}" applyNumberFormat="1"/>"#),
        );
    }
    let (of_own, of_all) = (own - OWN_FORMATS, 3 + DECIMALS_MAX + 1);
    format!(
        r#"{XML}<styleSheet xmlns="{MAIN}"><numFmts count="{of_own}">{formats}</numFmts><fonts count="2"><font/><font><b/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="{of_all}"><xf numFmtId="0"/><xf numFmtId="49" fontId="1" applyFont="1" applyNumberFormat="1"/><xf numFmtId="49" applyNumberFormat="1"/>{amounts}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"#
    )
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("writing to a String cannot fail");
}
