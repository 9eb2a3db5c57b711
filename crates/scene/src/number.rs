//! Numbers as files have them: in the bytes of a text, and of 16 bits.

/// Parses a decimal number, correctly rounded, or `nan` or `inf` in any of the spellings that C libraries
/// print.
#[inline]
pub fn float(word: &[u8]) -> Option<f32> {
    fast_float2::parse(word).ok().or_else(|| odd_spelling(word))
}

#[cold]
fn odd_spelling(word: &[u8]) -> Option<f32> {
    let (sign, rest) = match word {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        _ => (1.0, word),
    };
    let lower = rest.to_ascii_lowercase();
    if lower.starts_with(b"nan")
        || lower.starts_with(b"1.#ind")
        || lower.starts_with(b"1.#qnan")
        || lower.starts_with(b"1.#snan")
    {
        Some(f32::NAN)
    } else if lower.starts_with(b"inf") || lower.starts_with(b"1.#inf") {
        Some(sign * f32::INFINITY)
    } else {
        None
    }
}

#[inline]
fn digit(bytes: &[u8], i: usize) -> Option<u64> {
    let d = bytes.get(i)?.wrapping_sub(b'0');
    (d < 10).then_some(d as u64)
}

/// Parses a whole number with an optional sign at the start of `word`; returns it and the bytes after it.
#[inline]
pub fn integer(word: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, word),
    };
    let mut value = 0i64;
    let mut i = 0;
    while let Some(d) = digit(digits, i) {
        value = value.checked_mul(10)?.checked_add(d as i64)?;
        i += 1;
    }
    (i > 0).then(|| (if negative { -value } else { value }, &digits[i..]))
}

/// Converts IEEE 754 binary16 to f32, exactly.
pub fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10 & 0x1F);
    let fraction = u32::from(bits & 0x3FF);
    match (exponent, fraction) {
        // Zero and subnormals: multiples of 2^-24, exact in f32.
        (0, _) => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        (31, _) => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_spellings() {
        for (text, want) in [
            ("0", 0.0),
            ("-0", -0.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("+2.5e+1", 25.0),
            ("1e400", f32::INFINITY),
            ("1e-400", 0.0),
            ("16777217", 16777216.0),
            ("16777219", 16777220.0),
            ("1.00000005960464477539062500001", 1.0000001),
            ("-1.#INF", f32::NEG_INFINITY),
            ("inf", f32::INFINITY),
            ("1e-45", 1e-45),
            ("00000000000000000000000000000001.5", 1.5),
        ] {
            assert_eq!(float(text.as_bytes()).map(f32::to_bits), Some(want.to_bits()), "{text}");
        }
        for text in ["nan", "-nan", "NaN", "-1.#IND", "1.#QNAN00", "-nan(ind)"] {
            assert!(float(text.as_bytes()).is_some_and(f32::is_nan), "{text}");
        }
        for text in ["", "-", ".", "e5", "1e", "1e+", "1x", "--1", "1.2.3", "x", "1,5", "\u{ff}"] {
            assert_eq!(float(text.as_bytes()), None, "{text}");
        }
        assert_eq!(integer(b"-12/3"), Some((-12, &b"/3"[..])));
        assert_eq!(integer(b"99999999999999999999"), None);
        assert_eq!(integer(b"/"), None);
    }

    proptest! {
        #[test]
        fn equal_to_the_standard_library(bits: u32, digits in 0usize..12, exponent: bool) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = if exponent { format!("{value:.digits$e}") } else { format!("{value:.digits$}") };
            prop_assert_eq!(float(text.as_bytes()).unwrap().to_bits(), text.parse::<f32>().unwrap().to_bits());
            let text = format!("{value}");
            prop_assert_eq!(float(text.as_bytes()).unwrap().to_bits(), bits);
        }
    }
}
