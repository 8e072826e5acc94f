//! What a rule may cost at most, from its expression and the sizes of the values that it goes over. Every
//! node of the expression costs one, a comparison or function a tenth of each character more, as in
//! Kubernetes; what a comprehension repeats counts once for each item.

use kube_cel::cel::common::ast::{operators, CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use serde_json::Value;

/// Texts that numbers, times and the like become are shorter.
const TEXT_MIN: u64 = 64;
const CHARACTERS_PER_STEP: u64 = 10;

struct Sizes<'a> {
    new: &'a Value,
    old: Option<&'a Value>,
    /// Of any list or map that the rule can see or make.
    items: u64,
    /// Of any text.
    text: u64,
}

pub fn cost_of(expression: &IdedExpr, source: &str, new: &Value, old: Option<&Value>) -> u64 {
    let largest = |of: fn(&Value) -> u64| of(new).max(old.map_or(0, of));
    let mut text = largest(largest_text).max(source.len() as u64).max(TEXT_MIN);
    let mut items = largest(largest_list).max(1);
    if count(expression, &calls(&["split", "findAll"])) > 0 {
        items = items.max(text);
    }
    let doubles = |c: &CallExpr| match c.func_name.as_str() {
        operators::ADD => !has_number(c),
        name => name == "quote",
    };
    for _ in 0..count(expression, &doubles) {
        text = text.saturating_mul(2);
        items = items.saturating_mul(2);
    }
    for _ in 0..count(expression, &calls(&["replace", "join", "flatten"])) {
        text = text.max(items).saturating_mul(text.max(items));
        items = items.saturating_mul(items);
    }
    Sizes { new, old, items, text }.cost(expression)
}

fn largest_list(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(largest_list).fold(items.len() as u64, u64::max),
        Value::Object(members) => {
            members.values().map(largest_list).fold(members.len() as u64, u64::max)
        }
        _ => 1,
    }
}

fn largest_text(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(largest_text).fold(0, u64::max),
        Value::Object(members) => {
            members.iter().map(|(key, v)| largest_text(v).max(key.len() as u64)).fold(0, u64::max)
        }
        Value::String(text) => text.len() as u64,
        _ => 0,
    }
}

/// The expressions right below it.
pub fn children(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.iter().map(|t| &**t).chain(call.args.iter()).collect(),
        Expr::Comprehension(c) => {
            vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|e| entry(&e.expr)).collect(),
        Expr::Struct(value) => value.entries.iter().flat_map(|e| entry(&e.expr)).collect(),
        Expr::Select(select) => vec![&*select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => vec![],
    }
}

fn entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// How many such calls the expression has.
fn count(expression: &IdedExpr, such: &dyn Fn(&CallExpr) -> bool) -> u64 {
    let here = matches!(&expression.expr, Expr::Call(c) if such(c));
    children(expression).into_iter().map(|child| count(child, such)).sum::<u64>() + u64::from(here)
}

fn calls<'a>(names: &'a [&str]) -> impl Fn(&CallExpr) -> bool + 'a {
    |call| names.contains(&call.func_name.as_str())
}

/// Then a sum is one of numbers.
fn has_number(call: &CallExpr) -> bool {
    let number = |e: &IdedExpr| {
        matches!(&e.expr, Expr::Literal(LiteralValue::Int(_) | LiteralValue::Double(_)))
    };
    call.args.iter().any(number)
}

/// `lists.range` makes as many items as it is told, whatever the sizes of the values.
pub fn makes_lists_of_any_size(expression: &IdedExpr) -> bool {
    count(expression, &calls(&["range", "lists.range"])) > 0
}

impl<'a> Sizes<'a> {
    fn cost(&self, expression: &IdedExpr) -> u64 {
        if let Expr::Comprehension(c) = &expression.expr {
            let once = self.cost(&c.loop_cond).saturating_add(self.cost(&c.loop_step));
            return self
                .cost(&c.iter_range)
                .saturating_add(self.cost(&c.accu_init))
                .saturating_add(self.cost(&c.result))
                .saturating_add(self.size(&c.iter_range).saturating_mul(once));
        }
        let own = if self.reads_text(expression) { 1 + self.text / CHARACTERS_PER_STEP } else { 1 };
        children(expression)
            .into_iter()
            .fold(own, |sum: u64, child| sum.saturating_add(self.cost(child)))
    }

    fn reads_text(&self, expression: &IdedExpr) -> bool {
        let Expr::Call(call) = &expression.expr else {
            return false;
        };
        let short = |e: &IdedExpr| {
            matches!(&e.expr, Expr::Literal(literal) if !matches!(literal, LiteralValue::Bytes(_)))
        };
        match call.func_name.as_str() {
            operators::CONDITIONAL
            | operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::NOT_STRICTLY_FALSE
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::NEGATE
            | operators::INDEX => false,
            // Comparing ends with the shorter of the two, and a literal is as short as its rule.
            operators::EQUALS
            | operators::NOT_EQUALS
            | operators::GREATER_EQUALS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::LESS => !call.args.iter().any(short),
            operators::ADD => !has_number(call),
            _ => true,
        }
    }

    /// How many items a comprehension goes over.
    fn size(&self, range: &IdedExpr) -> u64 {
        if let Expr::List(list) = &range.expr {
            return list.elements.len() as u64;
        }
        match self.value(range) {
            Some(Value::Array(items)) => items.len() as u64,
            Some(Value::Object(members)) => members.len() as u64,
            _ => self.items,
        }
    }

    /// The value that a path such as `self.spec.roles` names.
    fn value(&self, path: &IdedExpr) -> Option<&'a Value> {
        match &path.expr {
            Expr::Ident(name) if name == "self" => Some(self.new),
            Expr::Ident(name) if name == "oldSelf" => self.old,
            Expr::Select(select) => self.value(&select.operand)?.get(&select.field),
            _ => None,
        }
    }
}
