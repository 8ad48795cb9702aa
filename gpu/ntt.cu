// Number-theoretic transforms over Fr.
//
// A transform of size n = 2^log_n is a sequence of passes; each pass does the K butterfly stages
// between sub-transforms of size 2^(t - K) and 2^t for all elements, K <= 9, in shared memory. An
// index splits as hi * 2^t + row * 2^(t - K) + lo: a pass transforms along `row`. Decimation in
// frequency (natural order in, bit-reversed out) runs t = log_n downwards; decimation in time
// (bit-reversed in, natural out) runs upwards. No pass reorders data, and the in-place radix-8
// levels inside a pass are bit-reversed too, so the grouping is invisible in the result.
//
// Between passes stands the twiddle (s * w_m^lo)^(rev_K(row)), m = 2^t, s = 1, or s = psi_m with
// psi_m^m = -1 for the transform over the odd coset psi * <w>; the odd coset thus costs one more
// product per element, in the contiguous pass (t = K), and inverse scaling costs none.
//
// Ranges: elements are in [0, 2r) between passes, twiddles in [0, r).

// ---- shared tile ----

// Slot of tile position p; the padding keeps the accesses of eight neighbouring lanes in different
// banks for strides 1, 8 and 64 and across the four columns of a 512-row tile.
DEVICE uint32_t tile_slot(uint32_t p) { return p + (p >> 3) + ((p >> 9) << 1); }

static const uint32_t TILE_SIZE = 1u << NTT_TILE_LOG;
static const uint32_t TILE_SLOTS = TILE_SIZE + (TILE_SIZE >> 3) + ((TILE_SIZE >> 9) << 1);
static const uint32_t TILE_BYTES = TILE_SLOTS * 32;

extern __shared__ uint4 tile_memory[];

DEVICE Fr tile_read(uint32_t p) {
    uint4 low = tile_memory[tile_slot(p)];
    uint4 high = tile_memory[TILE_SLOTS + tile_slot(p)];
    return Fr{{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

DEVICE void tile_write(uint32_t p, const Fr& a) {
    tile_memory[tile_slot(p)] = make_uint4(a.v[0], a.v[1], a.v[2], a.v[3]);
    tile_memory[TILE_SLOTS + tile_slot(p)] = make_uint4(a.v[4], a.v[5], a.v[6], a.v[7]);
}

DEVICE Fr load_fr(const Fr* p) {
    const uint4* q = reinterpret_cast<const uint4*>(p);
    uint4 low = __ldg(q), high = __ldg(q + 1);
    return Fr{{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

DEVICE void store_fr(Fr* p, const Fr& a) {
    uint4* q = reinterpret_cast<uint4*>(p);
    q[0] = make_uint4(a.v[0], a.v[1], a.v[2], a.v[3]);
    q[1] = make_uint4(a.v[4], a.v[5], a.v[6], a.v[7]);
}

// What one pass does. `in` and `out` may be the same array; `other` and `factor` are not `out`
// unless they name the same elements that a thread writes.
struct NttPass {
    Fr* out;
    const Fr* in;
    // Elementwise factor on load, or null.
    const Fr* factor;
    // Operand of `store`, or null.
    const Fr* other;
    // Powers of the root of order 2^9, and the twiddles of this pass by [row][lo], or null. In the
    // composed form `twiddles` are scale * psi^i, i < 2^low_log, and `high` psi^(i << low_log).
    const Fr* levels;
    const Fr* twiddles;
    const Fr* high;
    uint32_t log_n, log_m, radix_log;
    // 0: x; 1: x * other; 2: (other - x) / 2, the quotient's last step.
    uint32_t store;
    // Whether the stored value is in [0, r).
    uint32_t canonical;
    // Of the composed form: whether the domain is the odd coset, whether psi is to be inverted.
    uint32_t low_log, odd, inverted;
};

struct TilePlace {
    uint32_t row, lo, index;
    bool inside;
};

// Where position p of this block's tile lies. Columns are numbered hi * 2^(t - K) + lo.
DEVICE TilePlace tile_place(const NttPass& pass, uint32_t p) {
    uint32_t lo_log = pass.log_m - pass.radix_log;
    uint32_t column = (blockIdx.x << (NTT_TILE_LOG - pass.radix_log)) + (p >> pass.radix_log);
    uint32_t row = p & ((1u << pass.radix_log) - 1);
    uint32_t lo = column & ((1u << lo_log) - 1);
    uint32_t hi = column >> lo_log;
    uint32_t index = (hi << pass.log_m) + (row << lo_log) + lo;
    return {row, lo, index, column < (1u << (pass.log_n - pass.radix_log))};
}

// Tile position number `q` in the order in which memory is walked: neighbours in q are neighbours
// in memory.
DEVICE uint32_t memory_order(const NttPass& pass, uint32_t q) {
    if (pass.log_m == pass.radix_log) return q;
    uint32_t columns_log = NTT_TILE_LOG - pass.radix_log;
    return ((q & ((1u << columns_log) - 1)) << pass.radix_log) | (q >> columns_log);
}

DEVICE void tile_load(const NttPass& pass) {
    if (pass.factor) {
        NO_UNROLL
        for (uint32_t q = threadIdx.x; q < TILE_SIZE; q += NTT_THREADS) {
            uint32_t p = memory_order(pass, q);
            TilePlace place = tile_place(pass, p);
            if (!place.inside) continue;
            tile_write(p, mul(load_fr(pass.factor + place.index), load_fr(pass.in + place.index)));
        }
    } else {
        const uint4* in = reinterpret_cast<const uint4*>(pass.in);
        uint32_t half = threadIdx.x & 1;
        UNROLL
        for (uint32_t i = 0; i < 2 * TILE_SIZE / NTT_THREADS; i++) {
            uint32_t p = memory_order(pass, (i * NTT_THREADS + threadIdx.x) >> 1);
            TilePlace place = tile_place(pass, p);
            if (!place.inside) continue;
            uint32_t target = static_cast<uint32_t>(
                __cvta_generic_to_shared(&tile_memory[half * TILE_SLOTS + tile_slot(p)]));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target),
                         "l"(in + 2 * static_cast<size_t>(place.index) + half));
        }
        asm volatile("cp.async.wait_all;");
    }
    __syncthreads();
}

DEVICE void tile_store(const NttPass& pass) {
    if (pass.store || pass.canonical) {
        NO_UNROLL
        for (uint32_t q = threadIdx.x; q < TILE_SIZE; q += NTT_THREADS) {
            uint32_t p = memory_order(pass, q);
            TilePlace place = tile_place(pass, p);
            if (!place.inside) continue;
            Fr x = tile_read(p);
            if (pass.store == 1) x = mul(load_fr(pass.other + place.index), x);
            if (pass.store == 2) x = halve(sub(load_fr(pass.other + place.index), x));
            store_fr(pass.out + place.index, pass.canonical ? canonical(x) : x);
        }
    } else {
        uint4* out = reinterpret_cast<uint4*>(pass.out);
        uint32_t half = threadIdx.x & 1;
        UNROLL
        for (uint32_t i = 0; i < 2 * TILE_SIZE / NTT_THREADS; i++) {
            uint32_t p = memory_order(pass, (i * NTT_THREADS + threadIdx.x) >> 1);
            TilePlace place = tile_place(pass, p);
            if (!place.inside) continue;
            out[2 * static_cast<size_t>(place.index) + half] =
                tile_memory[half * TILE_SLOTS + tile_slot(p)];
        }
    }
}

// ---- butterflies in registers ----

DEVICE void butterfly(Fr& a, Fr& b) {
    Fr sum = add(a, b);
    b = sub(a, b);
    a = sum;
}

// The last `bits` stages of a decimation-in-frequency transform of x[0..8]: one of size 8, two of
// size 4 or four of size 2, each in place with bit-reversed results. `eighths` are the powers of
// the root of order 512, of which the 64th is that of order 8.
DEVICE void small_dft_dif(Fr* x, uint32_t bits, const Fr* eighths) {
    if (bits >= 3) {
        UNROLL
        for (int j = 0; j < 4; j++) {
            butterfly(x[j], x[j + 4]);
            if (j > 0) x[j + 4] = mul_canonical(load_fr(eighths + 64 * j), x[j + 4]);
        }
    }
    if (bits >= 2) {
        Fr quarter = load_fr(eighths + 128);
        UNROLL
        for (int j = 0; j < 8; j += 4) {
            butterfly(x[j], x[j + 2]);
            butterfly(x[j + 1], x[j + 3]);
            x[j + 3] = mul_canonical(quarter, x[j + 3]);
        }
    }
    UNROLL
    for (int j = 0; j < 8; j += 2) butterfly(x[j], x[j + 1]);
}

// The mirror image: the first `bits` stages of a decimation-in-time transform.
DEVICE void small_dft_dit(Fr* x, uint32_t bits, const Fr* eighths) {
    UNROLL
    for (int j = 0; j < 8; j += 2) butterfly(x[j], x[j + 1]);
    if (bits >= 2) {
        Fr quarter = load_fr(eighths + 128);
        UNROLL
        for (int j = 0; j < 8; j += 4) {
            x[j + 3] = mul_canonical(quarter, x[j + 3]);
            butterfly(x[j], x[j + 2]);
            butterfly(x[j + 1], x[j + 3]);
        }
    }
    if (bits >= 3) {
        UNROLL
        for (int j = 0; j < 4; j++) {
            if (j > 0) x[j + 4] = mul_canonical(load_fr(eighths + 64 * j), x[j + 4]);
            butterfly(x[j], x[j + 4]);
        }
    }
}

// The lane's place: neighbouring lanes take neighbouring columns where columns are adjacent in
// memory.
DEVICE uint32_t tile_group(const NttPass& pass) {
    if (pass.log_m == pass.radix_log || pass.radix_log < 3) return threadIdx.x;
    uint32_t columns_log = NTT_TILE_LOG - pass.radix_log;
    uint32_t column = threadIdx.x & ((1u << columns_log) - 1);
    return (column << (pass.radix_log - 3)) | (threadIdx.x >> columns_log);
}

// The exponent of psi in the twiddle of a place, modulo its order 2n; see `ntt_fill_twiddles`.
DEVICE uint32_t twiddle_exponent(const NttPass& pass, const TilePlace& place) {
    uint32_t reversed = __brev(place.row) >> (32 - pass.radix_log);
    uint32_t exponent = ((2 * place.lo + pass.odd) * reversed) << (pass.log_n - pass.log_m);
    return (pass.inverted ? 0u - exponent : exponent) & ((2u << pass.log_n) - 1);
}

// Multiplies x[e], which lies at tile position p0 + (e << stride_log), by its twiddle: inside a
// pass w_(8S)^(rev(e) * s), at the pass's border that of the pass. e is known at compile time.
template <bool composed>
DEVICE void twiddle_one(Fr& x, const NttPass& pass, uint32_t e, uint32_t p, bool border,
                        uint32_t step) {
    const Fr* twiddle;
    if (border) {
        TilePlace place = tile_place(pass, p);
        if (!place.inside) return;
        if (composed) {
            uint32_t exponent = twiddle_exponent(pass, place);
            x = mul_canonical(load_fr(pass.high + (exponent >> pass.low_log)), x);
            twiddle = pass.twiddles + (exponent & ((1u << pass.low_log) - 1));
        } else {
            twiddle = pass.twiddles + (place.row << (pass.log_m - pass.radix_log)) + place.lo;
        }
    } else {
        uint32_t reversed = ((e & 1) << 2) | (e & 2) | (e >> 2);
        if (reversed == 0) return;
        twiddle = pass.levels + reversed * step;
    }
    x = mul_canonical(load_fr(twiddle), x);
}

// One pass in shared memory: levels of three stages, one of which may have fewer (the one of
// stride 1). With strides S = 2^(level - bits) a thread holds the eight positions base + e * S.
template <bool dit, bool composed> DEVICE void tile_transform(const NttPass& pass) {
    uint32_t remainder = pass.radix_log % 3 == 0 ? 3 : pass.radix_log % 3;
    uint32_t level = dit ? remainder : pass.radix_log;
    uint32_t group = tile_group(pass);
    NO_UNROLL
    while (level > 0 && level <= pass.radix_log) {
        uint32_t bits = level <= 3 ? level : 3;
        uint32_t stride_log = level - bits;
        uint32_t s = group & ((1u << stride_log) - 1);
        uint32_t base = ((group >> stride_log) << (stride_log + 3)) | s;
        bool border = level == bits;
        uint32_t step = s << (NTT_LEVEL_LOG - level);
        bool twiddled = border ? pass.twiddles != nullptr : true;
        Fr x[8];
        UNROLL
        for (uint32_t e = 0; e < 8; e++) x[e] = tile_read(base + (e << stride_log));
        if (!dit) small_dft_dif(x, bits, pass.levels);
        if (twiddled) {
            UNROLL
            for (uint32_t e = 0; e < 8; e++) {
                uint32_t p = base + (e << stride_log);
                twiddle_one<composed>(x[e], pass, e, p, border, step);
            }
        }
        if (dit) small_dft_dit(x, bits, pass.levels);
        UNROLL
        for (uint32_t e = 0; e < 8; e++) tile_write(base + (e << stride_log), x[e]);
        __syncthreads();
        level = dit ? level + 3 : stride_log;
    }
}

// **Computes** K stages of a decimation-in-frequency transform, then the pass's twiddles.
// **Shapes** in, out, factor, other: 2^log_n elements; levels: 2^9; twiddles: 2^log_m.
// **Launch** grid max(1, n / 2048), block 256, TILE_BYTES of dynamic shared memory.
// **Requires** 1 <= radix_log <= 9, radix_log <= log_m <= log_n <= 30, twiddles in [0, r).
// **Ensures** out in [0, 2r), or [0, r) where `canonical`.
// **Cost** 12.75 products an element for K = 9 with twiddles; 64 bytes moved, 96 with twiddles.
// **Source** gpu.md 4.4; Cooley and Tukey with the six-step method's tiles.
extern "C" __global__ void __launch_bounds__(NTT_THREADS, NTT_MIN_BLOCKS)
    ntt_pass_dif(const __grid_constant__ NttPass pass) {
    tile_load(pass);
    tile_transform<false, false>(pass);
    tile_store(pass);
}

// **Computes** the pass's twiddles, then K stages of a decimation-in-time transform; otherwise as
// `ntt_pass_dif`.
extern "C" __global__ void __launch_bounds__(NTT_THREADS, NTT_MIN_BLOCKS)
    ntt_pass_dit(const __grid_constant__ NttPass pass) {
    tile_load(pass);
    tile_transform<true, false>(pass);
    tile_store(pass);
}

// **Computes** the same with twiddles composed of two tables of about sqrt(2n) elements, where
// memory is short. **Cost** one more product an element in a pass with twiddles.
extern "C" __global__ void __launch_bounds__(NTT_THREADS, NTT_MIN_BLOCKS)
    ntt_pass_dif_composed(const __grid_constant__ NttPass pass) {
    tile_load(pass);
    tile_transform<false, true>(pass);
    tile_store(pass);
}

extern "C" __global__ void __launch_bounds__(NTT_THREADS, NTT_MIN_BLOCKS)
    ntt_pass_dit_composed(const __grid_constant__ NttPass pass) {
    tile_load(pass);
    tile_transform<true, true>(pass);
    tile_store(pass);
}

// **Computes** twiddles[row][lo] = scale * psi^(((2 lo + odd) * rev_K(row)) << shift), psi of
// order 2n, shift = log_n - log_m.
// **Shapes** out: 2^log_m; powers[d][v] = psi^(v * 2^(8 d)), 4 x 256, canonical.
// **Launch** grid of 2^log_m / 256 rounded up, block 256.
// **Requires** scale in [0, r). **Ensures** out in [0, r).
// **Cost** four products an element, once per plan.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    ntt_fill_twiddles(Fr* out, const Fr* powers, const Fr* scale, uint32_t log_m,
                      uint32_t radix_log, uint32_t odd, uint32_t shift) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >> log_m) return;
    uint32_t lo_log = log_m - radix_log;
    uint32_t row = i >> lo_log, lo = i & ((1u << lo_log) - 1);
    uint32_t reversed = radix_log == 0 ? 0 : __brev(row) >> (32 - radix_log);
    uint32_t exponent = ((2 * lo + odd) * reversed) << shift;
    Fr x = load_fr(scale);
    UNROLL
    for (uint32_t d = 0; d < 4; d++) {
        uint32_t digit = (exponent >> (8 * d)) & 255;
        x = mul_canonical(load_fr(powers + 256 * d + digit), x);
    }
    store_fr(out + i, canonical(x));
}

// **Computes** out[rev(i)] = in[i] over log_n bits, for callers that need natural order.
// **Launch** grid of n / 256 rounded up, block 256. **Requires** in and out disjoint.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    ntt_bit_reverse(Fr* out, const Fr* in, uint32_t log_n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >> log_n) return;
    uint32_t reversed = log_n == 0 ? 0 : __brev(i) >> (32 - log_n);
    store_fr(out + reversed, load_fr(in + i));
}
