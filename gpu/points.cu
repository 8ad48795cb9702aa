// Points: from the parameter file's form, and multiples of one point.

// ---- points from the parameter file ----

// A coordinate of 48 big-endian bytes, read as 12 words. The top three bits of the first are flags
// where `flags` is asked for.
DEVICE Fp read_coordinate(const uint32_t* words, uint32_t* flags) {
    Fp a;
    UNROLL
    for (int i = 0; i < 12; i++) a.v[11 - i] = swap_bytes(words[i]);
    if (flags) {
        *flags = a.v[11] >> 29;
        a.v[11] &= 0x1fffffff;
    }
    return a;
}

// The coordinate in Montgomery form; `valid` is cleared where it is not below p.
DEVICE Fp checked_montgomery(const Fp& a, bool& valid) {
    sub_cc(a.v[0], Fp::modulus<1>(0));
    UNROLL
    for (int i = 1; i < 12; i++) subc_cc(a.v[i], Fp::modulus<1>(i));
    valid = valid && subc(0, 0) != 0;
    Fp r2 = {{FP_R2}};
    return canonical(mul(r2, a));
}

DEVICE void read_point(Affine<Fp>& point, const uint32_t* words, uint32_t& flags, bool& valid) {
    point.x = checked_montgomery(read_coordinate(words, &flags), valid);
    point.y = checked_montgomery(read_coordinate(words + 12, nullptr), valid);
}

DEVICE void read_point(Affine<Fp2>& point, const uint32_t* words, uint32_t& flags, bool& valid) {
    point.x.c1 = checked_montgomery(read_coordinate(words, &flags), valid);
    point.x.c0 = checked_montgomery(read_coordinate(words + 12, nullptr), valid);
    point.y.c1 = checked_montgomery(read_coordinate(words + 24, nullptr), valid);
    point.y.c0 = checked_montgomery(read_coordinate(words + 36, nullptr), valid);
}

// b of the curve: 4, or 4 + 4u on the twist.
DEVICE Fp four() {
    Fp o = one((const Fp*)0);
    Fp two = add(o, o);
    return add(two, two);
}
DEVICE Fp curve_b(const Fp*) { return four(); }
DEVICE Fp2 curve_b(const Fp2*) { return {four(), four()}; }

template <class F> DEVICE bool on_curve(const Affine<F>& p) {
    F right = add(mul(sqr(p.x), p.x), curve_b(&p.x));
    return is_zero(sub(sqr(p.y), right));
}

static const uint32_t POINT_COMPRESSED = 4, POINT_INFINITY = 2, POINT_SORT = 1;

template <class F> DEVICE void decode_point(Affine<F>* out, const uint32_t* in, uint32_t* first_bad,
                                            uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    const uint32_t words = sizeof(Affine<F>) / 4;
    Affine<F> p;
    uint32_t flags;
    bool valid = true;
    read_point(p, in + static_cast<size_t>(i) * words, flags, valid);
    bool infinity = (flags & POINT_INFINITY) != 0;
    bool zeros = is_raw_zero(p.x) && is_raw_zero(p.y);
    valid = valid && !(flags & (POINT_COMPRESSED | POINT_SORT));
    valid = valid && (infinity ? zeros : on_curve(p));
    if (!valid) atomicMin(first_bad, i);
    out[i] = p;
}

// **Computes** points from the uncompressed big-endian form of the parameter file.
// **Shapes** in: n x 96 (G1) or 192 (G2, c1 before c0) bytes; out: n; first_bad: one word.
// **Launch** grid of n / 256 rounded up, block 256.
// **Requires** first_bad starts at 2^32 - 1. **Ensures** first_bad is the least index of a point
// with a coordinate not below p, wrong flags, or off the curve; subgroup membership is not checked.
// **Cost** 5 products for G1.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    points_decode_g1(Affine<Fp>* out, const uint32_t* in, uint32_t* first_bad, uint32_t n) {
    decode_point(out, in, first_bad, n);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    points_decode_g2(Affine<Fp2>* out, const uint32_t* in, uint32_t* first_bad, uint32_t n) {
    decode_point(out, in, first_bad, n);
}

// **Computes** out[i] = in[indices[i] - first], 16 bytes a thread.
// **Shapes** out: n elements of `quads` x 16 bytes. **Launch** grid of n * quads / 256, block 256.
// **Requires** indices from `first` on, inside `in`.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    points_gather(uint4* out, const uint4* in, const uint32_t* indices, uint32_t n,
                  uint32_t quads, uint32_t first) {
    size_t i = blockIdx.x * static_cast<size_t>(ELEMENT_THREADS) + threadIdx.x;
    if (i >= static_cast<size_t>(n) * quads) return;
    size_t point = i / quads;
    out[i] = __ldg(in + static_cast<size_t>(indices[point] - first) * quads + (i - point * quads));
}

// ---- multiples ----

// k * base for k < 2^64.
DEVICE Xyzz<Fp> multiple(const Affine<Fp>& base, uint64_t k) {
    Xyzz<Fp> acc = xyzz_identity<Fp>();
    Xyzz<Fp> summand = to_xyzz(base);
    NO_UNROLL
    for (int bit = 63 - __clzll(k | 1); bit >= 0; bit--) {
        acc = double_xyzz_call(acc);
        if (k >> bit & 1) add_xyzz_call(acc, summand);
    }
    return acc;
}

static const uint32_t MULTIPLES_PER_THREAD = 16;

// **Computes** out[i] = (first + i) * base, distinct points for measurements.
// **Shapes** out: n. **Launch** grid of n / (128 * 16) rounded up, block 128.
// **Requires** base is not the identity; first + n below the group's order.
// **Cost** about 60 products a point: one inversion serves 16.
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS)
    points_multiples_g1(Affine<Fp>* out, const Affine<Fp>* base_point, uint64_t first, uint32_t n) {
    uint32_t thread = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    uint32_t start = thread * MULTIPLES_PER_THREAD;
    if (start >= n) return;
    Affine<Fp> base = *base_point;
    Xyzz<Fp> summand = to_xyzz(base);
    Xyzz<Fp> sums[MULTIPLES_PER_THREAD];
    Fp prefixes[MULTIPLES_PER_THREAD];
    Xyzz<Fp> acc = multiple(base, first + start);
    Fp product = one(&base.x);
    NO_UNROLL
    for (uint32_t k = 0; k < MULTIPLES_PER_THREAD; k++) {
        sums[k] = acc;
        prefixes[k] = product;
        if (!is_identity(acc)) product = mul(product, acc.zzz);
        add_xyzz_call(acc, summand);
    }
    Fp inverted = inverse(product);
    NO_UNROLL
    for (uint32_t k = MULTIPLES_PER_THREAD; k-- > 0;) {
        Affine<Fp> p = {zero(&product), zero(&product)};
        if (!is_identity(sums[k])) {
            Fp zzz_inverse = mul(inverted, prefixes[k]);
            inverted = mul(inverted, sums[k].zzz);
            p = to_affine(sums[k], zzz_inverse);
        }
        if (start + k < n) out[start + k] = p;
    }
}
