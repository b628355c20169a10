//! The operations on the payment path, and what their descriptions have in common.

use serde_json::Value;

use crate::dialect::Operation;

/// The operations on the payment path: the schemas of request and reply, the example, and a title of their own.
pub(super) const OPERATIONS: [(Operation, &str, &str, &str, &str); 5] = [
    (
        Operation::Post,
        "PostPayment",
        "PostReply",
        "payout",
        "Post payments (sections 2.3, 2.4, 4.2)",
    ),
    (
        Operation::Status,
        "QueryPaymentStatus",
        "StatusReply",
        "status",
        "Ask for the status of payments",
    ),
    (
        Operation::Bill,
        "QueryBill",
        "BillReply",
        "bill",
        "Ask for bills",
    ),
    (
        Operation::Float,
        "QueryFloatBalance",
        "FloatReply",
        "float",
        "Ask for the balance of floats",
    ),
    (
        Operation::Account,
        "ValidateAccount",
        "AccountReply",
        "account",
        "Validate accounts",
    ),
];

/// Returns a reference to a schema.
pub(super) fn schema(name: &str) -> Value {
    serde_json::json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Takes a member away.
pub(super) fn leave_out(schema: &mut Value, name: &str) {
    schema["properties"]
        .as_object_mut()
        .map(|properties| properties.remove(name));
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|required| required != name);
    }
}
