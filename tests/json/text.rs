//! A reader of lenient JSON and its numbers for the model: plain code, straight from the rules.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub value: Json,
    pub start: usize,
    pub end: usize,
}

/// Why a text is no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// It ends too early.
    Cut,
    Bad,
}

impl Node {
    /// Those of an object.
    pub fn members(&self) -> &[(String, Node)] {
        match &self.value {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    /// The members with a key, the last one first.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &Node> {
        self.members().iter().rev().filter(move |(name, _)| name == key).map(|(_, node)| node)
    }

    /// The member that counts (JS7).
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members().iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A string that is not empty.
    pub fn word(&self) -> Option<&str> {
        self.text().filter(|text| !text.is_empty())
    }

    pub fn number(&self) -> Option<&str> {
        match &self.value {
            Json::Number(number) => Some(number),
            _ => None,
        }
    }

    /// JS5
    pub fn int(&self) -> Option<i64> {
        self.number().and_then(int)
    }

    pub fn is_object(&self) -> bool {
        matches!(self.value, Json::Object(_))
    }
}

/// The text of a file, and a place in it.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Reader<'a> {
        Reader { bytes, at }
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub fn skip(&mut self, what: &[u8]) {
        while self.peek().is_some_and(|byte| what.contains(&byte)) {
            self.at += 1;
        }
    }

    pub fn space(&mut self) {
        self.skip(b" \t\r\n");
    }

    /// `Cut` at the end of the text, else `Bad`.
    fn fault<T>(&self) -> Result<T, Fault> {
        Err(if self.at >= self.bytes.len() { Fault::Cut } else { Fault::Bad })
    }

    pub fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return self.fault();
        }
        self.at += 1;
        Ok(())
    }

    pub fn value(&mut self) -> Result<Node, Fault> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.list()?,
            Some(b'"') => Json::Text(self.string()?),
            Some(b't') => self.word("true", Json::Bool(true))?,
            Some(b'f') => self.word("false", Json::Bool(false))?,
            Some(b'n') => self.word("null", Json::Null)?,
            _ => self.number()?,
        };
        Ok(Node { value, start, end: self.at })
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, Fault> {
        for byte in word.bytes() {
            self.expect(byte)?;
        }
        Ok(value)
    }

    fn object(&mut self) -> Result<Json, Fault> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.space();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Json::Object(members));
            }
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            members.push((key, self.value()?));
            self.space();
            if self.peek() != Some(b'}') {
                self.expect(b',')?;
            }
        }
    }

    fn list(&mut self) -> Result<Json, Fault> {
        let mut entries = Vec::new();
        self.at += 1;
        loop {
            self.space();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Json::List(entries));
            }
            entries.push(self.value()?);
            self.space();
            if self.peek() != Some(b']') {
                self.expect(b',')?;
            }
        }
    }

    fn number(&mut self) -> Result<Json, Fault> {
        let start = self.at;
        for word in ["NaN", "Infinity", "-Infinity"] {
            if self.bytes[start..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(Json::Number(word.to_owned()));
            }
        }
        self.skip(b"+-0123456789.eE");
        let text = String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned();
        if Decimal::read(&text).is_none() {
            let rest = &self.bytes[start..];
            let is_begun = |word: &str| word.as_bytes().starts_with(rest);
            let words = ["NaN", "Infinity", "-Infinity"].into_iter().any(is_begun);
            return if words { Err(Fault::Cut) } else { self.fault() };
        }
        Ok(Json::Number(text))
    }

    /// JS6
    pub fn string(&mut self) -> Result<String, Fault> {
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                None => return Err(Fault::Cut),
                Some(b'"') => break self.at += 1,
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte) => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Fault> {
        self.at += 1;
        let Some(letter) = self.peek() else {
            return Err(Fault::Cut);
        };
        if letter == b'u'
            && let Some(unit) = self.unit(self.at - 1)
        {
            let low = self.unit(self.at + 5).filter(|low| (0xdc00..0xe000).contains(low));
            let mut bytes = [0; 4];
            let (c, length) = match (unit, low) {
                (0xd800..0xdc00, Some(low)) => {
                    (char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)), 11)
                }
                _ => (char::from_u32(unit), 5),
            };
            text.extend(c.unwrap_or('\u{fffd}').encode_utf8(&mut bytes).bytes());
            self.at += length;
            return Ok(());
        }
        let known = b"\"\\/bfnrt".iter().position(|known| *known == letter);
        // What is no escape stands as it is written.
        text.push(known.map_or(b'\\', |n| b"\"\\/\x08\x0c\n\r\t"[n]));
        self.at += usize::from(known.is_some());
        Ok(())
    }

    /// The UTF-16 unit of the escape at a place.
    fn unit(&self, at: usize) -> Option<u32> {
        let digits = self.bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let all = digits.iter().all(u8::is_ascii_hexdigit);
        all.then(|| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())?
    }
}

/// A decimal number: digits times a power of ten.
#[derive(Clone, Debug)]
pub struct Decimal {
    negative: bool,
    /// Without leading zeros.
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// The whole text as a number, with the tolerances of JS3.
    pub fn read(text: &str) -> Option<Decimal> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Decimal::power(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let exponent = exponent - fraction.len() as i64;
        let digits = digits.trim_start_matches('0').to_owned();
        Some(Decimal { negative: text.starts_with('-'), digits, exponent })
    }

    fn power(text: &str) -> Option<i64> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let power = digits.parse().unwrap_or(1_000_000_000).min(1_000_000_000);
        Some(if text.starts_with('-') { -power } else { power })
    }

    /// This times a power of ten as an integer, the rest cut off or rounded half away from zero. `None`:
    /// it does not fit 64 bits.
    pub fn scaled(&self, power: i64, rounded: bool) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let length = self.digits.len() as i64 + self.exponent + power;
        if length > 25 {
            return None;
        }
        let mut value: i128 = 0;
        for place in 0..length.max(0) as usize {
            let digit = self.digits.as_bytes().get(place).map_or(0, |byte| byte - b'0');
            value = value * 10 + i128::from(digit);
        }
        let next = (length >= 0).then(|| self.digits.as_bytes().get(length as usize)).flatten();
        if rounded && next.is_some_and(|digit| *digit >= b'5') {
            value += 1;
        }
        i64::try_from(if self.negative { -value } else { value }).ok()
    }
}

/// JS5: an integer of 64 bits, if it is written as one.
pub fn int(number: &str) -> Option<i64> {
    let is_plain = !number.contains(['.', 'e', 'E', 'N', 'I']);
    is_plain.then(|| Decimal::read(number)?.scaled(0, false))?
}

/// The nearest double.
pub fn real(number: &str) -> f64 {
    match number {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        number => number.parse().unwrap(),
    }
}

/// The text that C's strtod reads to its end, not empty.
pub fn strtod(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let value = match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        hex if hex.starts_with("0x") => hexadecimal(&hex[2..])?,
        _ => {
            Decimal::read(unsigned).filter(|_| !unsigned.starts_with(['+', '-']))?;
            unsigned.parse().ok()?
        }
    };
    Some(if text.starts_with('-') { -value } else { value })
}

/// Digits with a point and a power of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, power) = text.split_once('p').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in digits.chars() {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let power: i32 = power.parse().ok()?;
    Some(value * 2f64.powi(power - 4 * fraction.len() as i32))
}

/// The text as C's strtoull reads it in hexadecimal, if it does to the end.
pub fn strtoull(text: &str) -> Option<u64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let prefix = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X"));
    let digits = prefix.unwrap_or(unsigned);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    match u64::from_str_radix(digits, 16) {
        Ok(value) if text.starts_with('-') => Some(value.wrapping_neg()),
        Ok(value) => Some(value),
        Err(_) => Some(u64::MAX),
    }
}

/// `%.15g`, as SQLite writes it; 0 without a sign, nothing for NaN.
pub fn fifteen_digits(value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{value:.14e}");
    let (mantissa, exponent) = text.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let shortened = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if !(-4..15).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", shortened(mantissa), exponent.abs());
    }
    // The digits are rounded already, so this only moves the point.
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if value < 0.0 { "-" } else { "" };
    let plain = if exponent < 0 {
        format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize))
    } else {
        let (whole, fraction) = digits.split_at(exponent as usize + 1);
        format!("{whole}.{fraction}")
    };
    format!("{sign}{}", shortened(&plain))
}
