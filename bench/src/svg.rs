//! Pictures as SVG, element by element.

pub const INK: &str = "#222";

pub const PALE: &str = "#bbb";

pub const BLUE: &str = "#1b6ca8";

pub const ORANGE: &str = "#d9731a";

pub const GREEN: &str = "#3a8f4d";

/// An SVG picture under construction.
pub struct Picture {
    text: String,
    size: [f64; 2],
}

impl Picture {
    pub fn new(width: f64, height: f64) -> Picture {
        Picture { text: String::new(), size: [width, height] }
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        self.text += &format!("{element}\n");
    }

    pub fn line(&mut self, a: [f64; 2], b: [f64; 2], colour: &str, width: f64) {
        let ([x, y], [u, v]) = (a, b);
        self.push(format_args!(
            r#"<line x1="{x:.1}" y1="{y:.1}" x2="{u:.1}" y2="{v:.1}" stroke="{colour}" stroke-width="{width}"/>"#
        ));
    }

    pub fn dot(&mut self, [x, y]: [f64; 2], radius: f64, colour: &str) {
        self.push(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" fill="{colour}"/>"#));
    }

    pub fn ring(&mut self, [x, y]: [f64; 2], radius: f64, colour: &str) {
        self.push(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#
        ));
    }

    pub fn text(&mut self, [x, y]: [f64; 2], anchor: &str, size: f64, colour: &str, text: &str) {
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{text}</text>"#
        ));
    }

    pub fn path(&mut self, points: &[[f64; 2]], colour: &str, width: f64, dashes: &str) {
        let list: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let dashes = match dashes {
            "" => String::new(),
            dashes => format!(r#" stroke-dasharray="{dashes}""#),
        };
        self.push(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>"#,
            list.join(" ")
        ));
    }

    pub fn rectangle(&mut self, [x, y]: [f64; 2], [w, h]: [f64; 2], fill: &str, stroke: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" fill="{fill}" stroke="{stroke}"/>"#
        ));
    }

    pub fn finish(self) -> String {
        let [w, h] = self.size;
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" font-family="sans-serif">
<rect x="0" y="0" width="{w}" height="{h}" fill="#ffffff"/>
{}</svg>
"##,
            self.text
        )
    }
}
