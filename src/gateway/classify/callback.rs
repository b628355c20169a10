//! What a callback says (section 6).

use crate::dialect::Dialect;
use crate::domain::ResponseDetails;
use crate::gateway::error::Error;
use crate::gateway::scrub::Scrub;
use crate::gateway::wire::{self, Entry};
use crate::lifecycle::{CodeMeaning, CodeTable};

/// A callback's words. Whether it may be believed is the listener's to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackNotice {
    /// `payerTransactionID`, as it is.
    pub id: Option<String>,
    /// What the status code means.
    pub verdict: CodeMeaning,
    /// Its words.
    pub said: ResponseDetails,
}

/// Reads the body of a callback in the document's dialect: a packet, or an array of one. Our secrets are left out of it.
///
/// # Errors
/// Says why the body is no callback about a payment's status.
pub fn read_callback(
    body: &[u8],
    codes: &CodeTable,
    scrub: &Scrub,
) -> Result<CallbackNotice, Error> {
    let mut notices = read_callbacks(body, Dialect::document(), codes, scrub)?;
    match (notices.pop(), notices.is_empty()) {
        (Some(notice), true) => Ok(notice),
        _ => Err(Error::Callback(WITHOUT_ONE)),
    }
}

const WITHOUT_ONE: &str = "a body without one packet";

/// Reads the body of a callback: one notice for each of its packets. Our secrets are left out of it.
///
/// # Errors
/// Says why the body is no callback about a payment's status.
pub fn read_callbacks(
    body: &[u8],
    dialect: &Dialect,
    codes: &CodeTable,
    scrub: &Scrub,
) -> Result<Vec<CallbackNotice>, Error> {
    let packets = packets_of(body, dialect, scrub)?.into_iter();
    packets.map(|packet| notice(packet, codes)).collect()
}

/// What one packet says, or why it says nothing, with the identifier that it names.
pub type Packet = (Option<String>, Result<CallbackNotice, Error>);

/// Reads the body of a callback whose packets are about payments of their own: what is wrong with one says nothing of another.
///
/// # Errors
/// Says why the body as a whole is no callback.
pub fn read_packets(
    body: &[u8],
    dialect: &Dialect,
    codes: &CodeTable,
    scrub: &Scrub,
) -> Result<Vec<Packet>, Error> {
    let packets = packets_of(body, dialect, scrub)?.into_iter();
    Ok(packets
        .map(|packet| (packet.id.clone(), notice(packet, codes)))
        .collect())
}

fn packets_of(body: &[u8], dialect: &Dialect, scrub: &Scrub) -> Result<Vec<Entry>, Error> {
    let callbacks = &dialect.callbacks;
    let pushed = wire::read_pushed(body, callbacks, &dialect.names, scrub).map_err(|error| {
        Error::Callback(match error {
            wire::Unreadable::Empty => "an empty body",
            wire::Unreadable::NotJson => "a body that is not JSON",
            wire::Unreadable::Truncated => "a truncated body",
            wire::Unreadable::TooDeep => "a body nested too deeply",
            wire::Unreadable::OtherForm | wire::Unreadable::TooMany => WITHOUT_ONE,
        })
    })?;
    if let Some(function) = &pushed.function
        && !callbacks.takes(function)
    {
        return Err(Error::Callback("another function"));
    }
    if pushed.packets.len() > 1 && !callbacks.may_be_several {
        return Err(Error::Callback(WITHOUT_ONE));
    }
    Ok(pushed.packets)
}

fn notice(packet: Entry, codes: &CodeTable) -> Result<CallbackNotice, Error> {
    let code = packet
        .status
        .code
        .ok_or(Error::Callback("no readable statusCode"))?;
    Ok(CallbackNotice {
        id: packet.id,
        verdict: CodeMeaning {
            class: codes.of_status(code),
            code,
        },
        said: ResponseDetails {
            description: packet.status.description,
            gateway_transaction_id: packet.gateway_transaction_id,
            receipt_number: packet.receipt_number,
            receiver_narration: packet.receiver_narration,
            named: packet.named,
            anomaly: packet.cut,
            ..ResponseDetails::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Member;
    use crate::lifecycle::Class;

    fn read(body: &str) -> Result<CallbackNotice, String> {
        read_callback(body.as_bytes(), &CodeTable::default(), &Scrub::nothing())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_packet_is_an_object_or_an_array_of_one() {
        let packet = r#"{"statusCode":"140","statusDescription":"ok","payerTransactionID":"ID",
            "gatewayTransactionID":90071992547409931,"receiptNumber":"[\"QK1\"]",
            "receiverNarration":"token 1","msisdn":"254700000001","amount":10.50,"extraData":{}}"#;
        for packet in [packet.to_owned(), format!("[{packet}]")] {
            let body = format!(
                r#"{{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE",
                "payload":{{"packet":{packet},"credentials":{{"username":"u","password":"hunter2"}}}}}}"#
            );
            let notice = read(&body).unwrap();
            assert_eq!(notice.id.as_deref(), Some("ID"));
            assert_eq!(
                notice.verdict,
                CodeMeaning {
                    class: Class::Paid,
                    code: 140
                }
            );
            let said = &notice.said;
            let named: Vec<_> = said
                .named
                .iter()
                .map(|n| (n.member, n.text.as_str()))
                .collect();
            let expected = [(Member::Amount, "10.50"), (Member::Msisdn, "254700000001")];
            assert_eq!(named, expected);
            assert_eq!(said.receipt_number.as_deref(), Some("QK1"));
            assert_eq!(said.receiver_narration.as_deref(), Some("token 1"));
            let id = said.gateway_transaction_id.as_ref().unwrap();
            assert_eq!(id.as_str(), "90071992547409931");
            let shown = format!("{notice:?}");
            assert!(!shown.contains("token 1") && !shown.contains("hunter2"));
        }
    }

    #[test]
    fn what_is_no_callback_is_refused_with_its_reason() {
        for (body, reason) in [
            ("", "empty"),
            ("<html>", "not JSON"),
            (r#"{"payload":{"packet":{"statusCode":140"#, "truncated"),
            (r#"{"payload":{"packet":[]}}"#, "without one packet"),
            (
                r#"{"payload":{"packet":[{"statusCode":140},{"statusCode":140}]}}"#,
                "without one packet",
            ),
            (
                r#"{"payload":{"packet":{"statusCode":140,"statusCode":141}}}"#,
                "without one packet",
            ),
            (
                r#"{"payload":{"packet":{"statusCode":140.0}}}"#,
                "statusCode",
            ),
            (
                r#"{"payload":{"packet":{"statusCode":"ok"}}}"#,
                "statusCode",
            ),
            (
                r#"{"function":"GATEWAY.pushFloat","payload":{"packet":{"statusCode":140}}}"#,
                "another function",
            ),
            (&"[".repeat(60_000), "nested"),
        ] {
            let error = read(body).unwrap_err();
            assert!(error.contains(reason), "{body:.80}: {error}");
        }
    }

    /// Tells a callback in a few words, the narration included.
    fn told(notice: &CallbackNotice) -> String {
        let said = &notice.said;
        format!(
            "{} {:?} id={} gateway={} receipt={} narration={} named={}",
            notice.verdict.code,
            notice.verdict.class,
            notice.id.as_deref().unwrap_or("-"),
            said.gateway_transaction_id
                .as_ref()
                .map_or("-", |id| id.as_str()),
            said.receipt_number.as_deref().unwrap_or("-"),
            said.receiver_narration.as_deref().unwrap_or("-"),
            said.named.first().map_or("-", |named| named.text.as_str()),
        )
    }

    #[test]
    fn every_shape_that_the_interface_leaves_open_is_read() {
        for (packet, expected) in [
            // The least there can be.
            (
                r#"{"statusCode":140}"#,
                "140 Paid id=- gateway=- receipt=- narration=- named=-",
            ),
            // Numbers or texts, beyond 2^53 too.
            (
                r#"{"statusCode":"183","payerTransactionID":"ID","gatewayTransactionID":"900719925474099312345"}"#,
                "183 Paid id=ID gateway=900719925474099312345 receipt=- narration=- named=-",
            ),
            (
                r#"{"statusCode":141,"payerTransactionID":900719925474099312345,"gatewayTransactionID":18446744073709551617}"#,
                "141 Failed id=900719925474099312345 gateway=18446744073709551617 receipt=- narration=- named=-",
            ),
            // No transaction, however it is written.
            (
                r#"{"statusCode":141,"gatewayTransactionID":0}"#,
                "141 Failed id=- gateway=- receipt=- narration=- named=-",
            ),
            (
                r#"{"statusCode":141,"gatewayTransactionID":""}"#,
                "141 Failed id=- gateway=- receipt=- narration=- named=-",
            ),
            (
                r#"{"statusCode":141,"gatewayTransactionID":null}"#,
                "141 Failed id=- gateway=- receipt=- narration=- named=-",
            ),
            // Receipts and narrations: plain, an array, an array in a text, with nothing in it.
            (
                r#"{"statusCode":140,"receiptNumber":"QK1","receiverNarration":"Token 1234-5678"}"#,
                "140 Paid id=- gateway=- receipt=QK1 narration=Token 1234-5678 named=-",
            ),
            (
                r#"{"statusCode":140,"receiptNumber":["QK1","QK2"],"receiverNarration":["a",7]}"#,
                r#"140 Paid id=- gateway=- receipt=QK1, QK2 narration=["a",7] named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":"[\"QK1\"]","receiverNarration":" [ \"a\" , \"\" ] "}"#,
                r#"140 Paid id=- gateway=- receipt=QK1 narration= [ "a" , "" ]  named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":"[\"\"]","receiverNarration":"[]"}"#,
                "140 Paid id=- gateway=- receipt=- narration=- named=-",
            ),
            (
                r#"{"statusCode":140,"receiptNumber":17,"receiverNarration":""}"#,
                "140 Paid id=- gateway=- receipt=17 narration=- named=-",
            ),
            (
                r#"{"statusCode":140,"receiptNumber":"[not JSON","receiverNarration":{"a":1}}"#,
                r#"140 Paid id=- gateway=- receipt=[not JSON narration={"a":1} named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":{"no":"QK1"},"receiverNarration":12345678901234567890}"#,
                r#"140 Paid id=- gateway=- receipt={"no":"QK1"} narration=12345678901234567890 named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":["QK1",{"no":"QK2"},null],"receiverNarration":"[{\"token\":\"1\"}]"}"#,
                r#"140 Paid id=- gateway=- receipt=["QK1",{"no":"QK2"},null] narration=[{"token":"1"}] named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":["QK1",null],"receiverNarration":"one\r\ntwo\u0000three"}"#,
                "140 Paid id=- gateway=- receipt=QK1 narration=one\r\ntwo three named=-",
            ),
            (
                r#"{"statusCode":140,"receiptNumber":{},"receiverNarration":[{"a":""}, [ ] ]}"#,
                r#"140 Paid id=- gateway=- receipt=- narration=[{"a":""}, [ ] ] named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":[[]],"receiverNarration":[{},null,""]}"#,
                r#"140 Paid id=- gateway=- receipt=- narration=[{},null,""] named=-"#,
            ),
            (
                r#"{"statusCode":140,"receiptNumber":false,"receiverNarration":" \n "}"#,
                "140 Paid id=- gateway=- receipt=false narration=- named=-",
            ),
            // 148: the receipt is the application id.
            (
                r#"{"statusCode":148,"payerTransactionID":"ID","receiptNumber":"APP-9"}"#,
                "148 Delivered id=ID gateway=- receipt=APP-9 narration=- named=-",
            ),
            // Whatever else is there is not looked at.
            (
                r#"{"statusCode":219,"msisdn":254700000001,"serviceCode":null,"paymentDate":"x","extraData":"[{}]","new":[[]]}"#,
                "219 Acknowledged id=- gateway=- receipt=- narration=- named=254700000001",
            ),
        ] {
            for packet in [packet.to_owned(), format!(" [ {packet} ] ")] {
                for around in [
                    r#"{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE","payload":{"credentials":{"username":"u","password":"p"},"packet":PACKET}}"#,
                    r#"{"payload":{"packet":PACKET,"credentials":null}}"#,
                ] {
                    let body = around.replace("PACKET", &packet);
                    let notice = read(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
                    assert_eq!(told(&notice), expected, "{body}");
                }
            }
        }
    }

    #[test]
    fn a_deployments_own_codes_count_in_callbacks() {
        let mut codes = CodeTable::default();
        codes.set_status(990, Class::Paid);
        codes.set_status(178, Class::Delivered);
        for (code, class) in [
            (990, Class::Paid),
            (178, Class::Delivered),
            (991, Class::InDoubt),
        ] {
            let body = format!(r#"{{"payload":{{"packet":{{"statusCode":{code}}}}}}}"#);
            let notice = read_callback(body.as_bytes(), &codes, &Scrub::nothing()).unwrap();
            assert_eq!(notice.verdict, CodeMeaning { class, code });
        }
    }
}
