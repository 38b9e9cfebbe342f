//! From words to what attention is asked.

use crate::args::{Attend, CausalWord, Diagonal};
use crate::failure::Usage;
use crate::source::Sources;
use spanwise::Element;
use spanwise::attend::{Alignment, Causal, Options, Window};
use spanwise_io::Tensor;

/// Numbers and words, checked as far as they can be without the arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    scale: Option<f64>,
    softcap: Option<f64>,
    causal: Option<Causal>,
    window: Option<Window>,
}

impl Settings {
    pub(crate) fn new(args: &Attend) -> Result<Self, Usage> {
        let align = args.align.map(Alignment::from);
        let named = args.causal.and_then(named_diagonal);
        if let (Some(named), Some(align)) = (named, align)
            && named != align
        {
            let message =
                format!("`--align` is {align} and `--causal` is {named}; they must follow the same diagonal");
            return Err(Usage::new(message));
        }
        let causal = args.causal.map(|_| named.or(align).map_or(Causal::Square, Causal::Aligned));
        let window = args.window.as_deref().map(|text| window(text, align)).transpose()?;
        Ok(Settings { scale: args.scale, softcap: args.softcap, causal, window })
    }
}

fn named_diagonal(word: CausalWord) -> Option<Alignment> {
    match word {
        CausalWord::Square => None,
        CausalWord::TopLeft => Some(Alignment::TopLeft),
        CausalWord::BottomRight => Some(Alignment::BottomRight),
    }
}

impl From<Diagonal> for Alignment {
    fn from(diagonal: Diagonal) -> Self {
        match diagonal {
            Diagonal::TopLeft => Alignment::TopLeft,
            Diagonal::BottomRight => Alignment::BottomRight,
        }
    }
}

/// `LEFT,RIGHT`, where an empty side or `*` is no limit.
fn window(text: &str, alignment: Option<Alignment>) -> Result<Window, Usage> {
    let refuse = || {
        let message = format!("`--window`: found {text:?}; expected LEFT,RIGHT, such as `128,0` or `*,0`");
        Usage::with_hint(message, "each side is a count of keys; an empty side or `*` is no limit")
    };
    let side = |side: &str| match side.trim() {
        "" | "*" => Ok(None),
        count => count.parse::<usize>().map(Some).map_err(|_| refuse()),
    };
    let (left, right) = text.split_once(',').ok_or_else(refuse)?;
    Ok(Window { left: side(left)?, right: side(right)?, alignment })
}

/// Lists and masks, read.
#[derive(Debug)]
pub(crate) struct Given {
    mask: Option<Tensor>,
    alibi: Option<Vec<f64>>,
    sinks: Option<Vec<f64>>,
    lengths: Option<Vec<usize>>,
}

impl Given {
    pub(crate) fn new(args: &Attend, sources: &mut Sources) -> anyhow::Result<Self> {
        let mask = args.mask.as_deref().map(|text| sources.mask("--mask", text)).transpose()?;
        let alibi = args.alibi.as_deref().map(|text| sources.list("--alibi", text)).transpose()?;
        let sinks = args.sinks.as_deref().map(|text| sources.list("--sinks", text)).transpose()?;
        let lengths = args.lengths.as_deref().map(|text| sources.counts("--lengths", text)).transpose()?;
        for (argument, list) in [("--alibi", &alibi), ("--sinks", &sinks)] {
            if let Some(value) = list.iter().flatten().find(|value| !value.is_finite()) {
                let message = format!("`{argument}` holds {value}; expected finite numbers");
                return Err(Usage::new(message).into());
            }
        }
        Ok(Given { mask, alibi, sinks, lengths })
    }

    /// All of it but the bias.
    pub(crate) fn options<T: Element>(&self, settings: &Settings) -> Options<'_, T> {
        Options {
            scale: settings.scale,
            softcap: settings.softcap,
            alibi: self.alibi.as_deref(),
            mask: self.mask.as_ref().and_then(Tensor::view_as),
            causal: settings.causal,
            window: settings.window,
            lengths: self.lengths.as_deref(),
            sinks: self.sinks.as_deref(),
            ..Options::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_side_or_a_star_is_no_limit() {
        let sides = |text| window(text, None).map(|w| (w.left, w.right)).ok();
        assert_eq!(sides("2,0"), Some((Some(2), Some(0))));
        assert_eq!(sides(",3"), Some((None, Some(3))));
        assert_eq!(sides("*, *"), Some((None, None)));
        for wrong in ["", "3", "1,2,3", "-1,0", "a,b", "1.5,0", "99999999999999999999,0"] {
            assert_eq!(sides(wrong), None, "{wrong}");
        }
    }
}
