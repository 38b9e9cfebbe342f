//! For development: `cargo bench -p spanwise-attention [-- NAME]` compares with the run before it.
//!
//! Small enough to be run after every change; `bench/attention.py` compares with torch, `--example cost` options with each other.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use spanwise_attention::{
    Causal, MapSize, Options, Problem, Request, Upstream, backward, forward, forward_into,
};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::{Element, View, bf16, f16};
use std::hint::black_box;
use std::time::Duration;

/// (B, H, N, M, D).
type Shape = [usize; 5];

/// Numbers between −1 and 1, the same ones on every run.
fn numbers<T: Element>(len: usize, first: usize) -> Vec<T> {
    (0..len).map(|i| T::from_f64((((i + first) * 2_654_435_761) % 65_536) as f64 / 32_768.0 - 1.0)).collect()
}

struct Arrays<T> {
    shape: Shape,
    q: Vec<T>,
    k: Vec<T>,
    v: Vec<T>,
}

impl<T: Storage> Arrays<T> {
    fn new(shape: Shape) -> Self {
        let [b, h, n, m, d] = shape;
        let of = |rows: usize, first| numbers(b * h * rows * d, first);
        Arrays { shape, q: of(n, 1), k: of(m, 70_001), v: of(m, 90_001) }
    }

    fn problem<'a>(&'a self, options: &Options<'a, T>) -> Problem<'a, T> {
        let [b, h, n, m, d] = self.shape;
        let view =
            |data, rows| View::new(data, &[b, h, rows, d]).expect("as many numbers as the shape asks for");
        Problem::new(view(&self.q, n), view(&self.k, m), view(&self.v, m), *options).expect("all of it fits")
    }
}

/// One line: attention of `shape`, with what is asked.
fn line<T: Storage>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    shape: Shape,
    options: &Options<'_, T>,
    request: Request,
) {
    let arrays = Arrays::<T>::new(shape);
    let problem = arrays.problem(options);
    let [b, h, n, m, d] = shape;
    let mut out = vec![T::default(); b * h * n * d];
    group.throughput(Throughput::Elements((4 * b * h * n * m * d) as u64));
    group.bench_function(format!("{name} {} {shape:?}", T::DTYPE), |bencher| {
        bencher.iter(|| black_box(forward_into(&problem, &request, &mut out).map(|found| found.empty_rows)));
    });
}

fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group
}

fn shapes(criterion: &mut Criterion) {
    let mut group = group(criterion, "shapes");
    for shape in [[1, 12, 512, 512, 64], [8, 12, 128, 128, 64], [1, 32, 1, 4096, 128], [1, 3, 7, 7, 40]] {
        line::<f32>(&mut group, "plain", shape, &Options::default(), Request::default());
        line::<bf16>(&mut group, "plain", shape, &Options::default(), Request::default());
    }
    let shape = [1, 12, 512, 512, 64];
    line::<f16>(&mut group, "plain", shape, &Options::default(), Request::default());
    line::<f64>(&mut group, "plain", shape, &Options::default(), Request::default());
    let causal = Options { causal: Some(Causal::Square), ..Options::default() };
    line::<f32>(&mut group, "causal", shape, &causal, Request::default());
}

fn options(criterion: &mut Criterion) {
    let mut group = group(criterion, "options");
    let shape = [1, 8, 1024, 1024, 64];
    let [_, _, n, m, _] = shape;
    let mask: Vec<bool> = numbers::<f32>(n * m, 5).iter().map(|&x| x > -0.6).collect();
    let bias = numbers::<f32>(n * m, 6);
    let mask = View::new(&mask, &[n, m]).expect("as many as the shape asks for");
    let bias = View::new(&bias, &[n, m]).expect("as many as the shape asks for");
    let none = Options::default();
    line::<f32>(&mut group, "plain", shape, &none, Request::default());
    line::<f32>(&mut group, "mask", shape, &Options { mask: Some(mask), ..none }, Request::default());
    line::<f32>(&mut group, "bias", shape, &Options { bias: Some(bias), ..none }, Request::default());
    line::<f32>(&mut group, "soft cap", shape, &Options { softcap: Some(20.0), ..none }, Request::default());
    let statistics = Request {
        lse: true,
        entropy: true,
        largest: true,
        received: true,
        map: Some(MapSize { rows: 128, cols: 128 }),
        ..Request::default()
    };
    line::<f32>(&mut group, "statistics", shape, &none, statistics);
    let all = Request { top_k: 8, row_sum_error: true, ..statistics };
    line::<f32>(&mut group, "all statistics", shape, &none, all);
}

fn gradients(criterion: &mut Criterion) {
    let mut group = group(criterion, "backward");
    let shape = [1, 12, 512, 512, 64];
    let [b, h, n, _, d] = shape;
    let arrays = Arrays::<f32>::new(shape);
    let problem = arrays.problem(&Options::default());
    let found = forward(&problem, &Request { lse: true, ..Request::default() });
    let view = |data| View::new(data, &[b, h, n, d]).expect("as many numbers as the shape asks for");
    let lse = found.statistics.lse.expect("it was asked for");
    let upstream = Upstream { output: view(&found.values), lse: &lse, grad: view(&arrays.v) };
    group.bench_function(format!("plain f32 {shape:?}"), |bencher| {
        bencher.iter(|| black_box(backward(&problem, &upstream).map(|gradients| gradients.q.len())));
    });
}

criterion_group!(benches, shapes, options, gradients);
criterion_main!(benches);
