//! What can be typed for `explain` and `sample`.

use super::{Attend, CausalWord, Diagonal, Pick};
use clap::Args;
use std::path::PathBuf;

pub(crate) const EXPLAIN_HELP: &str = "\
Examples:
  spanwise explain examples/longley.csv --target TOTEMP
  spanwise explain sales.parquet --target price --exclude id --html sales.html --figures pictures
  spanwise explain batches.csv --target result                   a target of words is one of classes
  spanwise explain --q q.npy --k k.npy --v v.npy --causal
  spanwise explain examples/attention.npz                        arrays named q, k and v

Each finding has a page in docs/findings: what it means, and what to do. Tables are read into memory; reach and ridge look at \
a sample of at most 4000 rows, leverage beyond 100000 rows at a sample and at extreme rows. Attention never \
stores N × M weights.";

pub(crate) const SAMPLE_HELP: &str = "\
Examples:
  spanwise sample                                list them
  spanwise sample outlier                        write outlier.csv
  spanwise sample saturated-attention --out qkv.npz";

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The table; or a .npz or .safetensors file with arrays q, k and v
    #[arg(required_unless_present_any = ["q", "k", "v"], conflicts_with_all = ["q", "k", "v"])]
    pub(crate) file: Option<String>,

    /// The column to explain
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) pick: Pick,

    /// A column of weights, not negative
    #[arg(long, value_name = "NAME", requires = "target", help_heading = "Model")]
    pub(crate) weights: Option<String>,

    /// The target is a class although it is written as a number
    #[arg(long, requires = "target", help_heading = "Model")]
    pub(crate) classes: bool,

    /// Leave the intercept out
    #[arg(long, requires = "target", help_heading = "Model")]
    pub(crate) no_intercept: bool,

    /// Of intervals; 0.95 unless given
    #[arg(long, value_name = "P", requires = "target", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) confidence: Option<f64>,

    #[command(flatten)]
    pub(crate) attention: AttentionArgs,

    /// Write the page: one HTML file that needs no network
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,

    /// Write every figure as SVG and PNG into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) figures: Option<PathBuf>,

    /// Print JSON in place of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Write to a file in place of standard output; JSON if it ends in .json
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

/// Arrays and options of attention, as `attend` has them.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("diagonal_of").args(["causal", "window"]).multiple(true))]
pub(crate) struct AttentionArgs {
    /// The queries, (…, N, D)
    #[arg(long, value_name = "ARRAY", requires_all = ["k", "v"], allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) q: Option<String>,

    /// The keys, (…, M, D)
    #[arg(long, value_name = "ARRAY", requires_all = ["q", "v"], allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) k: Option<String>,

    /// The values, (…, M, E)
    #[arg(long, value_name = "ARRAY", requires_all = ["q", "k"], allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) v: Option<String>,

    /// The factor on q·k; 1/√D unless given
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) scale: Option<f64>,

    /// Scores s become c·tanh(s/c)
    #[arg(long, value_name = "C", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) softcap: Option<f64>,

    /// Added to the scores; broadcasts to (B, H, N, M)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) bias: Option<String>,

    /// A slope per query head: each place of distance costs that much
    #[arg(long, value_name = "SLOPES", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) alibi: Option<String>,

    /// A logit per query head that shares in the softmax and has no value
    #[arg(long, value_name = "LOGITS", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) sinks: Option<String>,

    /// True (or 1) keeps a key; broadcasts to (B, H, N, M)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) mask: Option<String>,

    /// No query sees beyond its place; where N ≠ M, say which diagonal it follows
    #[arg(long, value_name = "DIAGONAL", num_args = 0..=1, default_missing_value = "square")]
    #[arg(value_enum, help_heading = "Attention")]
    pub(crate) causal: Option<CausalWord>,

    /// How many keys before and after its place a query sees
    #[arg(long, value_name = "LEFT,RIGHT", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) window: Option<String>,

    /// The diagonal that a window or a plain --causal follows where N ≠ M
    #[arg(long, value_name = "DIAGONAL", value_enum, requires = "diagonal_of", help_heading = "Attention")]
    pub(crate) align: Option<Diagonal>,

    /// How many keys each batch entry has; the rest is padding
    #[arg(long, value_name = "COUNTS", allow_hyphen_values = true, help_heading = "Attention")]
    pub(crate) lengths: Option<String>,
}

impl AttentionArgs {
    /// The same as `attend` takes it, for arrays that are read elsewhere.
    pub(crate) fn attend(&self) -> Attend {
        Attend {
            q: self.q.clone().unwrap_or_default(),
            k: self.k.clone().unwrap_or_default(),
            v: self.v.clone().unwrap_or_default(),
            scale: self.scale,
            softcap: self.softcap,
            bias: self.bias.clone(),
            alibi: self.alibi.clone(),
            sinks: self.sinks.clone(),
            mask: self.mask.clone(),
            causal: self.causal,
            window: self.window.clone(),
            align: self.align,
            lengths: self.lengths.clone(),
            out: None,
            weights: None,
            lse: None,
            json: false,
        }
    }

    /// An option of attention that was given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--scale", self.scale.is_some()),
            ("--softcap", self.softcap.is_some()),
            ("--bias", self.bias.is_some()),
            ("--alibi", self.alibi.is_some()),
            ("--sinks", self.sinks.is_some()),
            ("--mask", self.mask.is_some()),
            ("--causal", self.causal.is_some()),
            ("--window", self.window.is_some()),
            ("--lengths", self.lengths.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    /// Which sample; without it they are listed
    pub(crate) name: Option<String>,

    /// Where to: .csv, .parquet for tables, .npz, .safetensors for attention; its name in this directory unless given
    #[arg(long, value_name = "FILE", requires = "name")]
    pub(crate) out: Option<PathBuf>,
}
