//! One rule of a schema: compiled once, asked of many values.

use kube_cel::cel::common::ast::{Expr, IdedExpr};
use kube_cel::{compile_schema, CompiledSchema, ErrorKind, Validator};
use serde_json::Value;

use crate::cost::{children, cost_of, makes_lists_of_any_size};

/// Parser, compiler and interpreter recurse as deep as the rule is nested, and a chain of operators or
/// calls nests as well, with tens of KB of stack for each.
const RULE_BYTES_MAX: usize = 2048;
const NESTING_MAX: usize = 12;
const OPERATORS_MAX: usize = 64;

pub enum Verdict {
    Holds,
    Fails(String),
    Error(String),
    TooCostly,
}

/// The schema of a value with exactly one rule at its root.
pub struct Rule {
    compiled: CompiledSchema,
    text: String,
}

const _: fn() = || {
    fn any_thread<T: Send + Sync>() {}
    any_thread::<Rule>();
};

thread_local! {
    static VALIDATOR: Validator = Validator::new();
}

fn bounded(text: &str) -> Result<(), String> {
    if text.len() > RULE_BYTES_MAX {
        return Err(format!("longer than {RULE_BYTES_MAX} bytes"));
    }
    let mut depth = 0usize;
    let mut deepest = 0usize;
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > NESTING_MAX {
        return Err(format!("nested deeper than {NESTING_MAX}"));
    }
    let marks = text.chars().filter(|c| "([{.?!+-*/%<>=&|".contains(*c)).count();
    if marks + text.matches(" in").count() > OPERATORS_MAX {
        return Err(format!("more than {OPERATORS_MAX} operators"));
    }
    Ok(())
}

/// What functions are named after, as in `sets.contains(a, b)`.
const FAMILIES: [&str; 4] = ["lists", "math", "optional", "sets"];

/// A name that is none of those in `known`, which comprehensions add to.
fn stranger<'a>(expression: &'a IdedExpr, known: &mut Vec<&'a str>) -> Option<&'a str> {
    match &expression.expr {
        Expr::Ident(name) if known.contains(&name.as_str()) => None,
        Expr::Ident(name) => Some(name),
        Expr::Comprehension(c) => {
            let outside = [&c.iter_range, &c.accu_init];
            if let Some(name) = outside.into_iter().find_map(|e| stranger(e, known)) {
                return Some(name);
            }
            let before = known.len();
            known.extend([c.iter_var.as_str(), c.accu_var.as_str()]);
            known.extend(c.iter_var2.as_deref());
            let inside = [&c.loop_cond, &c.loop_step, &c.result];
            let found = inside.into_iter().find_map(|e| stranger(e, known));
            known.truncate(before);
            found
        }
        Expr::Call(call) => {
            let family = |e: &IdedExpr| {
                matches!(&e.expr, Expr::Ident(name) if FAMILIES.contains(&name.as_str()))
            };
            let target = call.target.as_deref().filter(|e| !family(e));
            target.into_iter().chain(call.args.iter()).find_map(|e| stranger(e, known))
        }
        _ => children(expression).into_iter().find_map(|child| stranger(child, known)),
    }
}

impl Rule {
    pub fn compile(schema: &str) -> Result<Rule, String> {
        let schema: Value = serde_json::from_str(schema).map_err(|e| e.to_string())?;
        let text = schema["x-kubernetes-validations"][0]["rule"].as_str().unwrap_or_default();
        bounded(text)?;
        let compiled = compile_schema(&schema);
        let program = match compiled.validations.as_slice() {
            [Ok(rule)] => &rule.program,
            [Err(error)] => return Err(error.to_string()),
            other => return Err(format!("{} rules where one is expected", other.len())),
        };
        if makes_lists_of_any_size(program.expression()) {
            return Err("makes lists of any size".into());
        }
        if let Some(name) = stranger(program.expression(), &mut vec!["self", "oldSelf"]) {
            return Err(format!("names '{name}', knows self and oldSelf"));
        }
        let text = text.to_string();
        Ok(Rule { compiled, text })
    }

    pub fn is_transition(&self) -> bool {
        matches!(self.compiled.validations.first(), Some(Ok(rule)) if rule.is_transition_rule)
    }

    /// The verdict, and what asking cost at most.
    pub fn ask(&self, new: &str, old: Option<&str>, cost_max: u64) -> (Verdict, u64) {
        let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| e.to_string());
        let (new, old) = match (parse(new), old.map(parse).transpose()) {
            (Ok(new), Ok(old)) => (new, old),
            (Err(reason), _) | (_, Err(reason)) => return (Verdict::Error(reason), 0),
        };
        if old.is_none() && self.is_transition() {
            return (Verdict::Holds, 0);
        }
        let cost = match self.compiled.validations.first() {
            Some(Ok(rule)) => cost_of(rule.program.expression(), &self.text, &new, old.as_ref()),
            _ => 0,
        };
        if cost > cost_max {
            return (Verdict::TooCostly, cost);
        }
        (self.evaluate(&new, old.as_ref()), cost)
    }

    fn evaluate(&self, new: &Value, old: Option<&Value>) -> Verdict {
        match VALIDATOR.with(|v| v.validate_compiled(&self.compiled, new, old)) {
            Ok(()) => Verdict::Holds,
            Err(errors) => match errors.into_vec().into_iter().next() {
                None => Verdict::Holds,
                Some(error) if error.kind == ErrorKind::ValidationFailure => {
                    Verdict::Fails(error.message)
                }
                Some(error) => Verdict::Error(error.message),
            },
        }
    }
}
