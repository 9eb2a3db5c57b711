//! Lettering: strokes on a small grid, drawn antialiased at any size. No font file is needed.

use super::image::{Image, Rgb};

/// Grid rows from the top of a capital to the baseline.
const CAPITAL: f32 = 6.0;
/// Half the width of a stroke, in grid units at the usual size.
const STROKE: f32 = 0.36;

/// Returns the polylines of a character: points of two digits (column, row), lines separated by blanks. Row 0
/// is the top of a capital, row 6 the baseline, 8 the bottom of a descender.
fn strokes(c: char) -> &'static str {
    match c {
        '0' => "103041453616050110 2323",
        '1' => "112026 1636",
        '2' => "01103041420646",
        '3' => "01103041423313 334445361605",
        '4' => "36300444",
        '5' => "400002324345361605",
        '6' => "413010010516364544331304",
        '7' => "00404116",
        '8' => "103041423313020110 1304051636454433",
        '9' => "051636454130100102133342",
        'A' => "062046 1434",
        'B' => "00063645443303 0030414233 0010",
        'C' => "4130100105163645",
        'D' => "00304145360600",
        'E' => "40000646 0333",
        'F' => "400006 0333",
        'G' => "41301001051636454323",
        'H' => "0006 4046 0343",
        'I' => "1030 2026 1636",
        'J' => "4045361605",
        'K' => "0006 4004 1346",
        'L' => "000646",
        'M' => "0600234046",
        'N' => "06004640",
        'O' => "103041453616050110",
        'P' => "06003041423303",
        'Q' => "103041453616050110 2446",
        'R' => "06003041423303 2346",
        'S' => "413010010213334445361605",
        'T' => "0040 2026",
        'U' => "000516364540",
        'V' => "002640",
        'W' => "0016233640",
        'X' => "0046 4006",
        'Y' => "002340 2326",
        'Z' => "00400646",
        'a' => "12324346 441405163645",
        'b' => "0006 0312324345361605",
        'c' => "4332120305163645",
        'd' => "4046 4332120305163645",
        'e' => "04444332120305163645",
        'f' => "40302126 1232",
        'g' => "4247381807 4332120305163645",
        'h' => "0006 0312324346",
        'i' => "2226 2020",
        'j' => "32372818 3030",
        'k' => "0006 4204 2346",
        'l' => "202536",
        'm' => "0206 03122326 23324346",
        'n' => "0206 0312324346",
        'o' => "123243453616050312",
        'p' => "0208 0312324345361605",
        'q' => "4248 4332120305163645",
        'r' => "0206 03123243",
        's' => "43321203143445361605",
        't' => "20253646 1232",
        'u' => "0205163645 4246",
        'v' => "022642",
        'w' => "0216233642",
        'x' => "0246 4206",
        'y' => "0226 4218",
        'z' => "02420646",
        '.' => "2626",
        ',' => "2617",
        ':' => "2323 2626",
        ';' => "2323 2617",
        '-' => "1333",
        '_' => "0747",
        '+' => "2125 0343",
        '=' => "0242 0444",
        '/' => "0640",
        '|' => "2027",
        '(' => "30212536",
        ')' => "10212516",
        '[' => "30202636",
        ']' => "10202616",
        '<' => "410345",
        '>' => "014305",
        '%' => "0640 0010110100 3545463635",
        '*' => "2125 0244 0442",
        '#' => "1016 3036 0242 0444",
        '"' => "1011 3031",
        '!' => "2024 2626",
        '?' => "011030414224 2626",
        '&' => "4612112031320405163644",
        '^' => "022042",
        '~' => "03123342",
        '°' => "1020211110",
        '·' => "2323",
        '×' => "0246 4206",
        '≤' => "410345 0646",
        '→' => "0343 224324",
        '–' => "0343",
        '\'' => "2021",
        '\\' => "0046",
        ' ' => "",
        // Any other character: a box.
        _ => "0040460600",
    }
}

/// Returns the columns from one character to the next.
fn advance(c: char) -> f32 {
    match c {
        ' ' | '.' | ',' | ':' | ';' | '\'' | '!' | 'i' | 'l' | '|' | '·' => 4.4,
        _ => 5.8,
    }
}

/// Returns the width of `text` in pixels for capitals `size` pixels high.
pub fn width(text: &str, size: f32) -> f32 {
    let unit = size / CAPITAL;
    text.chars().map(advance).sum::<f32>() * unit
}

/// Draws `text` with its top left corner at (x, y); capitals are `size` pixels high.
pub fn draw(image: &mut Image, text: &str, x: f32, y: f32, size: f32, colour: Rgb) {
    let unit = size / CAPITAL;
    let half = (STROKE * unit).max(0.55);
    let mut left = x + half;
    for c in text.chars() {
        // Narrow characters are centred in the grid: half the saved width is before them.
        let start = left - (5.8 - advance(c)) / 2.0 * unit;
        for line in strokes(c).split(' ') {
            let digits: Vec<f32> = line.bytes().map(|digit| f32::from(digit.saturating_sub(b'0'))).collect();
            let points: Vec<[f32; 2]> =
                digits.chunks_exact(2).map(|p| [start + p[0] * unit, y + half + p[1] * unit]).collect();
            for pair in points.windows(2) {
                segment(image, pair[0], pair[1], half, colour);
            }
        }
        left += advance(c) * unit;
    }
}

/// Draws an antialiased line with round ends, `half` wide to either side; a dot if it has no length.
pub fn segment(image: &mut Image, a: [f32; 2], b: [f32; 2], half: f32, colour: Rgb) {
    let reach = half + 1.0;
    let low = [a[0].min(b[0]) - reach, a[1].min(b[1]) - reach];
    let high = [a[0].max(b[0]) + reach, a[1].max(b[1]) + reach];
    let along = [b[0] - a[0], b[1] - a[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    for py in low[1].floor() as i64..=high[1].ceil() as i64 {
        for px in low[0].floor() as i64..=high[0].ceil() as i64 {
            let p = [px as f32 + 0.5 - a[0], py as f32 + 0.5 - a[1]];
            let t = match square > 0.0 {
                true => ((p[0] * along[0] + p[1] * along[1]) / square).clamp(0.0, 1.0),
                false => 0.0,
            };
            let away = (p[0] - t * along[0]).hypot(p[1] - t * along[1]);
            let coverage = (half + 0.5 - away).clamp(0.0, 1.0);
            if coverage > 0.0 {
                image.blend(px, py, colour, coverage);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stroke_is_a_list_of_grid_points() {
        for c in (' '..='~').chain("°·×≤→–\u{fffd}".chars()) {
            for line in strokes(c).split(' ').filter(|line| !line.is_empty()) {
                assert!(line.len() >= 4 && line.len().is_multiple_of(2), "{c}");
                for pair in line.as_bytes().chunks(2) {
                    assert!((b'0'..=b'4').contains(&pair[0]), "{c}");
                    assert!((b'0'..=b'8').contains(&pair[1]), "{c}");
                }
            }
        }
    }

    #[test]
    fn text_stays_within_its_width() {
        let text = "Quick 0123456789 %&";
        let size = 14.0;
        let mut image = Image::new(width(text, size).ceil() as usize + 1, 24, [255; 3]);
        draw(&mut image, text, 0.0, 2.0, size, [0; 3]);
        assert!(image.pixels.iter().any(|p| p[0] < 64));
        let last = image.width - 1;
        assert!((0..image.height).all(|y| image.pixels[y * image.width + last] == [255; 3]));
    }
}
