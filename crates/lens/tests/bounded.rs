//! What a call of a layer allocates. A binary of its own: it counts.

use peak_alloc::PeakAlloc;
use spanwise_attention::Options;
use spanwise_kernels::View;
use spanwise_lens::explain::{LayerCall, LayerTally};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const HEADS: usize = 4;
const TOKENS: usize = 4096;
const WIDTH: usize = 2;

#[test]
fn rows_that_are_lost_take_no_mask_of_queries_by_keys() {
    let numbers = |from: usize| -> Vec<f32> {
        (0..HEADS * TOKENS * WIDTH).map(|i| ((i + from) as f32 * 0.7).sin()).collect()
    };
    let (mut q, k) = (numbers(0), numbers(5));
    q[7 * WIDTH] = f32::NAN;
    let dims = [1, HEADS, TOKENS, WIDTH];
    // A mask that another query does not share: query i sees keys up to it.
    let mask: Vec<bool> = (0..TOKENS * TOKENS).map(|at| at % TOKENS <= at / TOKENS).collect();
    let bias = vec![0.5; TOKENS];
    for bias in [None, Some(View::new(&bias, &[1, TOKENS]).unwrap())] {
        let (k, q) = (View::new(&k, &dims).unwrap(), View::new(&q, &dims).unwrap());
        let mask = Some(View::new(&mask, &[TOKENS, TOKENS]).unwrap());
        let options = Options { mask, bias, ..Options::default() };
        let call = LayerCall { q, k, v: k, options, team: None, tokens: None, first_key: 0, cells: 8 };
        let mut out = vec![0.0; HEADS * TOKENS * WIDTH];
        let mut tally = LayerTally::new(HEADS);
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        tally.attend(&call, &mut out).unwrap();
        let taken = ALLOCATED.peak_usage() - before;
        assert_eq!(tally.lost_rows(), 1);
        let matrix = HEADS * TOKENS * TOKENS;
        assert!(taken < matrix / 4, "{taken} bytes; a mask has {matrix}");
    }
}
