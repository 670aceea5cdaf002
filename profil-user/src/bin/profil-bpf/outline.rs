//! What the numbers of regions mean, before the run.

use profil_user::{Outline, export::printable};

/// A line for each region, and one for the memory.
pub(crate) fn lines(outlines: &[Outline], kernel_bytes: u64) -> Vec<String> {
    if outlines.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<_> = outlines.iter().map(line).collect();
    lines.push(format!(
        "{} counters; kernel memory {:.1} MiB",
        outlines
            .iter()
            .map(|outline| u64::from(outline.bins))
            .sum::<u64>(),
        kernel_bytes as f64 / f64::from(1 << 20)
    ));
    lines
}

fn line(outline: &Outline) -> String {
    let call = &outline.call;
    let rules = outline.dialect.rules();
    let end = match outline.end {
        Some(end) => format!("{end:#x}"),
        None => "no end".to_owned(),
    };
    let place = match &outline.object {
        Some((object, link)) => format!(" ({}+{link:#x})", printable(object)),
        None => " (nothing is mapped there)".to_owned(),
    };
    let text = outline.end.and_then(|end| end.checked_sub(call.offset));
    let width = match text {
        Some(text) => {
            let width = text as f64 / f64::from(outline.bins.max(1));
            format!("{} bytes of text for a counter", plain(width))
        }
        None => "all of the text for one counter".to_owned(),
    };
    format!(
        "region {:#x} to {end}{place}: {} counters of {} bits, {width}; scale {:#x}, {}",
        call.offset,
        outline.bins,
        rules.counter_bits,
        call.scale,
        outline.dialect.word(),
    )
}

/// A number without a fraction that says nothing.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use profil_user::{Classic, Dialect, Outline};

    use super::lines;

    #[test]
    fn the_numbers_are_explained() {
        let outline = Outline {
            call: Classic {
                offset: 0x40_1000,
                bytes: 200,
                scale: 0xc000,
                added: 0,
            },
            dialect: Dialect::Glibc,
            bins: 100,
            end: Some(0x40_110c),
            object: Some(("prog\x1b".to_owned(), 0x1000)),
        };
        let lines = lines(&[outline], 3 << 19);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("region 0x401000 to 0x40110c (prog"),
            "{}",
            lines[0]
        );
        assert!(
            lines[0].ends_with(
                "100 counters of 16 bits, 2.68 bytes of text for a counter; scale 0xc000, glibc"
            ),
            "{}",
            lines[0]
        );
        assert!(!lines[0].contains('\x1b'));
        assert_eq!(lines[1], "100 counters; kernel memory 1.5 MiB");
    }
}
