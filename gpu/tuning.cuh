// Every launch constant. src/gpu/kernels/ has the same numbers.

// NTT: 2048 elements a block in 74 KB of shared memory, 8 in the registers of each thread; two
// blocks a multiprocessor leave 128 registers a thread.
static const int NTT_THREADS = 256;
static const int NTT_TILE_LOG = 11;
static const int NTT_MIN_BLOCKS = 2;
// Bits of the level table: the roots of order 2^9, the largest radix of a pass.
static const int NTT_LEVEL_LOG = 9;

// MSM sort: entries a block partitions at once, bins of the first pass, threads of both passes, and
// entries that a block of the second puts in order in shared memory. With 2^10 bins and a second
// pass straight to memory the sort of 2^27 points took 65 ms: the writes of 264 blocks at a time
// did not fit the L2 cache and moved 3.4 times their bytes.
static const int SORT_TILE_LOG = 14;
static const int SORT_BINS_LOG = 11;
static const int SORT_THREADS = 1024;
static const int SORT_LOW_LOG_MAX = 11;
static const int SORT_STAGE = 40960;

// MSM accumulation, 2^27 points on an H200 (2026-11-29): 582 ms with 2 blocks a multiprocessor, 585
// with 3, 632 with 4; with the next point in registers instead of shared memory 599 and 633.
static const int ACCUMULATE_THREADS = 128;
static const int ACCUMULATE_MIN_BLOCKS = 2;

// MSM pair rounds: blocks a multiprocessor, and pairs that a lane adds with its share of an
// inversion. 2^27 points on an H200 (2026-11-29): with 3 blocks 538 ms of accumulation for 524.
static const int PAIR_THREADS = 128;
static const int PAIR_MIN_BLOCKS = 4;
static const uint32_t PAIR_TILES_MIN = 8;
static const uint32_t PAIR_TILES_MAX = 256;

// Fixed-base multiplication: bits of a window, and points that share an inversion. Windows of 16
// bits make tables of 50 MB (G1) and 100 MB.
static const int FIXED_BASE_WINDOW_BITS = 16;
static const int FIXED_BASE_POINTS = 8;

static const int ELEMENT_THREADS = 256;

// Rows: challenges that a thread evaluates its small row for, so that a row's entries are read and
// decoded three times a partition of 18 challenges; threads of a block of the other rows.
static const int ROWS_CHALLENGES = 6;
static const int ROWS_THREADS = 128;
