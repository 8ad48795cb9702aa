// Rows of a partition: a = A z and b = B z, or their product c, from the compact assignment.
//
// The matrices are a template (src/r1cs): rows of a prologue, and of one challenge that every
// challenge repeats with its own bits and elements. Nearly all rows (99.7 % at 32 GiB) add at most
// three bits of A and one of B, with coefficients 1, -1, 2 or -2: they are small integers, packed
// into 16 bytes a row, and their values come out of a table. The others, some with hundreds of
// entries, are given to groups of lanes.

// Kinds of columns, `Kind` of src/r1cs/column.rs: which part of the assignment, in which unit.
static const uint32_t KIND_SHIFT = 29, KINDS = 6;
static const uint32_t KIND_PROLOGUE_BIT = 1, KIND_BIT = 4;
// The column of the constant 1.
static const uint32_t COLUMN_ONE = 0;
// Number of the coefficient 1, `Coefficient::ONE`.
static const uint32_t COEFFICIENT_ONE = 0;

// An entry of a small row: kind in bits 31-30, twice in bit 29, minus in bit 28, index below.
static const uint32_t SMALL_NONE = 0, SMALL_BIT = 1, SMALL_PROLOGUE_BIT = 2, SMALL_ONE = 3;
static const uint32_t SMALL_TWICE = 1u << 29, SMALL_MINUS = 1u << 28;
// In the place of B's entry: the row is not small.
static const uint32_t SMALL_SKIP = 0xffffffffu;
// Largest product of a small row's values, 6 * 2; and what stands for no value.
static const int INTEGER_MAX = 12;
static const int INTEGER_SKIP = 0x7fffffff;

// One section's rows for a range of challenges.
struct RowsTask {
    // Row `first_row + challenge * rows + row` of the partition; without `b`, the product goes to
    // `a`.
    Fr* a;
    Fr* b;
    // The assignment: packed bits, full scalars.
    const uint32_t* words;
    const Fr* scalars;
    // [rows]: three entries of A and one of B.
    const uint4* small;
    // [general_count]: row, first entry of A, first of B, end.
    const uint4* general;
    const uint32_t* columns;
    const uint16_t* coefficients;
    // Values of the coefficients; the integers -12 to 12.
    const Fr* values;
    const Fr* integers;
    uint32_t rows, general_count, first_row, challenges, lanes_log, padding;
    // By kind: the first place of challenge 0, and what each challenge adds. Bits are counted from
    // the start of `words`, the others in elements from the start of `scalars`.
    uint32_t starts[KINDS], strides[KINDS];
};

DEVICE uint32_t read_bit(const uint32_t* words, uint32_t place) {
    return __ldg(words + (place >> 5)) >> (place & 31) & 1;
}

// ---- small rows ----

// What an entry adds; `challenge_bits` is the place of the challenge's first bit.
DEVICE int small_entry(const RowsTask& task, uint32_t entry, uint32_t challenge_bits) {
    uint32_t kind = entry >> 30, index = entry & (SMALL_MINUS - 1);
    int value = kind == SMALL_ONE;
    if (kind == SMALL_BIT || kind == SMALL_PROLOGUE_BIT) {
        value = read_bit(task.words, kind == SMALL_BIT ? challenge_bits + index : index);
    }
    value <<= (entry & SMALL_TWICE) != 0;
    return entry & SMALL_MINUS ? -value : value;
}

// Stores the warp's values to rows first .. first + 32: two lanes an element, so that each store
// covers 512 consecutive bytes.
DEVICE void store_integers(Fr* out, size_t first, int value, const uint4* table) {
    uint32_t lane = threadIdx.x & 31, half = lane & 1;
    UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t row = 16 * i + (lane >> 1);
        int own = __shfl_sync(0xffffffffu, value, row);
        if (own == INTEGER_SKIP) continue;
        uint4* target = reinterpret_cast<uint4*>(out + first + row) + half;
        *target = table[2 * (own + INTEGER_MAX) + half];
    }
}

// **Computes** the small rows of ROWS_CHALLENGES challenges a thread.
// **Shapes** as in `RowsTask`. **Ensures** values in [0, r).
// **Launch** grid (rows / 256, challenges / ROWS_CHALLENGES, both rounded up), block 256.
// **Cost** 16 bytes read a row and thread; a value of 32 bytes written a row, matrix and challenge.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    rows_small(const __grid_constant__ RowsTask task) {
    __shared__ uint4 table[2 * (2 * INTEGER_MAX + 1)];
    for (uint32_t i = threadIdx.x; i < 2 * (2 * INTEGER_MAX + 1); i += ELEMENT_THREADS) {
        table[i] = __ldg(reinterpret_cast<const uint4*>(task.integers) + i);
    }
    __syncthreads();
    uint32_t row = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    uint4 entries = row < task.rows ? __ldg(task.small + row) : make_uint4(0, 0, 0, SMALL_SKIP);
    bool skip = entries.w == SMALL_SKIP;
    if (skip) entries = make_uint4(0, 0, 0, 0);
    uint32_t first = blockIdx.y * ROWS_CHALLENGES;
    uint32_t end = first + ROWS_CHALLENGES < task.challenges ? first + ROWS_CHALLENGES
                                                             : task.challenges;
    _Pragma("unroll 2")
    for (uint32_t challenge = first; challenge < end; challenge++) {
        uint32_t bits = task.starts[KIND_BIT] + challenge * task.strides[KIND_BIT];
        int a = small_entry(task, entries.x, bits) + small_entry(task, entries.y, bits) +
                small_entry(task, entries.z, bits);
        int b = small_entry(task, entries.w, bits);
        size_t place = task.first_row + static_cast<size_t>(challenge) * task.rows + row -
                       (threadIdx.x & 31);
        if (task.b) {
            store_integers(task.a, place, skip ? INTEGER_SKIP : a, table);
            store_integers(task.b, place, skip ? INTEGER_SKIP : b, table);
        } else {
            store_integers(task.a, place, skip ? INTEGER_SKIP : a * b, table);
        }
    }
}

// ---- other rows ----

// A sum of up to 2^32 values below 2^256.
struct WideSum {
    uint32_t v[9];
};

DEVICE void add_limbs(WideSum& sum, const uint32_t* limbs, uint32_t top) {
    sum.v[0] = add_cc(sum.v[0], limbs[0]);
    UNROLL
    for (int i = 1; i < 8; i++) sum.v[i] = addc_cc(sum.v[i], limbs[i]);
    sum.v[8] = addc(sum.v[8], top);
}

// The sum modulo r, in [0, 2r): the low 256 bits times 1 and the top limb times 2^256.
DEVICE Fr reduce_sum(const WideSum& sum) {
    Fr low, high = {{sum.v[8], 0, 0, 0, 0, 0, 0, 0}};
    UNROLL
    for (int i = 0; i < 8; i++) low.v[i] = sum.v[i];
    Fr one = {{FR_ONE}}, r2 = {{FR_R2}};
    return add(mul_canonical(one, low), mul_canonical(r2, high));
}

// The lane's share of a row: every `lanes`-th entry. All lanes of the group get the whole sum.
DEVICE Fr general_row(const RowsTask& task, uint32_t start, uint32_t end, uint32_t challenge,
                      uint32_t lane, uint32_t lanes) {
    WideSum sum = {{0, 0, 0, 0, 0, 0, 0, 0, 0}};
    NO_UNROLL
    for (uint32_t i = start + lane; i < end; i += lanes) {
        uint32_t column = __ldg(task.columns + i);
        uint32_t coefficient = __ldg(task.coefficients + i);
        uint32_t kind = column >> KIND_SHIFT, index = column & ((1u << KIND_SHIFT) - 1);
        uint32_t place = task.starts[kind] + challenge * task.strides[kind] + index;
        bool is_bit = kind == KIND_BIT || kind == KIND_PROLOGUE_BIT;
        if (is_bit && !read_bit(task.words, place)) continue;
        Fr x;
        if (is_bit || column == COLUMN_ONE) {
            x = load_fr(task.values + coefficient);
        } else {
            x = load_fr(task.scalars + place);
            if (coefficient != COEFFICIENT_ONE) {
                x = mul_canonical(load_fr(task.values + coefficient), x);
            }
        }
        add_limbs(sum, x.v, 0);
    }
    NO_UNROLL
    for (uint32_t offset = lanes >> 1; offset > 0; offset >>= 1) {
        WideSum other;
        UNROLL
        for (int i = 0; i < 9; i++) other.v[i] = __shfl_xor_sync(0xffffffffu, sum.v[i], offset);
        add_limbs(sum, other.v, other.v[8]);
    }
    return reduce_sum(sum);
}

// **Computes** the rows of `general`, 2^lanes_log lanes each. **Ensures** values in [0, 2r).
// **Launch** grid (general_count << lanes_log / ROWS_THREADS rounded up, challenges), block
// ROWS_THREADS. **Requires** lanes_log <= 5.
// **Cost** an addition of 9 limbs an entry whose bit is set; a product more for a full scalar whose
// coefficient is not 1; two products and 9 lanes_log shuffles a sum.
extern "C" __global__ void __launch_bounds__(ROWS_THREADS)
    rows_general(const __grid_constant__ RowsTask task) {
    uint32_t thread = blockIdx.x * ROWS_THREADS + threadIdx.x;
    uint32_t lanes = 1u << task.lanes_log, lane = thread & (lanes - 1);
    uint32_t item = thread >> task.lanes_log, challenge = blockIdx.y;
    bool inside = item < task.general_count;
    // Lanes without a row sum nothing, but take part in the shuffles.
    uint4 row = inside ? __ldg(task.general + item) : make_uint4(0, 0, 0, 0);
    Fr a = general_row(task, row.y, row.z, challenge, lane, lanes);
    Fr b = general_row(task, row.z, row.w, challenge, lane, lanes);
    if (!inside || lane != 0) return;
    size_t place = task.first_row + static_cast<size_t>(challenge) * task.rows + row.x;
    if (task.b) {
        store_fr(task.a + place, a);
        store_fr(task.b + place, b);
    } else {
        store_fr(task.a + place, mul(a, b));
    }
}
