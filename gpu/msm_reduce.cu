// The weighted sum of a window's buckets, sum_b (b + 1) * bucket[b], in rounds.
//
// A round keeps the form F = sum_i i * A_i + sum_i V_i. With i = T j + k, groups of T give
// A'_j = T * sum_k A_(Tj+k) and V'_j = sum_k (k * A_(Tj+k) + V_(Tj+k)), and F = sum_j j * A'_j +
// sum_j V'_j again; after the last round F = V'_0. The first round has no V and counts k from one.

template <class F>
DEVICE void reduce_group(Xyzz<F>* out_a, Xyzz<F>* out_v, const Xyzz<F>* in_a, const Xyzz<F>* in_v,
                         uint32_t count, uint32_t group_log) {
    uint32_t group = 1u << group_log;
    uint32_t thread = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    uint32_t first = thread << group_log;
    if (first >= count) return;
    uint32_t end = count - first < group ? count : first + group;
    Xyzz<F> run = xyzz_identity<F>(), sum = xyzz_identity<F>();
    NO_UNROLL
    for (uint32_t i = end; i-- > first;) {
        add_xyzz_call(run, in_a[i]);
        if (i > first || !in_v) add_xyzz_call(sum, run);
    }
    NO_UNROLL
    for (uint32_t i = first; in_v && i < end; i++) add_xyzz_call(sum, in_v[i]);
    NO_UNROLL
    for (uint32_t k = 0; k < group_log; k++) run = double_xyzz_call(run);
    out_a[thread] = run;
    out_v[thread] = sum;
}

// **Computes** one round for all windows: the first `wide_count` have `count` sums, the others half
// as many (a power of two, or one).
// **Shapes** in_a, in_v: [window][count], in_v null in the first round; out_a, out_v:
// [window][ceil(count / 2^group_log)].
// **Launch** grid (threads / ACCUMULATE_THREADS, windows).
// **Cost** two full additions a bucket in the first round (3,900 wide multiply-adds each).
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS, 2)
    msm_reduce_g1(Xyzz<Fp>* out_a, Xyzz<Fp>* out_v, const Xyzz<Fp>* in_a, const Xyzz<Fp>* in_v,
                  uint32_t count, uint32_t wide_count, uint32_t group_log) {
    size_t window = blockIdx.y, out_stride = (count + (1u << group_log) - 1) >> group_log;
    uint32_t own_count = blockIdx.y < wide_count ? count : (count + 1) / 2;
    reduce_group(out_a + window * out_stride, out_v + window * out_stride,
                 in_a + window * count, in_v ? in_v + window * count : in_v, own_count, group_log);
}

extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    msm_reduce_g2(Xyzz<Fp2>* out_a, Xyzz<Fp2>* out_v, const Xyzz<Fp2>* in_a, const Xyzz<Fp2>* in_v,
                  uint32_t count, uint32_t wide_count, uint32_t group_log) {
    size_t window = blockIdx.y, out_stride = (count + (1u << group_log) - 1) >> group_log;
    uint32_t own_count = blockIdx.y < wide_count ? count : (count + 1) / 2;
    reduce_group(out_a + window * out_stride, out_v + window * out_stride,
                 in_a + window * count, in_v ? in_v + window * count : in_v, own_count, group_log);
}

// **Computes** canonical coordinates in place, for the host. **Launch** one block a 128 points.
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    msm_canonical_g1(Xyzz<Fp>* points, uint32_t n) {
    uint32_t i = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    if (i < n) points[i] = canonical_xyzz(points[i]);
}

extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    msm_canonical_g2(Xyzz<Fp2>* points, uint32_t n) {
    uint32_t i = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    if (i < n) points[i] = canonical_xyzz(points[i]);
}
