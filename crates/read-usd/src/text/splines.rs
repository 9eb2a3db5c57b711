//! Splines in the text form.

use super::cursor::Cursor;
use crate::spline::{Extrapolation, Interpolation, Knot, Loops, Spline};

/// Reads a spline with its curly brackets; `None` if it is malformed.
pub fn spline(text: &[u8]) -> Option<Spline> {
    let mut cursor = Cursor { text, offset: 0 };
    let mut own =
        Spline { is_hermite: false, pre: Extrapolation::Held, post: Extrapolation::Held, knots: Vec::new() };
    let mut loops = None;
    if !cursor.take(b'{') {
        return None;
    }
    while !cursor.take(b'}') {
        match cursor.peek()? {
            b',' => cursor.offset += 1,
            b if b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.') => own.knots.push(knot(&mut cursor)?),
            _ => match cursor.name() {
                "bezier" => {}
                "hermite" => own.is_hermite = true,
                "pre" => own.pre = extrapolation(&mut cursor)?,
                "post" => own.post = extrapolation(&mut cursor)?,
                "loop" => {
                    cursor.take(b':');
                    let [start, end, before, after, offset] = numbers(&mut cursor)?[..] else {
                        return None;
                    };
                    let (before, after) = (before as i32, after as i32);
                    loops = Some(Loops { start, end, before, after, offset });
                }
                _ => return None,
            },
        }
    }
    if own.is_hermite {
        // A single number is the slope.
        own.knots.iter_mut().flat_map(|knot| [&mut knot.pre, &mut knot.post]).for_each(|t| t.swap(0, 1));
    }
    own.finish(loops)
}

/// Reads the numbers of `(1, 2, word)`; words are skipped.
fn numbers(cursor: &mut Cursor<'_>) -> Option<Vec<f64>> {
    let mut out = Vec::new();
    if !cursor.take(b'(') {
        return Some(out);
    }
    while !cursor.take(b')') {
        let before = cursor.offset;
        match cursor.number() {
            Some(number) => out.push(number),
            None if cursor.name().is_empty() && !cursor.take(b',') => return None,
            None => {}
        }
        if cursor.offset == before {
            return None;
        }
    }
    Some(out)
}

fn extrapolation(cursor: &mut Cursor<'_>) -> Option<Extrapolation> {
    cursor.take(b':');
    Some(match cursor.name() {
        "none" => Extrapolation::Nothing,
        "held" => Extrapolation::Held,
        "linear" => Extrapolation::Linear,
        "sloped" => Extrapolation::Sloped(*numbers(cursor)?.first()?),
        "loop" => match cursor.name() {
            "repeat" => Extrapolation::Repeat,
            "reset" => Extrapolation::Reset,
            "oscillate" => Extrapolation::Oscillate,
            _ => return None,
        },
        _ => return None,
    })
}

/// Reads a knot, `time: [value before &] value; pre (width, slope); post curve (width, slope)`.
fn knot(cursor: &mut Cursor<'_>) -> Option<Knot> {
    let time = cursor.number()?;
    if !cursor.take(b':') {
        return None;
    }
    let before = cursor.number()?;
    let is_dual = cursor.take(b'&');
    let value = if is_dual { cursor.number()? } else { before };
    let (mut pre, mut post, mut next) = ([0.0; 2], [0.0; 2], Interpolation::Held);
    let tangent = |cursor: &mut Cursor<'_>| {
        let list = numbers(cursor)?;
        Some(std::array::from_fn(|i| list.get(i).copied().unwrap_or(0.0)))
    };
    loop {
        match cursor.peek()? {
            b',' | b'}' => return Some(Knot { time, value, before, is_dual, pre, post, next }),
            b'{' => {
                cursor.skip().ok()?;
            }
            _ => match cursor.name() {
                "pre" => pre = tangent(cursor)?,
                "post" => {
                    let at = cursor.offset;
                    match cursor.name() {
                        "none" => next = Interpolation::Nothing,
                        "held" => next = Interpolation::Held,
                        "linear" => next = Interpolation::Linear,
                        "curve" => next = Interpolation::Curve,
                        _ => cursor.offset = at,
                    }
                    post = tangent(cursor)?;
                }
                _ => return None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spline::JumpSide;

    #[test]
    fn what_is_no_spline_is_none() {
        for text in [
            "",
            "{",
            "{ 1 }",
            "{ 1: }",
            "{ 1: 2 pre ( }",
            "{ 1: 2; post x, }",
            "{ x: 1 }",
            "{ loop: (1), 1: 2 }",
        ] {
            assert!(spline(text.as_bytes()).is_none(), "{text}");
        }
        for text in ["{}", "{ bezier, pre: none }"] {
            assert!(spline(text.as_bytes()).is_some_and(|own| own.is_empty()), "{text}");
        }
        let own = spline(b"{ 1: 2, 3: 4 }").map(|own| own.value(2.0, JumpSide::At));
        assert_eq!(own, Some(Some(2.0)));
        assert!(Spline::parse(&[0x11, 9, 1, 0, 0, 0, 0]).is_none());
    }
}
