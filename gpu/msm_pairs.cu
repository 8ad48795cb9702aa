// Rounds of batched affine additions that halve the entries of every bucket.
//
// Level 0 is the sorted entries of a window. Level r + 1 has, bucket by bucket, the sums of the
// points 0 and 1, 2 and 3, .. of level r, and where their number is odd the last one as it is, a
// single. So bucket b has ceil(len_b / 2^r) points in level r; the kernels of msm_levels.cu find where
// they start and which are singles. With O_j singles before point j of level r + 1, that point comes
// from the points 2j - O_j and, if it is no single, 2j - O_j + 1 of level r. Work is even whatever the
// buckets are.
//
// A sum is (x, y) = (l^2 - x1 - x2, l (x1 - x) - y1) with the slope l = (y2 - y1) / (x2 - x1), or 3
// x1^2 / (2 y1) for equal points. Each lane multiplies the denominators of its pairs, one warp of the
// block inverts the products of all, and each lane walks back (Montgomery's trick): 5 products and a
// square a pair, 1,602 wide multiply-adds against 2,652 of a mixed XYZZ addition. Pairs with no
// denominator take part with 1.

static const uint32_t PAIR_LANES = 32;
static const uint32_t PAIR_WARPS = PAIR_THREADS / PAIR_LANES;
static const uint32_t POINT_QUADS = sizeof(Affine<Fp>) / 16;

// One round over a batch of windows; `y` in a shape is the window within it.
struct PairRound {
    // [y][out_stride], the next level; a lane's running products lie here until the sums replace
    // them.
    Affine<Fp>* out;
    // Level 0: the n bases, signs apart; above: [y][in_stride].
    const Affine<Fp>* in;
    // [y][n], level 0 only.
    const uint32_t* sorted;
    // [y][bucket_stride + 1] of the next level.
    const uint32_t* starts;
    // [y][out_stride / 32] of the next level.
    const LevelWord* words;
    uint32_t n, in_stride, out_stride, bucket_stride;
    // Of the device.
    uint32_t multiprocessors;
    MsmWindows windows;
    uint32_t first_window;
};

// The points of a warp's 32 pairs in 16-byte quads, even and odd ones apart. Rows are rotated by
// their number, so that the lanes that copy a point, and those that read one quad of each, use
// different banks.
struct PairTile {
    uint4 quads[2][POINT_QUADS][PAIR_LANES];

    DEVICE_METHOD uint4& at(uint32_t point, uint32_t part) {
        return quads[point % 2][part][(point / 2 + part) % PAIR_LANES];
    }

    // Coordinate 0 (x) or 1 (y) of a point.
    DEVICE_METHOD Fp coordinate(uint32_t point, uint32_t which) {
        Fp a;
        UNROLL
        for (uint32_t i = 0; i < 3; i++) {
            uint4 quad = at(point, 3 * which + i);
            a.v[4 * i] = quad.x;
            a.v[4 * i + 1] = quad.y;
            a.v[4 * i + 2] = quad.z;
            a.v[4 * i + 3] = quad.w;
        }
        return a;
    }

    DEVICE_METHOD void set_coordinate(uint32_t point, uint32_t which, const Fp& a) {
        UNROLL
        for (uint32_t i = 0; i < 3; i++) {
            at(point, 3 * which + i) =
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

// A lane's pair: its points' places in the tile, their entries in level 0, and whether there is no
// second one.
struct Pair {
    uint32_t place;
    uint32_t first, second;
    bool single;

    // Bit 0 and bit 1: the first and the second point are to be negated.
    DEVICE_METHOD uint32_t signs() const { return first >> 31 | second >> 31 << 1; }
};

// The pairs of one window.
template <bool gathered> struct PairSource {
    const Affine<Fp>* in;
    const uint32_t* sorted;
    const LevelWord* words;
    uint32_t pairs;

    // The lane's pair of the tile that starts at pair `tile_first`, a multiple of 32; beyond the last
    // pair a single.
    DEVICE_METHOD Pair pair(uint32_t tile_first) const {
        uint32_t lane = fresh_lane();
        Pair result = {2 * lane, 0, 0, true};
        if (tile_first + lane >= pairs) return result;
        LevelWord word = load_level_word(words + tile_first / PAIR_LANES);
        uint32_t before = __popc(word.singles & ((1u << lane) - 1));
        result.single = (word.singles >> lane & 1) != 0;
        if (gathered) {
            uint32_t position = 2 * (tile_first + lane) - word.before - before;
            result.first = __ldg(sorted + position);
            if (!result.single) result.second = __ldg(sorted + position + 1);
        } else {
            result.place -= before;
        }
        return result;
    }

    // The first point above level 0 of the tile.
    DEVICE_METHOD const Affine<Fp>* tile_points(uint32_t tile_first) const {
        uint32_t before = load_level_word(words + tile_first / PAIR_LANES).before;
        return in + (2 * static_cast<size_t>(tile_first) - before);
    }

    // Point 0 or 1 of the pair, in global memory.
    DEVICE_METHOD const Affine<Fp>* point(uint32_t tile_first, const Pair& pair,
                                          uint32_t side) const {
        if (gathered) return in + ((side ? pair.second : pair.first) & ~DIGIT_SIGN);
        return tile_points(tile_first) + pair.place + side;
    }

    // Starts to copy the first `parts` quads of every point of a tile: neighbouring lanes take
    // neighbouring quads.
    template <uint32_t parts>
    DEVICE_METHOD void request(PairTile& tile, uint32_t tile_first, const Pair& pair) const {
        uint32_t lane = fresh_lane();
        QuadCursor<parts> cursor = {lane / parts, lane % parts};
        if (gathered) {
            UNROLL
            for (uint32_t s = 0; s < parts; s++) {
                UNROLL
                for (uint32_t side = 0; side < 2; side++) {
                    uint32_t entry = __shfl_sync(0xffffffffu, side ? pair.second : pair.first,
                                                 cursor.point);
                    const Affine<Fp>* base = in + (entry & ~DIGIT_SIGN);
                    copy_quad_async(&tile.at(2 * cursor.point + side, cursor.part),
                                    reinterpret_cast<const uint4*>(base) + cursor.part);
                }
                cursor.next();
            }
        } else {
            const uint4* base = reinterpret_cast<const uint4*>(tile_points(tile_first));
            UNROLL
            for (uint32_t s = 0; s < 2 * parts; s++) {
                copy_quad_async(&tile.at(cursor.point, cursor.part),
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

// The kind of the lane's pair, whose abscissas are in the tile; its denominator or 1.
template <bool gathered>
DEVICE uint32_t classify_pair(Fp& denominator, PairTile& tile, const PairSource<gathered>& source,
                              uint32_t tile_first, const Pair& pair) {
    uint32_t kind = PAIR_FIRST;
    if (!pair.single) {
        Fp x1 = tile.coordinate(pair.place, 0), x2 = tile.coordinate(pair.place + 1, 0);
        denominator = sub(x2, x1);
        kind = PAIR_SUM;
        if (is_zero(denominator) || is_raw_zero(x1) || is_raw_zero(x2)) {
            kind = special_pair(denominator, source.point(tile_first, pair, 0),
                                source.point(tile_first, pair, 1), pair.signs());
        }
    }
    if (kind > PAIR_DOUBLE) denominator = one(&denominator);
    return kind;
}

// 3 x^2, out of line: reached only by equal points.
DEVICE_CALL Fp tangent_numerator(const Fp& x) {
    Fp square = sqr(x);
    return add(add(square, square), square);
}

// The sum of the pair in `tile`, given 1 / denominator.
DEVICE Affine<Fp> pair_sum(PairTile& tile, uint32_t kind, const Pair& pair, const Fp& inverted) {
    uint32_t place = pair.place, signs = pair.signs();
    Fp y1 = tile.coordinate(place, 1), y2 = tile.coordinate(place + 1, 1);
    if (signs & 1) y1 = neg(y1);
    if (signs & 2) y2 = neg(y2);
    Fp numerator = sub(y2, y1);
    Fp x1 = tile.coordinate(place, 0);
    if (kind == PAIR_DOUBLE) numerator = tangent_numerator(x1);
    Fp slope = mul(numerator, inverted);
    Affine<Fp> sum;
    sum.x = sub(sub(sqr(slope), x1), tile.coordinate(place + 1, 0));
    sum.y = sub(mul(slope, sub(x1, sum.x)), y1);
    return sum;
}

// The point that stands for a pair without a sum.
DEVICE Affine<Fp> pair_copy(PairTile& tile, uint32_t kind, const Pair& pair) {
    uint32_t side = kind == PAIR_SECOND;
    Affine<Fp> p = {tile.coordinate(pair.place + side, 0), tile.coordinate(pair.place + side, 1)};
    negate_if(p, (pair.signs() >> side & 1) != 0);
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

// 1 / product for every lane of the block: the lanes of one warp, another in each block, invert the
// products over the warps. The tiles serve as memory; none is in use.
DEVICE Fp invert_products(const Fp& product, PairTile (*tiles)[2]) {
    uint32_t lane = threadIdx.x % PAIR_LANES, warp = threadIdx.x / PAIR_LANES;
    tiles[warp][0].set_coordinate(2 * lane, 0, product);
    __syncthreads();
    if (warp == (blockIdx.x + blockIdx.y) % PAIR_WARPS) {
        Fp all = tiles[0][0].coordinate(2 * lane, 0);
        NO_UNROLL
        for (uint32_t w = 1; w < PAIR_WARPS; w++) {
            tiles[w][0].set_coordinate(2 * lane + 1, 0, all);
            all = mul(all, tiles[w][0].coordinate(2 * lane, 0));
        }
        Fp inverted = inverse(all);
        NO_UNROLL
        for (uint32_t w = PAIR_WARPS - 1; w > 0; w--) {
            Fp own = tiles[w][0].coordinate(2 * lane, 0);
            Fp before = tiles[w][0].coordinate(2 * lane + 1, 0);
            tiles[w][0].set_coordinate(2 * lane, 0, mul(inverted, before));
            inverted = mul(inverted, own);
        }
        tiles[0][0].set_coordinate(2 * lane, 0, inverted);
    }
    __syncthreads();
    Fp inverted = tiles[warp][0].coordinate(2 * lane, 0);
    __syncwarp();
    return inverted;
}

// Waits for the tile requested last, or with `more` for the one before it.
DEVICE void await_tile(bool more) {
    if (more) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncwarp();
}

// The product of the denominators of the lane's pairs in tiles 0 .. count - 1; what it was before
// each pair goes to `out`.
template <bool gathered>
DEVICE Fp multiply_denominators(uint4* out, PairTile (&tiles)[2],
                                const PairSource<gathered>& source, uint32_t first,
                                uint32_t count) {
    uint32_t lane = threadIdx.x % PAIR_LANES;
    Fp product = one((const Fp*)0);
    if (count == 0) return product;
    Pair current = source.pair(first), next = source.pair(first + PAIR_LANES);
    source.template request<3>(tiles[0], first, current);
    NO_UNROLL
    for (uint32_t t = 0; t < count; t++) {
        uint32_t tile_first = first + t * PAIR_LANES;
        Pair after = source.pair(tile_first + 2 * PAIR_LANES);
        bool more = t + 1 < count;
        if (more) source.template request<3>(tiles[(t + 1) & 1], tile_first + PAIR_LANES, next);
        await_tile(more);
        Fp denominator;
        classify_pair(denominator, tiles[t & 1], source, tile_first, current);
        store_fp(out + t * (POINT_QUADS * PAIR_LANES) + lane, product);
        product = mul(product, denominator);
        current = next;
        next = after;
        __syncwarp();
    }
    return product;
}

// Writes the 32 points at the even places of the tile to `target`, as far as there are pairs.
DEVICE void store_tile(uint4* target, PairTile& tile, uint32_t pairs_left) {
    uint32_t lane = fresh_lane();
    QuadCursor<POINT_QUADS> cursor = {lane / POINT_QUADS, lane % POINT_QUADS};
    UNROLL
    for (uint32_t s = 0; s < POINT_QUADS; s++) {
        if (cursor.point < pairs_left) {
            target[s * PAIR_LANES + lane] = tile.at(2 * cursor.point, cursor.part);
        }
        cursor.next();
    }
}

// The sums of the pairs, from the last tile to the first; `inverted` is 1 over the product of the
// lane's denominators.
template <bool gathered>
DEVICE void store_sums(uint4* out, PairTile (&tiles)[2], const PairSource<gathered>& source,
                       uint32_t first, uint32_t count, Fp inverted) {
    uint32_t lane = threadIdx.x % PAIR_LANES;
    uint32_t last = first + (count - 1) * PAIR_LANES;
    Pair current = source.pair(last);
    Pair next = source.pair(count > 1 ? last - PAIR_LANES : first);
    source.template request<POINT_QUADS>(tiles[(count - 1) & 1], last, current);
    NO_UNROLL
    for (uint32_t t = count; t-- > 0;) {
        uint32_t tile_first = first + t * PAIR_LANES;
        uint4* target = out + t * (POINT_QUADS * PAIR_LANES);
        Pair after = source.pair(t > 1 ? tile_first - 2 * PAIR_LANES : first);
        Fp before = load_fp(target + lane);
        bool more = t > 0;
        if (more) {
            source.template request<POINT_QUADS>(tiles[(t - 1) & 1], tile_first - PAIR_LANES,
                                                 next);
        }
        await_tile(more);
        PairTile& tile = tiles[t & 1];
        Fp denominator;
        uint32_t kind = classify_pair(denominator, tile, source, tile_first, current);
        Fp own = mul(inverted, before);
        inverted = mul(inverted, denominator);
        Affine<Fp> sum = pair_sum(tile, kind, current, own);
        if (kind > PAIR_DOUBLE) sum = pair_copy(tile, kind, current);
        // A place is read by its own lane only in level 0.
        __syncwarp();
        tile.set_coordinate(2 * lane, 0, sum.x);
        tile.set_coordinate(2 * lane, 1, sum.y);
        __syncwarp();
        store_tile(target, tile, source.pairs - tile_first);
        current = next;
        next = after;
        __syncwarp();
    }
}

// Tiles of each warp: the level's share of a slot, a place for a block on a multiprocessor, in as few
// equal turns as PAIR_TILES_MAX allows, because an inversion takes the time of a dozen tiles.
DEVICE uint32_t tiles_of_warp(uint32_t pairs, uint32_t multiprocessors) {
    uint64_t slots = static_cast<uint64_t>(multiprocessors) * PAIR_MIN_BLOCKS;
    uint64_t rows = (pairs + PAIR_THREADS - 1ull) / PAIR_THREADS * gridDim.y;
    uint64_t turns = (rows + slots * PAIR_TILES_MAX - 1) / (slots * PAIR_TILES_MAX);
    uint64_t tiles = turns ? (rows + slots * turns - 1) / (slots * turns) : 0;
    return tiles < PAIR_TILES_MIN ? PAIR_TILES_MIN : static_cast<uint32_t>(tiles);
}

template <bool gathered>
DEVICE void add_pairs(const PairRound& task, PairTile (*block_tiles)[2]) {
    size_t window = blockIdx.y;
    uint32_t bucket_count =
        1u << (window_width(task.windows, task.first_window + blockIdx.y) - 1);
    uint32_t pairs = task.starts[window * (task.bucket_stride + 1) + bucket_count];
    uint32_t warp = threadIdx.x / PAIR_LANES;
    uint32_t tiles = tiles_of_warp(pairs, task.multiprocessors);
    uint64_t block_first = blockIdx.x * static_cast<uint64_t>(tiles) * PAIR_THREADS;
    if (block_first >= pairs) return;
    // A warp beyond the last pair takes part in the block's inversion only.
    uint64_t warp_first = block_first + warp * tiles * PAIR_LANES;
    uint32_t first = warp_first < pairs ? static_cast<uint32_t>(warp_first) : pairs;
    uint32_t wanted = (pairs - first + PAIR_LANES - 1) / PAIR_LANES;
    uint32_t count = wanted < tiles ? wanted : tiles;
    PairSource<gathered> source = {task.in + (gathered ? 0 : window * task.in_stride),
                                   task.sorted + (gathered ? window * task.n : 0),
                                   task.words + window * (task.out_stride / PAIR_LANES), pairs};
    uint4* out = reinterpret_cast<uint4*>(task.out + window * task.out_stride + first);
    Fp product = multiply_denominators(out, block_tiles[warp], source, first, count);
    Fp inverted = invert_products(product, block_tiles);
    if (count > 0) store_sums(out, block_tiles[warp], source, first, count, inverted);
}

// **Computes** level 1 from the sorted entries.
// **Shapes** as in `PairRound`.
// **Launch** grid (blocks for every share that `tiles_of_warp` may give, windows), block PAIR_THREADS.
// **Requires** out_stride a multiple of 64, and 64 above the points of the level; indices below n.
// **Cost** 5 products and a square a pair, about 530 bytes; an inversion for 1,024 a lane at most.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_MIN_BLOCKS)
    msm_pair_entries_g1(const __grid_constant__ PairRound task) {
    __shared__ PairTile tiles[PAIR_WARPS][2];
    add_pairs<true>(task, tiles);
}

// **Computes** a level from the one before, above level 0.
// **Shapes**, **Launch**, **Requires**, **Cost** as `msm_pair_entries_g1`, and in_stride as
// out_stride.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS, PAIR_MIN_BLOCKS)
    msm_pair_points_g1(const __grid_constant__ PairRound task) {
    __shared__ PairTile tiles[PAIR_WARPS][2];
    add_pairs<false>(task, tiles);
}
