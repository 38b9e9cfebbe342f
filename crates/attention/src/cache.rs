//! Keys and values that grow, row by row, while a text is being written.
//!
//! ```text
//! contiguous   k (B, G, room, D)                    room doubles when it is full: all rows move now and then
//! paged        k (B, G, rows per page, D) per page  nothing ever moves
//! ```
//!
//! Both are attended to as they lie. The kernels cut keys at boundaries that depend on the number of keys alone, so both give
//! the same bits; with pages of a multiple of 64 rows nothing is copied, and pages of 256 rows and more are read fastest.

use crate::sequence::{Pages, Sequence};
use crate::{AttentionError, Options, Problem};
use spanwise_kernels::{Element, Shape, View};

/// What does not change while a [`Cache`] grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Batch, `B`.
    pub batch: usize,
    /// Key/value heads, `G`.
    pub heads: usize,
    /// Key width, `D`.
    pub key_width: usize,
    /// Value width, `E`.
    pub value_width: usize,
}

/// Keys and values to which rows are appended.
///
/// ```
/// use spanwise_attention::{Cache, CacheSizes, Options, Request, forward};
/// use spanwise_kernels::View;
///
/// let sizes = CacheSizes { batch: 1, heads: 1, key_width: 2, value_width: 1 };
/// let mut cache = Cache::paged(sizes, 64)?;
/// for step in 0..3 {
///     let (k, v) = ([step as f32, 1.0], [10.0 * step as f32]);
///     cache.append(View::new(&k, &[1, 2])?, View::new(&v, &[1, 1])?)?;
/// }
/// let q = [0.0f32, 5.0]; // sees every key alike
/// let problem = cache.problem(View::new(&q, &[1, 2])?, Options::default())?;
/// assert_eq!(forward(&problem, &Request::default()).values, [10.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache<T> {
    sizes: CacheSizes,
    /// Rows held.
    len: usize,
    limit: Option<usize>,
    keys: Store<T>,
    values: Store<T>,
}

#[derive(Clone, Debug)]
enum Store<T> {
    /// `(B, G, room, width)`.
    Contiguous { numbers: Vec<T>, room: usize },
    /// Each `(B, G, rows, width)`.
    Paged { pages: Vec<Vec<T>>, rows: usize },
}

impl<T: Element> Cache<T> {
    /// Empty, in one array that moves when it grows.
    pub fn contiguous(sizes: CacheSizes) -> Result<Self, AttentionError> {
        let empty = || Store::Contiguous { numbers: Vec::new(), room: 0 };
        Cache::new(sizes, [empty(), empty()])
    }

    /// Empty, on pages of `rows_per_page` rows; a multiple of 256 is best, one of 64 nearly so.
    pub fn paged(sizes: CacheSizes, rows_per_page: usize) -> Result<Self, AttentionError> {
        if rows_per_page == 0 {
            return Err(AttentionError::PageRows);
        }
        let empty = || Store::Paged { pages: Vec::new(), rows: rows_per_page };
        Cache::new(sizes, [empty(), empty()])
    }

    fn new(sizes: CacheSizes, [keys, values]: [Store<T>; 2]) -> Result<Self, AttentionError> {
        if sizes.key_width == 0 {
            return Err(AttentionError::NoWidth);
        }
        Ok(Cache { sizes, len: 0, limit: None, keys, values })
    }

    /// The same cache, which refuses to hold more than `limit` rows.
    #[must_use]
    pub fn bounded(self, limit: usize) -> Self {
        Cache { limit: Some(limit), ..self }
    }

    /// What does not change.
    pub fn sizes(&self) -> CacheSizes {
        self.sizes
    }

    /// Rows held, `M`.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets all rows but the first `len`, and keeps the memory; fewer rows than that stay as they are.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Rows of keys `(B, G, rows, D)` and values `(B, G, rows, E)`; missing leading dimensions are 1. Nothing is appended where
    /// they do not fit.
    pub fn append(&mut self, k: View<'_, T>, v: View<'_, T>) -> Result<(), AttentionError> {
        let CacheSizes { batch, heads, key_width, value_width } = self.sizes;
        let rows = k.rank().checked_sub(2).map_or(0, |axis| k.dims()[axis]);
        let fit = |argument, view: View<'_, T>, width, letters| {
            if view.rank() >= 2 && view.with_leading_axes(4).dims() == [batch, heads, rows, width] {
                return Ok(());
            }
            let expected = Shape::new(&[batch, heads, rows, width]).unwrap_or(view.shape());
            Err(AttentionError::Shape { argument, found: view.shape(), expected, letters })
        };
        fit("k", k, key_width, "B, G, rows, D")?;
        fit("v", v, value_width, "B, G, rows, E")?;
        let full =
            AttentionError::Full { held: self.len, added: rows, limit: self.limit.unwrap_or(usize::MAX) };
        let len = self.len.checked_add(rows).ok_or(full.clone())?;
        if self.limit.is_some_and(|limit| len > limit) {
            return Err(full);
        }
        let all = batch * heads;
        self.keys.append(k.with_leading_axes(4), self.len, [all, key_width]);
        self.values.append(v.with_leading_axes(4), self.len, [all, value_width]);
        self.len = len;
        Ok(())
    }

    /// The keys, `(B, G, M, D)`, where they lie in one array.
    pub fn keys(&self) -> Option<View<'_, T>> {
        match self.keys.sequence(&self.sizes, self.len, self.sizes.key_width) {
            Sequence::Whole(view) => Some(view),
            Sequence::Pages(_) => None,
        }
    }

    /// The values, `(B, G, M, E)`, where they lie in one array.
    pub fn values(&self) -> Option<View<'_, T>> {
        match self.values.sequence(&self.sizes, self.len, self.sizes.value_width) {
            Sequence::Whole(view) => Some(view),
            Sequence::Pages(_) => None,
        }
    }

    /// Attention of `q` over all rows held, which are read where they lie.
    pub fn problem<'a>(
        &'a self,
        q: View<'a, T>,
        options: Options<'a, T>,
    ) -> Result<Problem<'a, T>, AttentionError> {
        let k = self.keys.sequence(&self.sizes, self.len, self.sizes.key_width);
        let v = self.values.sequence(&self.sizes, self.len, self.sizes.value_width);
        Problem::over(q, k, v, &options)
    }
}

impl<T: Element> Store<T> {
    /// Rows of all heads behind the first `len`.
    fn append(&mut self, from: View<'_, T>, len: usize, [heads, width]: [usize; 2]) {
        let (groups, rows) = (from.dims()[1], from.dims()[2]);
        self.reserve(len, len + rows, [heads, width]);
        for head in 0..heads {
            for row in 0..rows {
                let to = self.row(head, len + row, width);
                let index = [head / groups, head % groups, row];
                if let Some(from) = from.row(&index) {
                    to.copy_from_slice(from);
                    continue;
                }
                for (c, to) in to.iter_mut().enumerate() {
                    *to = from.get(&[index[0], index[1], row, c]).unwrap_or_default();
                }
            }
        }
    }

    /// Room for `wanted` rows of each head, where `len` are held.
    fn reserve(&mut self, len: usize, wanted: usize, [heads, width]: [usize; 2]) {
        match self {
            Store::Contiguous { numbers, room } if *room < wanted => {
                let larger = wanted.max(2 * *room);
                let mut moved = vec![T::default(); heads * larger * width];
                for head in 0..heads {
                    let (to, from) = (head * larger * width, head * *room * width);
                    moved[to..to + len * width].copy_from_slice(&numbers[from..from + len * width]);
                }
                (*numbers, *room) = (moved, larger);
            }
            Store::Contiguous { .. } => {}
            Store::Paged { pages, rows } => {
                while pages.len() * *rows < wanted {
                    pages.push(vec![T::default(); heads * *rows * width]);
                }
            }
        }
    }

    /// Row `row` of one of all heads.
    fn row(&mut self, head: usize, row: usize, width: usize) -> &mut [T] {
        match self {
            Store::Contiguous { numbers, room } => &mut numbers[(head * *room + row) * width..][..width],
            Store::Paged { pages, rows } => {
                &mut pages[row / *rows][(head * *rows + row % *rows) * width..][..width]
            }
        }
    }

    fn sequence(&self, sizes: &CacheSizes, len: usize, width: usize) -> Sequence<'_, T> {
        let CacheSizes { batch, heads, .. } = *sizes;
        let dims = [batch, heads, len, width];
        match self {
            Store::Contiguous { numbers, room } => {
                let head = (room * width) as isize;
                let strides = [heads as isize * head, head, width as isize, 1];
                let view = View::strided(numbers, 0, &dims, &strides);
                Sequence::Whole(view.expect("the cache holds as many rows as it says"))
            }
            Store::Paged { pages, rows } => Sequence::Pages(Pages {
                memory: pages,
                shape: Shape::new(&dims).expect("the cache holds as many rows as it says"),
                rows_per_page: *rows,
                batch_step: heads * rows * width,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::tests::cases::numbers;
    use crate::forward::tests::same_bits;
    use crate::{Alignment, Causal, Request, Window, forward, reference};
    use spanwise_kernels::attention::Storage;
    use spanwise_kernels::{bf16, f16};

    const SIZES: CacheSizes = CacheSizes { batch: 2, heads: 2, key_width: 12, value_width: 20 };

    /// Appended in steps of different lengths.
    fn filled<T: Storage>(mut cache: Cache<T>, total: usize) -> Cache<T> {
        let CacheSizes { key_width, value_width, .. } = cache.sizes;
        let (k, v) =
            (numbers::<T>(1, 4 * total * key_width, 1.0), numbers::<T>(2, 4 * total * value_width, 1.0));
        let whole = |data, width| View::new(data, &[2, 2, total, width]).unwrap();
        let (mut row, mut step) = (0, 1);
        while row < total {
            let end = (row + step).min(total);
            let of = |data, width| whole(data, width).narrowed(2, row..end).unwrap();
            cache.append(of(&k, key_width), of(&v, value_width)).unwrap();
            (row, step) = (end, step * 3 % 101);
        }
        assert_eq!(cache.len(), total);
        cache
    }

    fn agrees<T: Storage>(queries: usize, total: usize, rows_per_page: usize) {
        agrees_at::<T>(SIZES, queries, total, rows_per_page);
    }

    fn agrees_at<T: Storage>(sizes: CacheSizes, queries: usize, total: usize, rows_per_page: usize) {
        let CacheSizes { key_width, value_width, .. } = sizes;
        let whole = filled(Cache::<T>::contiguous(sizes).unwrap(), total);
        let paged = filled(Cache::<T>::paged(sizes, rows_per_page).unwrap(), total);
        let q = numbers::<T>(3, 2 * 4 * queries * key_width, 1.0);
        let q = View::new(&q, &[2, 4, queries, key_width]).unwrap();
        let causal = Some(Causal::Aligned(Alignment::BottomRight));
        let window = Some(Window { left: Some(total / 2), right: None, alignment: None });
        for options in [Options::default(), Options { causal, window, ..Options::default() }] {
            let request = Request { lse: true, ..Request::default() };
            let one = forward(&whole.problem(q, options).unwrap(), &request);
            let other = forward(&paged.problem(q, options).unwrap(), &request);
            assert!(same_bits(&one.values, &other.values), "{queries} {total} {rows_per_page}");
            assert_eq!(one.statistics, other.statistics);
            // The same arrays without a cache.
            let views = (whole.keys().unwrap(), whole.values().unwrap());
            let (k, v) = (views.0.to_vec(), views.1.to_vec());
            let view = |data, width| View::new(data, &[2, 2, total, width]).unwrap();
            let plain = Problem::new(q, view(&k, key_width), view(&v, value_width), options).unwrap();
            assert!(same_bits(&one.values, &forward(&plain, &request).values));
            assert_eq!(reference::attend(&plain), reference::attend(&paged.problem(q, options).unwrap()));
        }
    }

    #[test]
    fn pages_and_one_array_and_no_cache_give_the_same_bits() {
        for (queries, total) in [(1, 1), (1, 65), (1, 66), (1, 193), (1, 200), (2, 700), (40, 300)] {
            for rows_per_page in [1, 50, 64, 256] {
                agrees::<f32>(queries, total, rows_per_page);
            }
            agrees::<f64>(queries, total, 64);
            agrees::<bf16>(queries, total, 50);
            agrees::<f16>(queries, total, 128);
        }
        agrees::<f32>(1, 5000, 64);
        // Rows of several vectors of each instruction set, a pair of them left over and a part of one.
        let wide = CacheSizes { key_width: 72, value_width: 152, ..SIZES };
        for rows_per_page in [1, 50, 64] {
            agrees_at::<bf16>(wide, 1, 200, rows_per_page);
            agrees_at::<f16>(wide, 2, 200, rows_per_page);
            agrees_at::<f32>(wide, 1, 200, rows_per_page);
        }
    }

    #[test]
    fn a_cache_of_one_batch_entry_serves_a_batch_of_queries() {
        let sizes = CacheSizes { batch: 1, heads: 1, key_width: 2, value_width: 2 };
        let mut cache = Cache::paged(sizes, 2).unwrap();
        let rows = [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0];
        let rows = View::new(&rows, &[3, 2]).unwrap();
        cache.append(rows, rows).unwrap();
        let q = [0.5, 0.1, 0.2, 0.3];
        let q = View::new(&q, &[2, 1, 1, 2]).unwrap();
        let plain = Problem::new(q, rows, rows, Options::default()).unwrap();
        let cached = cache.problem(q, Options::default()).unwrap();
        let request = Request::default();
        assert_eq!(forward(&plain, &request).values, forward(&cached, &request).values);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_is_appended() {
        let mut cache = Cache::<f32>::contiguous(SIZES).unwrap().bounded(3);
        let data = vec![0.0; 4 * 2 * 20];
        let view = |heads: usize, rows: usize, width: usize| {
            View::new(&data[..2 * heads * rows * width], &[2, heads, rows, width]).unwrap()
        };
        let message = |result: Result<(), AttentionError>| result.unwrap_err().to_string();
        assert_eq!(
            message(cache.append(view(2, 2, 13), view(2, 2, 20))),
            "attention: `k` has shape (2, 2, 2, 13); expected (2, 2, 2, 12) (B, G, rows, D)"
        );
        assert_eq!(
            message(cache.append(view(2, 2, 12), view(1, 2, 20))),
            "attention: `v` has shape (2, 1, 2, 20); expected (2, 2, 2, 20) (B, G, rows, E)"
        );
        cache.append(view(2, 2, 12), view(2, 2, 20)).unwrap();
        assert_eq!(
            message(cache.append(view(2, 2, 12), view(2, 2, 20))),
            "attention: the cache holds 2 rows and 2 more are appended; its limit is 3"
        );
        assert_eq!(cache.len(), 2);
        cache.truncate(5);
        assert_eq!(cache.len(), 2);
        cache.truncate(1);
        assert_eq!(cache.len(), 1);
        cache.append(view(2, 2, 12), view(2, 2, 20)).unwrap();
        assert_eq!(cache.len(), 3);
        cache.clear();
        assert!(cache.is_empty());
        let q = View::new(&data[..24], &[2, 1, 1, 12]).unwrap();
        assert!(matches!(cache.problem(q, Options::default()), Err(AttentionError::Heads { .. })));
        assert_eq!(
            Cache::<f32>::paged(SIZES, 0).unwrap_err().to_string(),
            "attention: a page of a cache has 0 rows; expected at least 1"
        );
    }
}
