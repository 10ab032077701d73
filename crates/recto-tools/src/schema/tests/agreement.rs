//! Our checks and those of a whole implementation of the language agree on what fits.

use proptest::prelude::*;

use super::*;

/// Whether a value fits, by ours and by theirs.
fn both(schema: &Value, value: &Value) -> (bool, bool) {
    let tree = SchemaTree::new(schema, HardPatterns::Refused).unwrap();
    let theirs = jsonschema::options().offline().build(schema).unwrap();
    (fits(&tree, value, &Stop::default()).unwrap(), theirs.is_valid(value))
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-3_i64..4).prop_map(|number| Value::from(number as f64)),
        (-6_i64..7).prop_map(|number| Value::from(number as f64 / 2.0)),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::Object),
        ]
    })
}

fn members(
    inner: impl Strategy<Value = Value>,
) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| map.into_iter().collect())
}

fn schemas() -> impl Strategy<Value = Value> {
    const KINDS: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(&KINDS[..]).prop_map(|kind| json!({"type": kind})),
        prop::sample::subsequence(&KINDS[..], 1..3).prop_map(|kinds| json!({"type": kinds})),
        prop::collection::vec(values(), 1..3).prop_map(|options| json!({"enum": options})),
        values().prop_map(|only| json!({"const": only})),
        bounds(),
        prop::sample::select(&["^a", "b$", "^[ab]+$", "a|b"][..])
            .prop_map(|it| json!({"pattern": it})),
        Just(json!({"uniqueItems": true})),
        Just(json!({"$ref": "#/$defs/x"})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..3);
        let named = || members(inner.clone());
        prop_oneof![
            list().prop_map(|list| json!({"allOf": list})),
            list().prop_map(|list| json!({"anyOf": list})),
            list().prop_map(|list| json!({"oneOf": list})),
            inner.clone().prop_map(|it| json!({"not": it})),
            [inner.clone(), inner.clone(), inner.clone()]
                .prop_map(|[a, b, c]| json!({"if": a, "then": b, "else": c})),
            (named(), inner.clone())
                .prop_map(|(named, rest)| json!({"properties": named, "additionalProperties": rest})),
            (named(), named(), inner.clone()).prop_map(|(named, dependent, rest)| {
                json!({"properties": named, "dependentSchemas": dependent, "unevaluatedProperties": rest})
            }),
            (list(), named(), inner.clone()).prop_map(|(list, named, rest)| {
                json!({"anyOf": list, "patternProperties": named, "unevaluatedProperties": rest})
            }),
            (list(), inner.clone()).prop_map(|(list, rest)| json!({"prefixItems": list, "items": rest})),
            (list(), inner.clone(), inner.clone()).prop_map(|(list, part, rest)| {
                json!({"prefixItems": list, "contains": part, "unevaluatedItems": rest})
            }),
            (inner.clone(), 0_u64..3, 0_u64..3).prop_map(|(part, least, most)| {
                json!({"contains": part, "minContains": least, "maxContains": most})
            }),
            inner.clone().prop_map(|it| json!({"propertyNames": it})),
        ]
    })
}

fn bounds() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
        ][..],
    );
    prop_oneof![
        (key, 0_u64..3).prop_map(|(key, limit)| json!({key: limit})),
        (1_u64..4).prop_map(|of| json!({"multipleOf": of as f64 / 2.0})),
        prop::sample::subsequence(&["a", "b", "c"][..], 1..3)
            .prop_map(|names| json!({"required": names})),
        Just(json!({"dependentRequired": {"a": ["b"]}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn ours_and_theirs_agree(schema in schemas(), part in schemas(), value in values()) {
        let whole = json!({"allOf": [schema], "$defs": {"x": {"anyOf": [part]}}});
        // A definition that leads to itself means nothing by itself.
        prop_assume!(!part.to_string().contains("#/$defs/x"));
        let (ours, theirs) = both(&whole, &value);
        prop_assert_eq!(ours, theirs, "{} by {}", value, whole);
    }
}
