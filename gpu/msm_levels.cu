// Where the buckets of the pair rounds' levels start, and which points are singles (msm_pairs.cu).

// The points 32w .. 32w + 31 of a level: a bit for each single, and the singles before them.
struct LevelWord {
    uint32_t singles, before;
};

DEVICE LevelWord load_level_word(const LevelWord* word) {
    uint2 pair = __ldg(reinterpret_cast<const uint2*>(word));
    return {pair.x, pair.y};
}

static const int PAIR_ROUNDS_MAX = 6;
static const uint32_t LEVEL_PER_THREAD = 8;

// Words of a window in each level from 1 on.
struct LevelWords {
    uint32_t count[PAIR_ROUNDS_MAX];
};

// The last b with starts[b] <= position, for starts[0] <= position < starts[count].
DEVICE uint32_t find_bucket(const uint32_t* starts, uint32_t count, uint32_t position) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (starts[middle] <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Points of a bucket of `length` entries in `level`.
DEVICE uint32_t level_length(uint32_t length, uint32_t level) {
    return static_cast<uint32_t>((static_cast<uint64_t>(length) + (1u << level) - 1) >> level);
}

// **Computes** the first point of every bucket in the levels 1 .. gridDim.x, and the bits of singles.
// **Shapes** starts: [y][bucket_stride + 1] of level 0; level_starts: [level - 1][y][bucket_stride +
// 1]; words: [level - 1][y], level_words[level - 1] each, zero on entry.
// **Launch** grid (levels, windows), block SORT_THREADS: a block scans the buckets of one level.
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    msm_start_levels(uint32_t* level_starts, LevelWord* words, const uint32_t* starts,
                     uint32_t bucket_stride, const __grid_constant__ LevelWords level_words,
                     MsmWindows windows, uint32_t first_window) {
    __shared__ uint32_t warp_sums[32];
    uint32_t level = blockIdx.x + 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t row = bucket_stride + static_cast<size_t>(1);
    starts += blockIdx.y * row;
    level_starts += (blockIdx.x * static_cast<size_t>(gridDim.y) + blockIdx.y) * row;
    for (uint32_t below = 0; below < blockIdx.x; below++) {
        words += level_words.count[below] * static_cast<size_t>(gridDim.y);
    }
    words += level_words.count[blockIdx.x] * static_cast<size_t>(blockIdx.y);
    uint32_t count = 1u << (window_width(windows, first_window + blockIdx.y) - 1);
    uint32_t base = 0;
    for (uint32_t tile = 0; tile < count; tile += SORT_THREADS * LEVEL_PER_THREAD) {
        // A warp has LEVEL_PER_THREAD runs of 32 buckets.
        uint32_t first = tile + warp * (32 * LEVEL_PER_THREAD) + lane;
        uint32_t length[LEVEL_PER_THREAD], before[LEVEL_PER_THREAD], mine = 0;
        UNROLL
        for (uint32_t k = 0; k < LEVEL_PER_THREAD; k++) {
            uint32_t bucket = first + 32 * k;
            length[k] = bucket < count ? __ldg(starts + bucket + 1) - __ldg(starts + bucket) : 0;
        }
        UNROLL
        for (uint32_t k = 0; k < LEVEL_PER_THREAD; k++) {
            uint32_t own = level_length(length[k], level), inclusive = own;
            UNROLL
            for (uint32_t d = 1; d < 32; d *= 2) {
                uint32_t other = __shfl_up_sync(0xffffffffu, inclusive, d);
                if (lane >= d) inclusive += other;
            }
            before[k] = mine + inclusive - own;
            mine += __shfl_sync(0xffffffffu, inclusive, 31);
        }
        if (lane == 0) warp_sums[warp] = mine;
        __syncthreads();
        uint32_t total = 0, warp_base = base;
        for (uint32_t w = 0; w < SORT_THREADS / 32; w++) {
            if (w == warp) warp_base = base + total;
            total += warp_sums[w];
        }
        UNROLL
        for (uint32_t k = 0; k < LEVEL_PER_THREAD; k++) {
            uint32_t bucket = first + 32 * k, position = warp_base + before[k];
            if (bucket < count) level_starts[bucket] = position;
            if (level_length(length[k], level - 1) & 1) {
                uint32_t last = position + level_length(length[k], level) - 1;
                atomicOr(&words[last / 32].singles, 1u << (last % 32));
            }
        }
        base += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) level_starts[count] = base;
}

// **Computes** the singles before each word of a level: a bucket that starts at s in the level and at
// t in the one below has 2s - t singles before it.
// **Shapes** words: [y][word_count]; starts, starts_below: [y][bucket_stride + 1] of the level and of
// the one below.
// **Launch** grid (word_count / 256 rounded up, windows), block 256.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    msm_count_singles(LevelWord* words, const uint32_t* starts, const uint32_t* starts_below,
                      uint32_t bucket_stride, uint32_t word_count, MsmWindows windows,
                      uint32_t first_window) {
    uint32_t word = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    size_t row = blockIdx.y * (bucket_stride + static_cast<size_t>(1));
    uint32_t count = 1u << (window_width(windows, first_window + blockIdx.y) - 1);
    if (word >= word_count || 32 * word >= starts[row + count]) return;
    uint32_t bucket = find_bucket(starts + row, count, 32 * word);
    words[blockIdx.y * static_cast<size_t>(word_count) + word].before =
        2 * starts[row + bucket] - starts_below[row + bucket];
}
