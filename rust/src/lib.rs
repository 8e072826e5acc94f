//! The functions of fairlead_rust.h.

mod cel;
mod cost;

use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, AssertUnwindSafe};

use cel::{Rule, Verdict};

#[repr(C)]
pub struct Text {
    data: *mut c_char,
    size: usize,
}

impl Text {
    fn none() -> Self {
        Text { data: std::ptr::null_mut(), size: 0 }
    }

    fn of(text: String) -> Self {
        let bytes = text.into_bytes().into_boxed_slice();
        let size = bytes.len();
        Text { data: Box::into_raw(bytes) as *mut c_char, size }
    }
}

/// # Safety
/// `text` is one that this library returned, and is given back once.
#[no_mangle]
pub unsafe extern "C" fn fairlead_text_free(text: Text) {
    if !text.data.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.data as *mut u8, text.size)));
    }
}

unsafe fn text_at<'a>(data: *const c_char, size: usize) -> Option<&'a str> {
    if data.is_null() {
        return None;
    }
    std::str::from_utf8(std::slice::from_raw_parts(data as *const u8, size)).ok()
}

/// # Safety
/// `schema` points to `size` bytes; `error` points to a Text that is overwritten.
#[no_mangle]
pub unsafe extern "C" fn fairlead_cel_compile(
    schema: *const c_char,
    size: usize,
    error: *mut Text,
) -> *mut Rule {
    error.write(Text::none());
    let schema = text_at(schema, size).unwrap_or_default();
    match catch_unwind(|| Rule::compile(schema)) {
        Ok(Ok(rule)) => Box::into_raw(Box::new(rule)),
        Ok(Err(reason)) => {
            error.write(Text::of(reason));
            std::ptr::null_mut()
        }
        Err(_) => {
            error.write(Text::of("the compiler failed".into()));
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `rule` is one that fairlead_cel_compile returned, and is given back once.
#[no_mangle]
pub unsafe extern "C" fn fairlead_cel_free(rule: *mut Rule) {
    if !rule.is_null() {
        drop(Box::from_raw(rule));
    }
}

/// # Safety
/// `rule` is one that fairlead_cel_compile returned.
#[no_mangle]
pub unsafe extern "C" fn fairlead_cel_is_transition(rule: *const Rule) -> c_int {
    c_int::from((*rule).is_transition())
}

/// # Safety
/// `rule` is one that fairlead_cel_compile returned; `self_value` and `old` point to so many bytes,
/// `old` may be null; `cost` and `message` are overwritten.
#[no_mangle]
pub unsafe extern "C" fn fairlead_cel_ask(
    rule: *const Rule,
    self_value: *const c_char,
    self_size: usize,
    old: *const c_char,
    old_size: usize,
    cost_max: u64,
    cost: *mut u64,
    message: *mut Text,
) -> c_int {
    message.write(Text::none());
    let rule = &*rule;
    let new = text_at(self_value, self_size).unwrap_or_default();
    let old = text_at(old, old_size);
    let (verdict, spent) = catch_unwind(AssertUnwindSafe(|| rule.ask(new, old, cost_max)))
        .unwrap_or_else(|_| (Verdict::Error("the evaluation failed".into()), 0));
    cost.write(spent);
    match verdict {
        Verdict::Holds => 0,
        Verdict::Fails(text) => {
            message.write(Text::of(text));
            1
        }
        Verdict::Error(text) => {
            message.write(Text::of(text));
            2
        }
        Verdict::TooCostly => 3,
    }
}
