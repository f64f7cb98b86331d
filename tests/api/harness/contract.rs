//! The contract: whatever a client of a test is answered must be what the OpenAPI document says.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use actix_web::dev::ResourceDef;
use jsonschema::Validator;
use leveret::http::document;
use reqwest::Method;
use serde_json::{Value, json};

use super::player::Reply;

static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

/// What the document says, ready to be compared.
pub struct Contract {
    document: Value,
    operations: Vec<Operation>,
    schemas: Mutex<HashMap<(usize, u16, String), Arc<Validator>>>,
}

/// An operation of the document.
#[derive(Debug)]
pub struct Operation {
    /// GET, PUT, …
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: String,
    /// The operation itself.
    pub spec: Value,
    pattern: ResourceDef,
}

/// Every operation of the document, HEAD not counted.
pub fn operations() -> &'static [Operation] {
    &CONTRACT.operations
}

impl Contract {
    /// The document.
    pub fn document() -> &'static Value {
        &CONTRACT.document
    }

    /// Checks an answer.
    #[track_caller]
    pub fn check(reply: &Reply) {
        CONTRACT.compare(reply);
    }

    fn read() -> Contract {
        let document: Value = serde_json::from_str(&document::json()).expect("the document is JSON");
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().expect("there are paths") {
            for (method, spec) in item.as_object().expect("a path has operations") {
                let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
                let pattern = ResourceDef::new(path.as_str());
                operations.push(Operation { method, path: path.clone(), spec: spec.clone(), pattern });
            }
        }
        // What is spelt out goes before what a parameter would take as well.
        operations.sort_by_key(|operation| operation.path.matches('{').count());
        Contract { document, operations, schemas: Mutex::default() }
    }

    #[track_caller]
    fn compare(&self, reply: &Reply) {
        assert!(reply.header("x-request-id").is_some(), "no request id: {reply}");
        let path = reply.path.split('?').next().unwrap_or_default();
        let asked = if reply.method == Method::HEAD { &Method::GET } else { &reply.method };
        let is_meant = |operation: &Operation| operation.method == *asked && operation.pattern.is_match(path);
        let Some(index) = self.operations.iter().position(is_meant) else {
            return self.compare_with_nothing(reply, path);
        };
        let spec = &self.operations[index].spec;
        let Some(answer) = spec["responses"].get(reply.status.to_string()) else {
            panic!("{} does not document this status: {reply}", spec["operationId"])
        };
        if reply.method == Method::HEAD {
            assert!(reply.body.is_empty(), "a HEAD has a body: {reply}");
            return;
        }
        let content_type = reply.content_type();
        let Some(content) = answer.get("content").and_then(Value::as_object) else {
            assert!(reply.body.is_empty(), "{} documents no body here: {reply}", spec["operationId"]);
            return;
        };
        assert!(
            content.contains_key(content_type),
            "{} does not document the type {content_type:?}: {reply}",
            spec["operationId"]
        );
        if reply.is_json() {
            self.compare_body(index, reply, content_type);
        }
        if content_type == "application/problem+json" {
            compare_problem(spec, reply);
        }
    }

    /// Where there is no operation, there is a problem, or the reference.
    #[track_caller]
    fn compare_with_nothing(&self, reply: &Reply, path: &str) {
        let is_page = path == "/docs" || path.starts_with("/docs/");
        if reply.method == Method::OPTIONS || is_page {
            return;
        }
        assert!(reply.status >= 400, "this operation is not documented: {reply}");
        if reply.method != Method::HEAD {
            assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{reply}");
        }
    }

    #[track_caller]
    fn compare_body(&self, index: usize, reply: &Reply, content_type: &str) {
        let body = reply.json();
        let validator = self.validator(index, reply.status, content_type);
        let errors: Vec<String> =
            validator.iter_errors(&body).map(|err| format!("{}: {err}", err.instance_path())).collect();
        let operation = &self.operations[index].spec["operationId"];
        assert!(errors.is_empty(), "{operation} documents otherwise: {}\n{reply}", errors.join("\n"));
    }

    fn validator(&self, index: usize, status: u16, content_type: &str) -> Arc<Validator> {
        let key = (index, status, content_type.to_owned());
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = schemas.entry(key).or_insert_with(|| {
            let answer = &self.operations[index].spec["responses"][status.to_string()];
            let schema = &answer["content"][content_type]["schema"];
            Arc::new(self.compile(schema))
        });
        validator.clone()
    }

    /// Makes a schema of the document stand on its own.
    fn compile(&self, schema: &Value) -> Validator {
        let mut whole = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema]});
        whole["components"] = json!({"schemas": self.document["components"]["schemas"]});
        jsonschema::options()
            .should_validate_formats(true)
            .build(&whole)
            .unwrap_or_else(|err| panic!("the document has a schema that is none: {err}\n{schema}"))
    }
}

#[track_caller]
fn compare_problem(spec: &Value, reply: &Reply) {
    let problem = reply.json();
    let name = problem["type"].as_str().and_then(|kind| kind.strip_prefix("/problems/"));
    let listed = spec["x-problems"].as_array().into_iter().flatten().filter_map(Value::as_str);
    assert!(
        name.is_some_and(|name| listed.clone().any(|listed| listed == name)),
        "{} does not list this problem: {reply}",
        spec["operationId"]
    );
}
