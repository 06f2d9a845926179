//! Plots, as SVG.

use std::fmt::Write as _;

use super::figures::number;
use super::growth::Series;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Starts at 0.
    Linear,
    Logarithmic,
}

/// An axis: its scale, and its smallest and largest value.
struct Axis {
    scale: Scale,
    least: f64,
    largest: f64,
}

impl Axis {
    fn of(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let largest = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        match scale {
            Scale::Linear => Self {
                scale,
                least: 0.0,
                largest,
            },
            Scale::Logarithmic => Self {
                scale,
                least: 10_f64.powf(values.fold(f64::MAX, f64::min).log10().floor()),
                largest: 10_f64.powf(largest.log10().ceil()),
            },
        }
    }

    /// The position of a value on the axis, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value / self.largest,
            Scale::Logarithmic => {
                (value / self.least).ln() / (self.largest / self.least).ln().max(1.0)
            }
        }
    }
}

fn begin(svg: &mut String, height: f64, title: &str) {
    write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\
         <text x=\"{MARGIN}\" y=\"22\" font-weight=\"bold\">{title}</text>"
    )
    .expect("a string can be written");
}

/// Plots values over the number of IPs. Each point is labelled with its value.
pub fn plot(title: &str, scale: Scale, series: &[Series]) -> String {
    let points = series.iter().flat_map(|series| &series.points);
    let across = Axis::of(scale, points.clone().map(|point| point.0));
    let up = Axis::of(scale, points.map(|point| point.1));
    let x = |value: f64| MARGIN + across.at(value) * (WIDTH - 2.0 * MARGIN);
    let y = |value: f64| HEIGHT - MARGIN - up.at(value) * (HEIGHT - 2.5 * MARGIN);
    let mut svg = String::new();
    begin(&mut svg, HEIGHT, title);
    let (bottom, right) = (HEIGHT - MARGIN, WIDTH - MARGIN);
    let mut add = |text: String| svg.push_str(&text);
    add(format!(
        "<path d=\"M{MARGIN} {MARGIN}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>\
         <text x=\"{right}\" y=\"{:.0}\" text-anchor=\"end\">number of IPs</text>",
        bottom + 36.0
    ));
    for (position, (series, colour)) in series.iter().zip(COLOURS).enumerate() {
        let line: Vec<String> = series
            .points
            .iter()
            .map(|point| format!("{:.0},{:.0}", x(point.0), y(point.1)))
            .collect();
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\" fill=\"{colour}\">{}</text>",
            line.join(" "),
            MARGIN + 12.0,
            44.0 + 16.0 * number(position),
            series.name
        ));
        for (ips, value) in &series.points {
            let shown = if *value < 10.0 {
                format!("{value:.2}")
            } else {
                format!("{value:.0}")
            };
            add(format!(
                "<circle cx=\"{:.0}\" cy=\"{:.0}\" r=\"3\" fill=\"{colour}\"/>\
                 <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"{colour}\">{shown}</text>",
                x(*ips),
                y(*value),
                x(*ips),
                y(*value) - 7.0
            ));
            if position == 0 {
                add(format!(
                    "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{ips}</text>",
                    x(*ips),
                    bottom + 18.0
                ));
            }
        }
    }
    add("</svg>\n".to_owned());
    svg
}

/// One bar of a plot.
pub struct Bar {
    pub label: String,
    pub value: f64,
    pub text: String,
}

/// Plots horizontal bars, each with its label above it.
pub fn bars(title: &str, bars: &[Bar]) -> String {
    let largest = bars.iter().map(|bar| bar.value).fold(1.0, f64::max);
    let mut svg = String::new();
    begin(&mut svg, 40.0 + 44.0 * number(bars.len()), title);
    for (position, bar) in bars.iter().enumerate() {
        let top = 36.0 + 44.0 * number(position);
        let width = (bar.value / largest * (WIDTH - 3.0 * MARGIN)).max(1.0);
        write!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{:.0}\">{}</text>\
             <rect x=\"{MARGIN}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"16\" fill=\"{}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            top + 12.0,
            bar.label,
            top + 17.0,
            COLOURS[0],
            MARGIN + width + 6.0,
            top + 29.0,
            bar.text
        )
        .expect("a string can be written");
    }
    svg.push_str("</svg>\n");
    svg
}
