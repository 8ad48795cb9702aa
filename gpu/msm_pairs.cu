// Rounds of batched affine additions that halve the entries of every bucket.
//
// Level 0 is the sorted entries of a window, level r + 1 has the sums of neighbours of level r: pair
// j is the points 2j and 2j + 1. A pair belongs to the bucket of its second point. Where its first
// belongs to an earlier bucket, the pair's sum is the second point alone, and the first, the last of
// its bucket in level r and at an even position, is a rest. So a bucket with the entries [s, e) has
// the points [s >> r, e >> r) of level r, and one rest in round r if bit r of e is set and that range
// is not empty. No offsets are kept but those of level 0, and work is even whatever the buckets are.
//
// A sum is (x, y) = (l^2 - x1 - x2, l (x1 - x) - y1) with the slope l = (y2 - y1) / (x2 - x1), or 3
// x1^2 / (2 y1) for equal points. Each lane multiplies the denominators of its pairs, inverts the
// product once, and walks back (Montgomery's trick): 5 products and a square a pair, 1,602 wide
// multiply-adds against 2,652 of a mixed XYZZ addition. Pairs with no denominator take part with 1.

static const uint32_t PAIR_LANES = 32;
static const uint32_t PAIR_WARPS = PAIR_THREADS / PAIR_LANES;
static const uint32_t PAIR_ROUNDS_MAX = 6;
static const uint32_t POINT_QUADS = sizeof(Affine<Fp>) / 16;

// One round over a batch of windows; `y` in a shape is the window within it.
struct PairRound {
    // [y][out_stride]; a lane's running products lie here until the sums replace them.
    Affine<Fp>* out;
    // Level 0: the n bases, signs apart; above: [y][in_stride].
    const Affine<Fp>* in;
    // [y][n], level 0 only.
    const uint32_t* sorted;
    // [y][bucket_stride + 1].
    const uint32_t* starts;
    // [y][flag_words]: bit i is set where a bucket starts at position i of level 0.
    const uint32_t* flags;
    uint32_t n, in_stride, out_stride, bucket_stride, flag_words;
    // The level of `in`, and the pairs of a lane.
    uint32_t round, tiles;
    MsmWindows windows;
    uint32_t first_window;
};

// The points of a warp's 32 pairs in 16-byte quads. Rows are rotated by their number, so that the
// lanes that copy a point, and those that read one quad of each, use different banks.
struct PairTile {
    uint4 quads[2][POINT_QUADS][PAIR_LANES];

    DEVICE_METHOD uint4& at(uint32_t side, uint32_t part, uint32_t pair) {
        return quads[side][part][(pair + part) % PAIR_LANES];
    }

    // Coordinate 0 (x) or 1 (y) of the lane's point.
    DEVICE_METHOD Fp coordinate(uint32_t side, uint32_t which, uint32_t lane) {
        Fp a;
        UNROLL
        for (uint32_t i = 0; i < 3; i++) {
            uint4 quad = at(side, 3 * which + i, lane);
            a.v[4 * i] = quad.x;
            a.v[4 * i + 1] = quad.y;
            a.v[4 * i + 2] = quad.z;
            a.v[4 * i + 3] = quad.w;
        }
        return a;
    }

    DEVICE_METHOD void set_coordinate(uint32_t side, uint32_t which, uint32_t lane, const Fp& a) {
        UNROLL
        for (uint32_t i = 0; i < 3; i++) {
            at(side, 3 * which + i, lane) =
                make_uint4(a.v[4 * i], a.v[4 * i + 1], a.v[4 * i + 2], a.v[4 * i + 3]);
        }
    }
};

DEVICE void copy_quad_async(uint4* target, const uint4* source) {
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(target));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source)
                 : "memory");
}

// The lane's number, which the compiler must take for a new value: what is derived from it is then
// computed where it is used, not kept in registers across the loops.
DEVICE uint32_t fresh_lane() {
    uint32_t lane = threadIdx.x % PAIR_LANES;
    asm volatile("" : "+r"(lane));
    return lane;
}

// Steps through quads lane, lane + 32, .. of points of which `parts` quads are wanted.
template <uint32_t parts> struct QuadCursor {
    uint32_t point, part;

    DEVICE_METHOD void next() {
        static_assert(PAIR_LANES % parts == 2, "a step of 32 quads");
        point += PAIR_LANES / parts;
        part += 2;
        if (part >= parts) {
            part -= parts;
            point++;
        }
    }
};

// The pairs of one warp: `tiles` times 32, consecutive.
template <bool gathered> struct PairSource {
    const Affine<Fp>* in;
    const uint32_t* sorted;
    uint32_t pairs;

    // The two entries of pair j, or zeros beyond the last; nothing above level 0.
    DEVICE_METHOD uint2 entries(uint32_t j) const {
        uint2 result = make_uint2(0, 0);
        if (gathered && j < pairs) {
            result = make_uint2(__ldg(sorted + 2 * j), __ldg(sorted + 2 * j + 1));
        }
        return result;
    }

    // Where the points of pair j are.
    DEVICE_METHOD const Affine<Fp>* point(uint32_t j, uint32_t side, uint2 entry) const {
        if (!gathered) return in + 2 * static_cast<size_t>(j) + side;
        return in + ((side ? entry.y : entry.x) & ~DIGIT_SIGN);
    }

    // Starts to copy the first `parts` quads of every point of the tile that starts at pair
    // `first`: neighbouring lanes take neighbouring quads.
    template <uint32_t parts>
    DEVICE_METHOD void request(PairTile& tile, uint32_t first, uint2 entry) const {
        uint32_t lane = fresh_lane();
        QuadCursor<parts> cursor = {lane / parts, lane % parts};
        if (gathered) {
            UNROLL
            for (uint32_t s = 0; s < parts; s++) {
                UNROLL
                for (uint32_t side = 0; side < 2; side++) {
                    uint32_t whose = __shfl_sync(0xffffffffu, side ? entry.y : entry.x,
                                                 cursor.point);
                    const Affine<Fp>* base = in + (whose & ~DIGIT_SIGN);
                    copy_quad_async(&tile.at(side, cursor.part, cursor.point),
                                    reinterpret_cast<const uint4*>(base) + cursor.part);
                }
                cursor.next();
            }
        } else {
            const uint4* base = reinterpret_cast<const uint4*>(in + 2 * static_cast<size_t>(first));
            UNROLL
            for (uint32_t s = 0; s < 2 * parts; s++) {
                copy_quad_async(&tile.at(cursor.point % 2, cursor.part, cursor.point / 2),
                                base + cursor.point * POINT_QUADS + cursor.part);
                cursor.next();
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
};

// What a pair's sum is.
enum PairKind : uint32_t { PAIR_SUM, PAIR_DOUBLE, PAIR_FIRST, PAIR_SECOND, PAIR_NONE };

// The kind and denominator of a pair whose abscissas are equal or zero: told from the points.
// `signs` has bit 0 and bit 1 set where the first and the second point are to be negated.
DEVICE_CALL uint32_t special_pair(Fp& denominator, const Affine<Fp>* first,
                                  const Affine<Fp>* second, uint32_t signs) {
    Affine<Fp> p = *first, q = *second;
    if (is_identity(q)) return PAIR_FIRST;
    if (is_identity(p)) return PAIR_SECOND;
    if (!is_zero(sub(p.x, q.x))) {
        denominator = sub(q.x, p.x);
        return PAIR_SUM;
    }
    negate_if(p, (signs & 1) != 0);
    negate_if(q, (signs & 2) != 0);
    if (!is_zero(sub(p.y, q.y))) return PAIR_NONE;
    denominator = add(p.y, p.y);
    return PAIR_DOUBLE;
}

// The pair's kind; its denominator or 1. x1, x2: abscissas. `alone`: the first is another bucket's.
DEVICE uint32_t classify_pair(Fp& denominator, const Fp& x1, const Fp& x2, bool alone,
                              const Affine<Fp>* first, const Affine<Fp>* second, uint32_t signs) {
    Fp difference = sub(x2, x1);
    uint32_t kind = alone ? PAIR_SECOND : PAIR_SUM;
    if (!alone && (is_zero(difference) || is_raw_zero(x1) || is_raw_zero(x2))) {
        kind = special_pair(difference, first, second, signs);
    }
    denominator = kind <= PAIR_DOUBLE ? difference : one(&difference);
    return kind;
}

// Whether a bucket starts between the two points of pair j: at position 2j + 1 of level `round`,
// which is one of 2^round positions of level 0, all in one word.
DEVICE bool starts_inside(const uint32_t* flags, uint32_t j, uint32_t round) {
    uint32_t bit = (2 * j + 1) << round;
    uint32_t mask = 0xffffffffu >> (32 - (1u << round));
    return (__ldg(flags + (bit >> 5)) >> (bit & 31) & mask) != 0;
}

// 3 x^2, out of line: reached only by equal points.
DEVICE_CALL Fp tangent_numerator(const Fp& x) {
    Fp square = sqr(x);
    return add(add(square, square), square);
}

// The sum of the pair in `tile`, given 1 / denominator.
DEVICE Affine<Fp> pair_sum(PairTile& tile, uint32_t lane, uint32_t kind, uint32_t signs,
                           const Fp& inverted) {
    Fp y1 = tile.coordinate(0, 1, lane), y2 = tile.coordinate(1, 1, lane);
    if (signs & 1) y1 = neg(y1);
    if (signs & 2) y2 = neg(y2);
    Fp numerator = sub(y2, y1);
    Fp x1 = tile.coordinate(0, 0, lane);
    if (kind == PAIR_DOUBLE) numerator = tangent_numerator(x1);
    Fp slope = mul(numerator, inverted);
    Affine<Fp> sum;
    sum.x = sub(sub(sqr(slope), x1), tile.coordinate(1, 0, lane));
    sum.y = sub(mul(slope, sub(x1, sum.x)), y1);
    return sum;
}

// The point that stands for a pair without a sum.
DEVICE Affine<Fp> pair_copy(PairTile& tile, uint32_t lane, uint32_t kind, uint32_t signs) {
    uint32_t side = kind == PAIR_SECOND;
    Affine<Fp> p = {tile.coordinate(side, 0, lane), tile.coordinate(side, 1, lane)};
    negate_if(p, (signs >> side & 1) != 0);
    if (kind == PAIR_NONE) p = {zero(&p.x), zero(&p.x)};
    return p;
}

DEVICE void store_fp(uint4* target, const Fp& a) {
    UNROLL
    for (uint32_t i = 0; i < 3; i++) {
        target[i * PAIR_LANES] =
            make_uint4(a.v[4 * i], a.v[4 * i + 1], a.v[4 * i + 2], a.v[4 * i + 3]);
    }
}

DEVICE Fp load_fp(const uint4* source) {
    Fp a;
    UNROLL
    for (uint32_t i = 0; i < 3; i++) {
        uint4 quad = source[i * PAIR_LANES];
        a.v[4 * i] = quad.x;
        a.v[4 * i + 1] = quad.y;
        a.v[4 * i + 2] = quad.z;
        a.v[4 * i + 3] = quad.w;
    }
    return a;
}

template <bool gathered>
DEVICE void add_pairs(const PairRound& task, PairTile (&tiles)[2]) {
    size_t window = blockIdx.y;
    uint32_t lane = threadIdx.x % PAIR_LANES;
    uint32_t warp = blockIdx.x * PAIR_WARPS + threadIdx.x / PAIR_LANES;
    const uint32_t* starts = task.starts + window * (task.bucket_stride + 1);
    const uint32_t* flags = task.flags + window * task.flag_words;
    uint32_t total = starts[1u << (window_width(task.windows, task.first_window + blockIdx.y) - 1)];
    uint32_t pairs = total >> (task.round + 1);
    uint64_t wide_first = static_cast<uint64_t>(warp) * task.tiles * PAIR_LANES;
    if (wide_first >= pairs) return;
    uint32_t first = static_cast<uint32_t>(wide_first);
    uint32_t wanted = (pairs - first + PAIR_LANES - 1) / PAIR_LANES;
    uint32_t count = wanted < task.tiles ? wanted : task.tiles;
    PairSource<gathered> source = {task.in + (gathered ? 0 : window * task.in_stride),
                                   task.sorted + (gathered ? window * task.n : 0), pairs};
    uint4* out = reinterpret_cast<uint4*>(task.out + window * task.out_stride + first);

    // Forth: the product of the denominators before each pair.
    Fp product = one((const Fp*)0);
    uint2 current = source.entries(first + lane);
    uint2 next = source.entries(first + PAIR_LANES + lane);
    source.template request<3>(tiles[0], first, current);
    NO_UNROLL
    for (uint32_t t = 0; t < count; t++) {
        uint32_t tile_first = first + t * PAIR_LANES, j = tile_first + lane;
        uint2 after = source.entries(j + 2 * PAIR_LANES);
        if (t + 1 < count) {
            source.template request<3>(tiles[(t + 1) & 1], tile_first + PAIR_LANES, next);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncwarp();
        PairTile& tile = tiles[t & 1];
        bool alone = j >= pairs || starts_inside(flags, j, task.round);
        uint32_t signs = current.x >> 31 | current.y >> 31 << 1;
        Fp denominator;
        classify_pair(denominator, tile.coordinate(0, 0, lane), tile.coordinate(1, 0, lane), alone,
                      source.point(j, 0, current), source.point(j, 1, current), signs);
        store_fp(out + t * (POINT_QUADS * PAIR_LANES) + lane, product);
        product = mul(product, denominator);
        current = next;
        next = after;
        __syncwarp();
    }

    // Back: `inverted` is 1 over the product of the denominators up to the current pair.
    Fp inverted = inverse(product);
    uint32_t last = first + (count - 1) * PAIR_LANES;
    current = source.entries(last + lane);
    next = source.entries(count > 1 ? last - PAIR_LANES + lane : pairs);
    source.template request<POINT_QUADS>(tiles[(count - 1) & 1], last, current);
    NO_UNROLL
    for (uint32_t t = count; t-- > 0;) {
        uint32_t tile_first = first + t * PAIR_LANES, j = tile_first + lane;
        uint4* target = out + t * (POINT_QUADS * PAIR_LANES);
        uint2 after = source.entries(t > 1 ? j - 2 * PAIR_LANES : pairs);
        Fp before = load_fp(target + lane);
        bool alone = j >= pairs || starts_inside(flags, j, task.round);
        if (t > 0) {
            source.template request<POINT_QUADS>(tiles[(t - 1) & 1], tile_first - PAIR_LANES, next);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncwarp();
        PairTile& tile = tiles[t & 1];
        uint32_t signs = current.x >> 31 | current.y >> 31 << 1;
        Fp denominator;
        uint32_t kind = classify_pair(denominator, tile.coordinate(0, 0, lane),
                                      tile.coordinate(1, 0, lane), alone,
                                      source.point(j, 0, current), source.point(j, 1, current),
                                      signs);
        Fp own = mul(inverted, before);
        inverted = mul(inverted, denominator);
        Affine<Fp> sum = pair_sum(tile, lane, kind, signs, own);
        if (kind > PAIR_DOUBLE) sum = pair_copy(tile, lane, kind, signs);
        tile.set_coordinate(0, 0, lane, sum.x);
        tile.set_coordinate(0, 1, lane, sum.y);
        __syncwarp();
        uint32_t own_lane = fresh_lane();
        QuadCursor<POINT_QUADS> cursor = {own_lane / POINT_QUADS, own_lane % POINT_QUADS};
        UNROLL
        for (uint32_t s = 0; s < POINT_QUADS; s++) {
            if (tile_first + cursor.point < pairs) {
                target[s * PAIR_LANES + lane] = tile.at(0, cursor.part, cursor.point);
            }
            cursor.next();
        }
        current = next;
        next = after;
        __syncwarp();
    }
}

// **Computes** level 1 from the sorted entries.
// **Shapes** as in `PairRound`.
// **Launch** grid (ceil(n / 2 / (32 * tiles)) / PAIR_WARPS rounded up, windows), block PAIR_THREADS.
// **Requires** out_stride a multiple of 64 and at least n / 2; sorted indices below n.
// **Cost** 5 products, a square and 1 / tiles of an inversion a pair; about 530 bytes.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_MIN_BLOCKS)
    msm_pair_entries_g1(const __grid_constant__ PairRound task) {
    __shared__ PairTile tiles[PAIR_WARPS][2];
    add_pairs<true>(task, tiles[threadIdx.x / PAIR_LANES]);
}

// **Computes** level round + 1 from level `round`, 1 <= round < PAIR_ROUNDS_MAX.
// **Shapes**, **Launch**, **Cost** as `msm_pair_entries_g1`; in_stride a multiple of 64.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_MIN_BLOCKS)
    msm_pair_points_g1(const __grid_constant__ PairRound task) {
    __shared__ PairTile tiles[PAIR_WARPS][2];
    add_pairs<false>(task, tiles[threadIdx.x / PAIR_LANES]);
}

// **Computes** the bits of positions at which buckets start, beside zeros.
// **Shapes** flags: [y][flag_words], zero on entry; starts: [y][bucket_stride + 1].
// **Launch** grid (bucket_stride / 256 rounded up, windows), block 256.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    msm_flag_starts(uint32_t* flags, const uint32_t* starts, uint32_t bucket_stride,
                    uint32_t flag_words, MsmWindows windows, uint32_t first_window) {
    uint32_t bucket = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    uint32_t count = 1u << (window_width(windows, first_window + blockIdx.y) - 1);
    if (bucket >= count) return;
    starts += blockIdx.y * (static_cast<size_t>(bucket_stride) + 1);
    uint32_t start = starts[bucket];
    if (start >= starts[count]) return;
    atomicOr(&flags[blockIdx.y * static_cast<size_t>(flag_words) + (start >> 5)],
             1u << (start & 31));
}

// The rests of a batch of windows.
struct Rests {
    // [y][bucket_stride].
    Xyzz<Fp>* buckets;
    const Affine<Fp>* bases;
    // [y][n].
    const uint32_t* sorted;
    // [y][bucket_stride + 1].
    const uint32_t* starts;
    // Level r + 1 is at levels + level_offsets[r], [y][strides[r]].
    const Affine<Fp>* levels;
    uint64_t level_offsets[PAIR_ROUNDS_MAX];
    uint32_t level_strides[PAIR_ROUNDS_MAX];
    uint32_t n, bucket_stride, rounds;
    MsmWindows windows;
    uint32_t first_window;
};

// **Computes** buckets[b] += the rests of b in rounds 0 .. rounds - 1.
// **Shapes** as in `Rests`.
// **Launch** grid (bucket_stride / ACCUMULATE_THREADS rounded up, windows).
// **Cost** rounds / 2 mixed additions a bucket, the longest of a warp's 32 for each.
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS, ACCUMULATE_MIN_BLOCKS)
    msm_add_rests_g1(const __grid_constant__ Rests task) {
    size_t window = blockIdx.y;
    uint32_t bucket = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    if (bucket >> (window_width(task.windows, task.first_window + blockIdx.y) - 1)) return;
    const uint32_t* starts = task.starts + window * (task.bucket_stride + 1) + bucket;
    uint32_t start = starts[0], end = starts[1];
    // Levels in which the bucket is not empty are the lowest ones.
    uint32_t left = end & ((1u << task.rounds) - 1);
    for (uint32_t r = 0; r < task.rounds; r++) {
        if (start >> r == end >> r) left &= (1u << r) - 1;
    }
    if (!left) return;
    Xyzz<Fp>* target = task.buckets + window * task.bucket_stride + bucket;
    Xyzz<Fp> acc = *target;
    NO_UNROLL
    while (left) {
        uint32_t r = __ffs(left) - 1;
        left &= left - 1;
        uint32_t entry = r ? 0 : task.sorted[window * task.n + end - 1];
        const Affine<Fp>* point = task.bases + (entry & ~DIGIT_SIGN);
        if (r) {
            point = task.levels + task.level_offsets[r - 1] + window * task.level_strides[r - 1] +
                    ((end >> r) - 1);
        }
        Affine<Fp> rest = *point;
        negate_if(rest, (entry & DIGIT_SIGN) != 0);
        add_affine(acc, rest);
    }
    *target = acc;
}
