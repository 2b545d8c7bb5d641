// Generates the module `fields` from `perfetto.descriptor`: a part of the build script.

use std::fmt::Write;
use std::fs;

use super::Result;

/// The fields of `FileDescriptorSet`, `FileDescriptorProto`, `DescriptorProto` and `FieldDescriptorProto` that matter here.
const FILE: u64 = 1;
const MESSAGE: u64 = 4;
const NAME: u64 = 1;
const FIELD: u64 = 2;
const NESTED: u64 = 3;
const NUMBER: u64 = 3;

pub fn generate() -> Result<String> {
    println!("cargo::rerun-if-changed=fields.rs");
    println!("cargo::rerun-if-changed=perfetto.descriptor");
    let descriptor = fs::read("perfetto.descriptor")?;
    let mut code = String::new();
    for (file, _) in fields(&descriptor, FILE)? {
        for (message, _) in fields(file, MESSAGE)? {
            module(message, "", &mut code)?;
        }
    }
    Ok(code)
}

/// A module with the numbers of a message's fields, followed by those of the messages inside the message.
fn module(message: &[u8], outer: &str, code: &mut String) -> Result<()> {
    let name = format!("{outer}{}", text(message)?);
    let mut constants = String::new();
    for (field, _) in fields(message, FIELD)? {
        let field_name = text(field)?;
        let numbers = fields(field, NUMBER)?;
        let (_, number) = numbers.first().ok_or("a field without a number")?;
        writeln!(
            constants,
            "/// `{field_name}`\npub const {}: u32 = {number};",
            field_name.to_uppercase()
        )?;
    }
    if !constants.is_empty() {
        let module = snake_case(&name);
        writeln!(code, "/// Fields of `{name}`.\npub mod {module} {{\n{constants}}}")?;
    }
    for (nested, _) in fields(message, NESTED)? {
        module(nested, &format!("{name}."), code)?;
    }
    Ok(())
}

/// `FtraceEventBundle.CompactSched` as the name of a module: `ftrace_event_bundle_compact_sched`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut before = '.';
    for c in name.chars() {
        match c {
            '.' => {}
            c if c.is_uppercase() && before.is_lowercase()
                || before == '.' && !snake.is_empty() =>
            {
                snake.push('_');
                snake.extend(c.to_lowercase());
            }
            c => snake.extend(c.to_lowercase()),
        }
        before = c;
    }
    snake
}

fn text(message: &[u8]) -> Result<&str> {
    let names = fields(message, NAME)?;
    let (name, _) = names.first().ok_or("no name")?;
    Ok(std::str::from_utf8(name)?)
}

/// The values of a field: its bytes, or its number.
fn fields(mut message: &[u8], wanted: u64) -> Result<Vec<(&[u8], u64)>> {
    let mut values = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let value = varint(&mut message)?;
        let value = match tag & 7 {
            0 => (&message[..0], value),
            2 => {
                let (bytes, rest) = message
                    .split_at_checked(usize::try_from(value)?)
                    .ok_or("the descriptor ends early")?;
                message = rest;
                (bytes, value)
            }
            _ => return Err("a field of the descriptor is neither a number nor bytes".into()),
        };
        if tag >> 3 == wanted {
            values.push(value);
        }
    }
    Ok(values)
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("the descriptor ends early")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number of the descriptor is too long".into())
}
