//! The same bits for any number of threads.

use super::cases::{Ask, Case, Data};
use super::same_bits;
use crate::forward::{Forward, forward_on};
use crate::{Alignment, MapSize, Request, Team};
use rayon::ThreadPoolBuilder;
use spanwise_kernels::attention::Storage;
use spanwise_kernels::bf16;
use spanwise_kernels::simd::Isa;

fn with_threads<T: Storage>(threads: usize, data: &Data<T>, request: &Request) -> Forward<T> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| forward_on(Isa::detected(), &data.problem(), request))
}

/// Threads of nobody's pool.
#[derive(Debug)]
struct Fresh(usize);

impl Team for Fresh {
    fn threads(&self) -> usize {
        self.0
    }

    fn run(&self, work: &(dyn Fn() + Sync)) {
        std::thread::scope(|scope| (1..self.0).for_each(|_| drop(scope.spawn(work))));
        // Those that came first may have left nothing to do.
        work();
    }
}

fn any_number_gives_the_same<T: Storage>(case: &Case) {
    let data = Data::<T>::new(case);
    let everything = Request {
        lse: true,
        entropy: true,
        largest: true,
        top_k: 4,
        received: true,
        row_sum_error: true,
        map: Some(MapSize { rows: 9, cols: 11 }),
    };
    let alone = Request { top_k: 0, ..everything };
    for request in [Request { lse: true, ..Request::default() }, everything, alone] {
        let one = with_threads(1, &data, &request);
        for threads in [2, 3, 8] {
            let many = with_threads(threads, &data, &request);
            assert!(same_bits(&one.values, &many.values), "{threads} threads: {case:?}");
            assert_eq!(one.statistics, many.statistics, "{threads} threads: {case:?}");
            let team = Fresh(threads);
            let many = forward_on(Isa::detected(), &data.problem().on(&team), &request);
            assert!(same_bits(&one.values, &many.values), "a team of {threads}: {case:?}");
            assert_eq!(one.statistics, many.statistics, "a team of {threads}: {case:?}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    any_number_gives_the_same::<f32>(&Case::new(
        [1, 2, 1, 300, 600, 16, 16],
        Ask::Causal(Alignment::BottomRight),
    ));
    any_number_gives_the_same::<f64>(&Case::new([2, 3, 3, 100, 300, 8, 24], Ask::Mask([true; 4])));
    any_number_gives_the_same::<bf16>(&Case::new([1, 4, 2, 90, 520, 20, 12], Ask::Window(Some(70), Some(3))));
    any_number_gives_the_same::<f32>(&Case::new([1, 8, 2, 1, 3000, 64, 64], Ask::Plain));
}
