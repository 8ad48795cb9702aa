// Sorts the entries (index, sign) of each window by bucket |d| - 1, dropping zero digits.
//
// Two counting passes: into 2^11 bins by the bucket's high bits, then inside each bin by its low
// bits; windows with no low bits need the first pass only. The order inside a bucket depends on the
// scheduling; the group element does not. grid.y is the window within the batch, `first_window` the
// batch's first. All blocks have SORT_THREADS threads.

static const uint32_t SORT_BINS = 1u << SORT_BINS_LOG;
static const uint32_t SORT_TILE = 1u << SORT_TILE_LOG;
static const uint32_t SORT_PER_THREAD = SORT_TILE / SORT_THREADS;
static const uint32_t BINS_PER_THREAD = SORT_BINS / SORT_THREADS;

extern __shared__ uint32_t sort_memory[];

// Bits of a bucket number below its bin.
DEVICE uint32_t sort_low_log(const MsmWindows& windows, uint32_t w) {
    uint32_t bucket_log = window_width(windows, w) - 1;
    return bucket_log > SORT_BINS_LOG ? bucket_log - SORT_BINS_LOG : 0;
}

// The digits of this block's tile that belong to the thread; 0 beyond the last.
DEVICE void load_tile(uint32_t* digit, const uint32_t* digits, uint32_t n) {
    UNROLL
    for (uint32_t k = 0; k < SORT_PER_THREAD; k++) {
        uint32_t i = blockIdx.x * SORT_TILE + k * SORT_THREADS + threadIdx.x;
        digit[k] = i < n ? __ldg(digits + i) : 0;
    }
}

// Exclusive scan of `value` over a block; `sums` has 32 words.
DEVICE uint32_t block_scan(uint32_t value, uint32_t* sums) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t inclusive = value;
    UNROLL
    for (uint32_t d = 1; d < 32; d *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, inclusive, d);
        if (lane >= d) inclusive += other;
    }
    if (lane == 31) sums[warp] = inclusive;
    __syncthreads();
    if (warp == 0) {
        uint32_t sum = lane < SORT_THREADS / 32 ? sums[lane] : 0;
        uint32_t scanned = sum;
        UNROLL
        for (uint32_t d = 1; d < 32; d *= 2) {
            uint32_t other = __shfl_up_sync(0xffffffffu, scanned, d);
            if (lane >= d) scanned += other;
        }
        sums[lane] = scanned - sum;
    }
    __syncthreads();
    uint32_t result = sums[warp] + inclusive - value;
    __syncthreads();
    return result;
}

// counts[bin]++ for the lanes of a warp that are `active`, returning the count before; lanes that
// share one bin, as in sums over bits they mostly do, are counted at once.
DEVICE uint32_t count_in_bin(uint32_t* counts, uint32_t bin, bool active) {
    uint32_t mask = __ballot_sync(0xffffffffu, active);
    if (!active) return 0;
    int same;
    __match_all_sync(mask, bin, &same);
    if (!same) return atomicAdd(&counts[bin], 1);
    uint32_t lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
    uint32_t before = lane == leader ? atomicAdd(&counts[bin], __popc(mask)) : 0;
    before = __shfl_sync(mask, before, leader);
    return before + __popc(mask & ((1u << lane) - 1));
}

DEVICE void count_tile(uint32_t* counts, const uint32_t* digit, uint32_t low_log) {
    UNROLL
    for (uint32_t k = 0; k < SORT_PER_THREAD; k++) {
        uint32_t magnitude = digit[k] & ~DIGIT_SIGN;
        count_in_bin(counts, (magnitude - 1) >> low_log, magnitude != 0);
    }
}

// **Computes** the number of entries of each bin.
// **Shapes** digits: [window][n]; bin_counts: [batch window][2^11], zero on entry.
// **Launch** grid (n / SORT_TILE rounded up, windows).
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    msm_count_bins(uint32_t* bin_counts, const uint32_t* digits, uint32_t n, MsmWindows windows,
                   uint32_t first_window) {
    __shared__ uint32_t counts[SORT_BINS];
    uint32_t window = first_window + blockIdx.y;
    for (uint32_t bin = threadIdx.x; bin < SORT_BINS; bin += SORT_THREADS) counts[bin] = 0;
    uint32_t digit[SORT_PER_THREAD];
    load_tile(digit, digits + static_cast<size_t>(window) * n, n);
    __syncthreads();
    count_tile(counts, digit, sort_low_log(windows, window));
    __syncthreads();
    for (uint32_t bin = threadIdx.x; bin < SORT_BINS; bin += SORT_THREADS) {
        if (counts[bin]) atomicAdd(&bin_counts[blockIdx.y * SORT_BINS + bin], counts[bin]);
    }
}

// **Computes** the bins' first positions, twice: one copy is the partition's cursors.
// **Shapes** bin_counts, cursors: [batch window][2^11]; bin_starts: [batch window][2^11 + 1].
// **Launch** grid (1, windows).
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    msm_scan_bins(uint32_t* bin_starts, uint32_t* cursors, const uint32_t* bin_counts) {
    __shared__ uint32_t sums[32];
    uint32_t first = threadIdx.x * BINS_PER_THREAD, mine = 0;
    bin_counts += blockIdx.y * SORT_BINS;
    UNROLL
    for (uint32_t k = 0; k < BINS_PER_THREAD; k++) mine += bin_counts[first + k];
    uint32_t start = block_scan(mine, sums);
    UNROLL
    for (uint32_t k = 0; k < BINS_PER_THREAD; k++) {
        bin_starts[blockIdx.y * (SORT_BINS + 1) + first + k] = start;
        cursors[blockIdx.y * SORT_BINS + first + k] = start;
        start += bin_counts[first + k];
    }
    if (threadIdx.x == SORT_THREADS - 1) {
        bin_starts[blockIdx.y * (SORT_BINS + 1) + SORT_BINS] = start;
    }
}

// **Computes** the entries by bin: index with the digit's sign, and the low bits of the bucket.
// **Shapes** entries, lows: [batch window][n].
// **Launch** grid (n / SORT_TILE rounded up, windows), SORT_TILE x 4 bytes of dynamic shared memory.
// **Requires** n <= 2^31. A tile is put in order in shared memory first, so that the writes to a
// bin are consecutive.
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    msm_partition(uint32_t* entries, uint16_t* lows, uint32_t* cursors, const uint32_t* digits,
                  uint32_t n, MsmWindows windows, uint32_t first_window) {
    __shared__ uint32_t counts[SORT_BINS], starts[SORT_BINS + 1], targets[SORT_BINS], sums[32];
    uint32_t window = first_window + blockIdx.y;
    uint32_t low_log = sort_low_log(windows, window);
    uint32_t low_mask = (1u << low_log) - 1;
    entries += static_cast<size_t>(blockIdx.y) * n;
    lows += static_cast<size_t>(blockIdx.y) * n;
    for (uint32_t bin = threadIdx.x; bin < SORT_BINS; bin += SORT_THREADS) counts[bin] = 0;
    uint32_t digit[SORT_PER_THREAD];
    load_tile(digit, digits + static_cast<size_t>(window) * n, n);
    __syncthreads();
    count_tile(counts, digit, low_log);
    __syncthreads();
    uint32_t first = threadIdx.x * BINS_PER_THREAD, mine = 0;
    UNROLL
    for (uint32_t k = 0; k < BINS_PER_THREAD; k++) mine += counts[first + k];
    uint32_t start = block_scan(mine, sums);
    UNROLL
    for (uint32_t k = 0; k < BINS_PER_THREAD; k++) {
        uint32_t count = counts[first + k];
        uint32_t* cursor = &cursors[blockIdx.y * SORT_BINS + first + k];
        starts[first + k] = counts[first + k] = start;
        targets[first + k] = (count ? atomicAdd(cursor, count) : 0) - start;
        start += count;
    }
    if (threadIdx.x == SORT_THREADS - 1) starts[SORT_BINS] = start;
    __syncthreads();
    // An entry of the tile: place in the tile, low bits of the bucket, sign.
    UNROLL
    for (uint32_t k = 0; k < SORT_PER_THREAD; k++) {
        uint32_t magnitude = digit[k] & ~DIGIT_SIGN, bucket = magnitude - 1;
        uint32_t slot = count_in_bin(counts, bucket >> low_log, magnitude != 0);
        uint32_t place = k * SORT_THREADS + threadIdx.x;
        uint32_t entry = place | (bucket & low_mask) << SORT_TILE_LOG | (digit[k] & DIGIT_SIGN);
        if (magnitude) sort_memory[slot] = entry;
    }
    __syncthreads();
    // Eight lanes a bin, about its share of a tile.
    const uint32_t lanes = SORT_TILE / SORT_BINS;
    uint32_t lane = threadIdx.x % lanes;
    for (uint32_t bin = threadIdx.x / lanes; bin < SORT_BINS; bin += SORT_THREADS / lanes) {
        uint32_t target = targets[bin], end = starts[bin + 1];
        for (uint32_t slot = starts[bin] + lane; slot < end; slot += lanes) {
            uint32_t entry = sort_memory[slot];
            uint32_t index = blockIdx.x * SORT_TILE + (entry & (SORT_TILE - 1));
            entries[target + slot] = index | (entry & DIGIT_SIGN);
            lows[target + slot] = static_cast<uint16_t>(entry >> SORT_TILE_LOG & low_mask);
        }
    }
}

// Entries that a thread of `msm_sort_bins` has in flight.
static const uint32_t SORT_FLIGHT = 4;

// The entries of positions start + i * SORT_THREADS + threadIdx.x, and whether they count: inside
// the bin and, above `shift` low bits, of group `group`.
DEVICE void load_flight(uint32_t* low, bool* active, const uint16_t* lows, uint32_t start,
                        uint32_t end, uint32_t shift, uint32_t group) {
    UNROLL
    for (uint32_t k = 0; k < SORT_FLIGHT; k++) {
        uint32_t i = start + k * SORT_THREADS + threadIdx.x;
        low[k] = i < end ? __ldg(lows + i) : 0;
        active[k] = i < end && low[k] >> shift == group;
    }
}

// **Computes** the entries of each bin in bucket order, and the first position of every bucket.
// **Shapes** sorted, entries, lows: [batch window][n]; bucket_starts: [batch window][stride], of
// which 2^(width - 1) + 1 are written; bin_starts: [batch window][2^11 + 1].
// **Launch** grid (2^11 or the widest window's buckets, if fewer, windows); 4 bytes of dynamic shared
// memory for each of n or SORT_STAGE entries, the fewer.
// **Requires** stride > 2^(width - 1); low bits at most SORT_LOW_LOG_MAX. A bin is done in
// 2^group_log parts of its buckets, each in shared memory where it fits.
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    msm_sort_bins(uint32_t* sorted, uint32_t* bucket_starts, const uint32_t* entries,
                  const uint16_t* lows, const uint32_t* bin_starts, uint32_t n, uint32_t stride,
                  MsmWindows windows, uint32_t first_window, uint32_t group_log) {
    const uint32_t per_thread = (1u << SORT_LOW_LOG_MAX) / SORT_THREADS;
    const uint32_t step = SORT_FLIGHT * SORT_THREADS;
    __shared__ uint32_t counts[1u << SORT_LOW_LOG_MAX], sums[32];
    uint32_t window = first_window + blockIdx.y;
    uint32_t low_log = sort_low_log(windows, window);
    uint32_t bucket_count = 1u << (window_width(windows, window) - 1);
    uint32_t first_bucket = blockIdx.x << low_log;
    if (first_bucket >= bucket_count) return;
    sorted += static_cast<size_t>(blockIdx.y) * n;
    entries += static_cast<size_t>(blockIdx.y) * n;
    lows += static_cast<size_t>(blockIdx.y) * n;
    bucket_starts += static_cast<size_t>(blockIdx.y) * stride;
    bin_starts += blockIdx.y * (SORT_BINS + 1);
    uint32_t start = bin_starts[blockIdx.x], end = bin_starts[blockIdx.x + 1];
    UNROLL
    for (uint32_t k = 0; k < per_thread; k++) counts[k * SORT_THREADS + threadIdx.x] = 0;
    __syncthreads();
    uint32_t low[SORT_FLIGHT];
    bool active[SORT_FLIGHT];
    for (uint32_t base = start; base < end; base += step) {
        load_flight(low, active, lows, base, end, SORT_LOW_LOG_MAX, 0);
        UNROLL
        for (uint32_t k = 0; k < SORT_FLIGHT; k++) count_in_bin(counts, low[k], active[k]);
    }
    __syncthreads();
    uint32_t first = threadIdx.x * per_thread, mine = 0;
    UNROLL
    for (uint32_t k = 0; k < per_thread; k++) mine += counts[first + k];
    uint32_t position = start + block_scan(mine, sums);
    UNROLL
    for (uint32_t k = 0; k < per_thread; k++) {
        uint32_t count = counts[first + k];
        counts[first + k] = position;
        if (first + k < (1u << low_log)) bucket_starts[first_bucket + first + k] = position;
        position += count;
    }
    if (threadIdx.x == 0 && first_bucket + (1u << low_log) == bucket_count) {
        bucket_starts[bucket_count] = end;
    }
    __syncthreads();
    uint32_t shift = low_log > group_log ? low_log - group_log : 0;
    uint32_t groups = 1u << (low_log - shift);
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t group_start = counts[group << shift];
        uint32_t group_end = group + 1 < groups ? counts[(group + 1) << shift] : end;
        bool staged = group_end - group_start <= SORT_STAGE;
        uint32_t* target = staged ? sort_memory : sorted + group_start;
        __syncthreads();
        for (uint32_t base = start; base < end; base += step) {
            uint32_t entry[SORT_FLIGHT];
            load_flight(low, active, lows, base, end, shift, group);
            UNROLL
            for (uint32_t k = 0; k < SORT_FLIGHT; k++) {
                uint32_t i = base + k * SORT_THREADS + threadIdx.x;
                entry[k] = active[k] ? __ldg(entries + i) : 0;
            }
            UNROLL
            for (uint32_t k = 0; k < SORT_FLIGHT; k++) {
                uint32_t slot = count_in_bin(counts, low[k], active[k]) - group_start;
                if (active[k]) target[slot] = entry[k];
            }
        }
        __syncthreads();
        uint32_t size = staged ? group_end - group_start : 0;
        for (uint32_t slot = threadIdx.x; slot < size; slot += SORT_THREADS) {
            sorted[group_start + slot] = sort_memory[slot];
        }
        __syncthreads();
    }
}
