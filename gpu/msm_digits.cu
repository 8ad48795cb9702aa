// Signed digits of scalars.

// A scalar's windows from the least significant: `count` windows, the first `wide_count` of them
// `width` bits wide and the others `width - 1`. Together they have 255 bits or more, one above the
// folded scalar, so that the top digit absorbs its carry.
struct MsmWindows {
    uint32_t count, width, wide_count;
};

DEVICE uint32_t window_width(const MsmWindows& windows, uint32_t w) {
    return w < windows.wide_count ? windows.width : windows.width - 1;
}

DEVICE uint32_t window_offset(const MsmWindows& windows, uint32_t w) {
    uint32_t wide = w < windows.wide_count ? w : windows.wide_count;
    return wide * windows.width + (w - wide) * (windows.width - 1);
}

static const uint32_t DIGIT_SIGN = 0x80000000u;

// s, or r - s with `negative` set where that is smaller, for s in [0, r).
DEVICE Fr fold_scalar(const Fr& s, uint32_t& negative) {
    Fr t;
    t.v[0] = sub_cc(Fr::modulus<1>(0), s.v[0]);
    UNROLL
    for (int i = 1; i < 7; i++) t.v[i] = subc_cc(Fr::modulus<1>(i), s.v[i]);
    t.v[7] = subc(Fr::modulus<1>(7), s.v[7]);
    sub_cc(t.v[0], s.v[0]);
    UNROLL
    for (int i = 1; i < 8; i++) subc_cc(t.v[i], s.v[i]);
    negative = subc(0, 0) & DIGIT_SIGN;
    UNROLL
    for (int i = 0; i < 8; i++) t.v[i] = negative ? t.v[i] : s.v[i];
    return t;
}

// **Computes** the digits d_w in [-2^(c-1), 2^(c-1)] with sum_w d_w * 2^offset(w) = s, or = s - r.
// **Shapes** scalars: n, Montgomery form, [0, 2r); digits: [window][n], sign in bit 31, |d| below.
// **Launch** grid of n / 256 rounded up, block 256.
// **Requires** the windows have 255 bits or more; n < 2^31; reverse_log 0, or log2 n to read the
// scalars in bit-reversed order.
// **Cost** one product; 32 bytes read, 4 written per window.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    msm_split_digits(uint32_t* digits, const Fr* scalars, uint32_t n, MsmWindows windows,
                     uint32_t reverse_log) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    uint32_t source = reverse_log ? __brev(i) >> (32 - reverse_log) : i;
    uint32_t negative;
    Fr s = fold_scalar(to_integer(load_fr(scalars + source)), negative);
    uint32_t carry = 0, available = 0;
    uint64_t window_bits = 0;
    uint32_t w = 0;
    UNROLL
    for (int limb = 0; limb <= 8; limb++) {
        // The last round pads with zeros for the windows above bit 255.
        window_bits |= static_cast<uint64_t>(limb < 8 ? s.v[limb & 7] : 0) << available;
        available += 32;
        while (w < windows.count && (available >= windows.width || limb == 8)) {
            uint32_t width = window_width(windows, w);
            uint32_t d = (static_cast<uint32_t>(window_bits) & ((1u << width) - 1)) + carry;
            window_bits >>= width;
            available = available > width ? available - width : 0;
            carry = d > (1u << (width - 1));
            uint32_t magnitude = carry ? (1u << width) - d : d;
            uint32_t sign = magnitude ? negative ^ (carry ? DIGIT_SIGN : 0) : 0;
            digits[static_cast<size_t>(w) * n + i] = sign | magnitude;
            w++;
        }
    }
}

// Which bit of a witness each base meets: base i below `head` the bit table[i], base head + q *
// period + j the bit bit_start + q * bit_stride + table[head + j]; NO_BIT in the table is none.
struct BitPlaces {
    const uint32_t* table;
    uint32_t head, period, bit_start, bit_stride;
};

static const uint32_t NO_BIT = 0xffffffffu;

DEVICE uint32_t bit_place(const BitPlaces& places, uint32_t base) {
    if (base < places.head) return __ldg(places.table + base);
    uint32_t q = (base - places.head) / places.period, j = (base - places.head) % places.period;
    uint32_t place = __ldg(places.table + places.head + j);
    return place == NO_BIT ? NO_BIT : places.bit_start + q * places.bit_stride + place;
}

// **Computes** digits[i] = sum_p bit_p(place(first + i)) * 2^p for i < count, 0 above and where there
// is no bit: with the patterns as digits of one window, a base is added once for all partitions
// (gpu.md 4.2).
// **Shapes** digits: n; bits: [partition][words], bit j of a witness in word j / 32.
// **Launch** grid of n / 256 rounded up, block 256.
// **Requires** count <= n; places of first .. first + count below 32 * words; partitions <= 10.
// **Cost** 4 bytes written, partitions / 8 read an element.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    msm_split_patterns(uint32_t* digits, const uint32_t* bits,
                       const __grid_constant__ BitPlaces places, uint32_t n, uint32_t first,
                       uint32_t count, uint32_t words, uint32_t partitions) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    uint32_t place = i < count ? bit_place(places, first + i) : NO_BIT;
    uint32_t pattern = 0;
    for (uint32_t p = 0; p < partitions && place != NO_BIT; p++) {
        uint32_t word = __ldg(bits + static_cast<size_t>(p) * words + (place >> 5));
        pattern |= (word >> (place & 31) & 1) << p;
    }
    digits[i] = pattern;
}
