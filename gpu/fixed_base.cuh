// Multiples of one fixed point, from a table of its window multiples.
//
//     s = sum_k d_k 2^(w k),  |d_k| <= 2^(w-1)        s G = sum_k sign(d_k) T[k][|d_k|]
//
// `table` holds d 2^(w k) G at k 2^(w-1) + d - 1. The top window has fewer than w bits of r, so no
// carry leaves it.

static const int FIXED_BASE_WINDOWS = 255 / FIXED_BASE_WINDOW_BITS + 1;
static_assert(32 % FIXED_BASE_WINDOW_BITS == 0, "a window lies in one limb");
static_assert(FIXED_BASE_WINDOWS * FIXED_BASE_WINDOW_BITS == 256, "windows cover the limbs");

// scalar * G: up to 16 mixed additions.
template <class F> DEVICE Xyzz<F> table_multiple(const Affine<F>* table, const Fr& scalar) {
    const uint32_t half = 1u << (FIXED_BASE_WINDOW_BITS - 1);
    Fr integer = to_integer(scalar);
    Xyzz<F> sum = xyzz_identity<F>();
    uint32_t carry = 0;
    NO_UNROLL
    for (int window = 0; window < FIXED_BASE_WINDOWS; window++) {
        int bit = window * FIXED_BASE_WINDOW_BITS;
        uint32_t value = (integer.v[bit >> 5] >> (bit & 31) & (2 * half - 1)) + carry;
        carry = value > half;
        uint32_t magnitude = carry ? 2 * half - value : value;
        if (magnitude == 0) continue;
        Affine<F> multiple = table[window * half + magnitude - 1];
        negate_if(multiple, carry);
        add_affine(sum, multiple);
    }
    return sum;
}

// Encodes scalars[i] G for i = first, first + stride, ... below n, FIXED_BASE_POINTS of them, with
// one inversion.
template <class F>
DEVICE void encode_multiples(uint32_t* out, const Affine<F>* table, const Fr* scalars, uint32_t n,
                             uint32_t first, uint32_t stride) {
    const int words = sizeof(Affine<F>) / 4;
    Xyzz<F> sums[FIXED_BASE_POINTS];
    F prefixes[FIXED_BASE_POINTS];
    F product = one((const F*)0);
    NO_UNROLL
    for (int k = 0; k < FIXED_BASE_POINTS; k++) {
        uint32_t i = first + k * stride;
        sums[k] = i < n ? table_multiple(table, scalars[i]) : xyzz_identity<F>();
        prefixes[k] = product;
        if (!is_identity(sums[k])) product = mul(product, sums[k].zzz);
    }
    F inverted = inverse(product);
    NO_UNROLL
    for (int k = FIXED_BASE_POINTS - 1; k >= 0; k--) {
        uint32_t i = first + k * stride;
        if (i >= n) continue;
        uint32_t* target = out + static_cast<uint64_t>(i) * words;
        if (is_identity(sums[k])) {
            write_infinity(target, words);
            continue;
        }
        F zzz_inverse = mul(inverted, prefixes[k]);
        inverted = mul(inverted, sums[k].zzz);
        write_point(target, to_affine(sums[k], zzz_inverse));
    }
}
