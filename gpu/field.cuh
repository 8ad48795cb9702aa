// The prime fields Fr and Fp and the quadratic extension Fp2.
//
// An element is its Montgomery form, 32-bit limbs, least significant first: blst's memory layout.
// Values are lazy: every function takes and returns representatives in [0, 2m) for the modulus m
// unless it says otherwise, so no product needs a final subtraction; `canonical` gives [0, m).
//
// Products interleave one row of a * b with one Montgomery step. Partial products go to two
// accumulators, one for even and one for odd limb positions, so that the low and high halves of
// each stay register-pair aligned and fuse into one IMAD.WIDE (Emmart et al., ARITH 2016). The two
// swap roles at each step. After a step the accumulator is below a + m, and adding the next row
// needs (a + m) * 2^32 to fit in N + 1 limbs: a + m < 2^(32 N). With a, b < 2m the result is below
// m + ab / 2^(32 N), which is at most 1.41p for Fp and 1.81p for a sum of two products. For Fr, 2m
// is 0.91 * 2^256, so the row operand `a` must be canonical; then b may be any 256-bit value.
//
// The limbs of the moduli come from ec-gpu's `GpuField`, written by build.rs as `FP_*`, `FR_*`.
//
// Built with PROVE_FIELD_GENERATED (`field=generated`), products, sums and differences are
// ec-gpu-gen's, which build.rs puts before this text: they take and return [0, m), a part of the
// range above, so everything that calls them stays as it is.

struct FIELD_ALIGN Fr {
    static const int limbs = 8;
    uint32_t v[8];

    // Limb i of k * r for k = 1, 2.
    template <int k> DEVICE_MEMBER uint32_t modulus(int i) {
        const uint32_t once[8] = {FR_MODULUS};
        const uint32_t twice[8] = {FR_MODULUS_2};
        return k == 1 ? once[i] : twice[i];
    }
};

struct FIELD_ALIGN Fp {
    static const int limbs = 12;
    uint32_t v[12];

    // Limb i of k * p for k = 1, 2.
    template <int k> DEVICE_MEMBER uint32_t modulus(int i) {
        const uint32_t once[12] = {FP_MODULUS};
        const uint32_t twice[12] = {FP_MODULUS_2};
        return k == 1 ? once[i] : twice[i];
    }
};

// c0 + c1 * u with u^2 = -1.
struct FIELD_ALIGN Fp2 {
    Fp c0, c1;
};

static_assert(sizeof(Fr) == 32 && sizeof(Fp) == 48 && sizeof(Fp2) == 96, "layouts shared with blst");
static_assert(FR_INVERSE == 0xffffffffu, "the reduction of Fr relies on -1/r = -1 mod 2^32");

// ---- limb layer ----

// acc[j], acc[j + 1] += row[j] * scalar over even j, with or without a carry into the first.
template <int N> DEVICE void add_row(uint32_t* acc, const uint32_t* row, uint32_t scalar) {
    UNROLL
    for (int j = 0; j < N; j += 2) {
        if (j == 0) {
            mad_wide_cc(acc[j], acc[j + 1], row[j], scalar);
        } else {
            madc_wide_cc(acc[j], acc[j + 1], row[j], scalar);
        }
    }
}

template <int N> DEVICE void add_row_carry(uint32_t* acc, const uint32_t* row, uint32_t scalar) {
    UNROLL
    for (int j = 0; j < N; j += 2) {
        madc_wide_cc(acc[j], acc[j + 1], row[j], scalar);
    }
}

// even, odd = row * scalar.
template <int N>
DEVICE void first_row(uint32_t* even, uint32_t* odd, const uint32_t* row, uint32_t scalar) {
    UNROLL
    for (int j = 0; j < N; j += 2) {
        mul_wide(even[j], even[j + 1], row[j], scalar);
        mul_wide(odd[j], odd[j + 1], row[j + 1], scalar);
    }
}

// Shifts the accumulator down one limb while adding row * scalar: on entry `odd` is the former even
// half, whose limb 0 is zero, and `even` the former odd half.
template <int N>
DEVICE void next_row(uint32_t* even, uint32_t* odd, const uint32_t* row, uint32_t scalar) {
    even[0] = add_cc(even[0], odd[1]);
    UNROLL
    for (int j = 0; j < N - 2; j += 2) {
        madc_wide_from_cc(odd[j], odd[j + 1], row[j + 1], scalar, odd[j + 2], odd[j + 3]);
    }
    madc_wide_last(odd[N - 2], odd[N - 1], row[N - 1], scalar);
    add_row<N>(even, row, scalar);
    odd[N - 1] = addc(odd[N - 1], 0);
}

// Adds row * scalar without a shift.
template <int N>
DEVICE void same_row(uint32_t* even, uint32_t* odd, const uint32_t* row, uint32_t scalar) {
    add_row<N>(odd, row + 1, scalar);
    add_row<N>(even, row, scalar);
    odd[N - 1] = addc(odd[N - 1], 0);
}

// Adds the multiple of the modulus that makes limb 0 zero.
DEVICE void montgomery_step(const Fp*, uint32_t* even, uint32_t* odd) {
    uint32_t modulus[13];
    UNROLL
    for (int i = 0; i < 12; i++) modulus[i] = Fp::modulus<1>(i);
    modulus[12] = 0;
    same_row<12>(even, odd, modulus, even[0] * FP_INVERSE);
}

// The same for r = ... * 2^64 + 2^64 - 2^32 + 1: with x the low limb, q = -x, and q * (2^64 - 2^32 +
// 1) = q * 2^64 + x * 2^32 - x (mod 2^96, up to the borrow counted in `top`), so that only limbs 2
// to 7 of r need products.
DEVICE void montgomery_step(const Fr*, uint32_t* even, uint32_t* odd) {
    uint32_t modulus[9];
    UNROLL
    for (int i = 0; i < 8; i++) modulus[i] = Fr::modulus<1>(i);
    modulus[8] = 0;
    uint32_t low = even[0];
    uint32_t q = hidden_zero - low;
    uint32_t top = q - (low != 0);
    even[0] = add_cc(low, q);
    even[1] = addc_cc(even[1], low);
    add_row_carry<6>(even + 2, modulus + 2, q);
    odd[7] = addc(odd[7], 0);
    odd[1] = add_cc(odd[1], top);
    add_row_carry<6>(odd + 2, modulus + 3, q);
}

// a * b / 2^(32 N), or (a * b + c * d) / 2^(32 N).
template <bool two, class F>
DEVICE F montgomery_product(const F& a, const F& b, const F& c, const F& d) {
    const int N = F::limbs;
    uint32_t even[N], odd[N], row_a[N + 1], row_c[N + 1];
    UNROLL
    for (int i = 0; i < N; i++) {
        row_a[i] = a.v[i];
        row_c[i] = two ? c.v[i] : 0;
    }
    row_a[N] = 0;
    row_c[N] = 0;
    UNROLL
    for (int i = 0; i < N; i += 2) {
        if (i == 0) {
            first_row<N>(even, odd, row_a, b.v[0]);
        } else {
            next_row<N>(even, odd, row_a, b.v[i]);
        }
        if (two) same_row<N>(even, odd, row_c, d.v[i]);
        montgomery_step(&a, even, odd);
        next_row<N>(odd, even, row_a, b.v[i + 1]);
        if (two) same_row<N>(odd, even, row_c, d.v[i + 1]);
        montgomery_step(&a, odd, even);
    }
    F r;
    r.v[0] = add_cc(even[0], odd[1]);
    UNROLL
    for (int i = 1; i < N - 1; i++) r.v[i] = addc_cc(even[i], odd[i + 1]);
    r.v[N - 1] = addc(even[N - 1], 0);
    return r;
}

// ---- squares in Fp ----

// a^2 as 24 limbs: 66 products off the diagonal, doubled, and 12 on it.
DEVICE void square_wide(uint32_t* wide, const Fp& a) {
    const int N = 12;
    uint32_t even[2 * N], odd[2 * N];
    UNROLL
    for (int i = 0; i < 2 * N; i++) even[i] = odd[i] = 0;
    UNROLL
    for (int i = 0; i < N - 1; i++) {
        UNROLL
        for (int parity = 1; parity <= 2; parity++) {
            uint32_t* acc = parity == 1 ? odd : even;
            bool any = false;
            int last = 0;
            UNROLL
            for (int j = i + parity; j < N; j += 2) {
                if (any) {
                    madc_wide_cc(acc[i + j], acc[i + j + 1], a.v[j], a.v[i]);
                } else {
                    mad_wide_cc(acc[i + j], acc[i + j + 1], a.v[j], a.v[i]);
                }
                any = true;
                last = i + j;
            }
            // The pair of rows that reaches no new limb carries into the next one, still zero.
            if (any) acc[last + 2] = addc(acc[last + 2], 0);
        }
    }
    wide[0] = 0;
    wide[1] = odd[1];
    wide[2] = add_cc(even[2], odd[2]);
    UNROLL
    for (int i = 3; i < 2 * N; i++) wide[i] = addc_cc(even[i], odd[i]);
    wide[1] = add_cc(wide[1], wide[1]);
    UNROLL
    for (int i = 2; i < 2 * N; i++) wide[i] = addc_cc(wide[i], wide[i]);
    mad_wide_cc(wide[0], wide[1], a.v[0], a.v[0]);
    UNROLL
    for (int i = 1; i < N; i++) madc_wide_cc(wide[2 * i], wide[2 * i + 1], a.v[i], a.v[i]);
}

// One Montgomery step fused with the shift that precedes it; roles as in `next_row`.
DEVICE void shift_and_reduce(uint32_t* even, uint32_t* odd, const uint32_t* modulus) {
    even[0] = add_cc(even[0], odd[1]);
    uint32_t q = even[0] * FP_INVERSE;
    UNROLL
    for (int j = 0; j < 10; j += 2) {
        madc_wide_from_cc(odd[j], odd[j + 1], modulus[j + 1], q, odd[j + 2], odd[j + 3]);
    }
    madc_wide_last(odd[10], odd[11], modulus[11], q);
    add_row<12>(even, modulus, q);
    odd[11] = addc(odd[11], 0);
}

// wide / 2^384, below p + wide / 2^384: the low half is reduced and the high half added.
DEVICE Fp reduce_wide(const uint32_t* wide) {
    uint32_t modulus[12], even[12], odd[12];
    UNROLL
    for (int i = 0; i < 12; i++) {
        modulus[i] = Fp::modulus<1>(i);
        even[i] = wide[i];
    }
    uint32_t q = even[0] * FP_INVERSE;
    UNROLL
    for (int j = 0; j < 12; j += 2) mul_wide(odd[j], odd[j + 1], modulus[j + 1], q);
    add_row<12>(even, modulus, q);
    odd[11] = addc(odd[11], 0);
    UNROLL
    for (int i = 1; i < 11; i += 2) {
        shift_and_reduce(odd, even, modulus);
        shift_and_reduce(even, odd, modulus);
    }
    shift_and_reduce(odd, even, modulus);
    // Twelve steps in all: the shift still owed exchanges the two once more.
    Fp r;
    r.v[0] = add_cc(odd[1], even[0]);
    UNROLL
    for (int i = 1; i < 11; i++) r.v[i] = addc_cc(odd[i + 1], even[i]);
    r.v[11] = addc(even[11], 0);
    r.v[0] = add_cc(r.v[0], wide[12]);
    UNROLL
    for (int i = 1; i < 11; i++) r.v[i] = addc_cc(r.v[i], wide[12 + i]);
    r.v[11] = addc(r.v[11], wide[23]);
    return r;
}

// ---- ranges ----

// a - k * m where that is not negative, else a. `overflow` is limb N of a.
template <int k, class F> DEVICE F subtract_if_above(const F& a, uint32_t overflow) {
    F t;
    t.v[0] = sub_cc(a.v[0], F::template modulus<k>(0));
    UNROLL
    for (int i = 1; i < F::limbs; i++) t.v[i] = subc_cc(a.v[i], F::template modulus<k>(i));
    bool below = (int32_t)subc(overflow, 0) < 0;
    UNROLL
    for (int i = 0; i < F::limbs; i++) t.v[i] = below ? a.v[i] : t.v[i];
    return t;
}

template <class F> DEVICE F add_lazy(const F& a, const F& b) {
    F t;
    t.v[0] = add_cc(a.v[0], b.v[0]);
    UNROLL
    for (int i = 1; i < F::limbs; i++) t.v[i] = addc_cc(a.v[i], b.v[i]);
    uint32_t overflow = addc(0, 0);
    return subtract_if_above<2>(t, overflow);
}

template <class F> DEVICE F sub_lazy(const F& a, const F& b) {
    F t;
    t.v[0] = sub_cc(a.v[0], b.v[0]);
    UNROLL
    for (int i = 1; i < F::limbs; i++) t.v[i] = subc_cc(a.v[i], b.v[i]);
    uint32_t mask = subc(0, 0);
    t.v[0] = add_cc(t.v[0], F::template modulus<2>(0) & mask);
    UNROLL
    for (int i = 1; i < F::limbs - 1; i++) {
        t.v[i] = addc_cc(t.v[i], F::template modulus<2>(i) & mask);
    }
    t.v[F::limbs - 1] = addc(t.v[F::limbs - 1], F::template modulus<2>(F::limbs - 1) & mask);
    return t;
}

template <class F> DEVICE bool all_zero(const F& a) {
    uint32_t any = 0;
    UNROLL
    for (int i = 0; i < F::limbs; i++) any |= a.v[i];
    return any == 0;
}

// Whether a is 0 or m, the two representatives of zero. The first limb decides nearly always.
template <class F> DEVICE bool is_zero_lazy(const F& a) {
    uint32_t modulus_0 = F::template modulus<1>(0);
    if (a.v[0] != 0 && a.v[0] != modulus_0) return false;
    uint32_t zero = 0, modulus = 0;
    UNROLL
    for (int i = 0; i < F::limbs; i++) {
        zero |= a.v[i];
        modulus |= a.v[i] ^ F::template modulus<1>(i);
    }
    return zero == 0 || modulus == 0;
}

#ifdef PROVE_FIELD_GENERATED
// ---- ec-gpu-gen's operations on our types ----

template <class To, class From> DEVICE To same_limbs(const From& a) {
    static_assert(sizeof(To) == sizeof(From), "both are limbs, least significant first");
    const uint32_t* from = reinterpret_cast<const uint32_t*>(&a);
    To to;
    UNROLL
    for (size_t i = 0; i < sizeof(To) / 4; i++) reinterpret_cast<uint32_t*>(&to)[i] = from[i];
    return to;
}

DEVICE generated::FR_ELEMENT theirs(const Fr& a) { return same_limbs<generated::FR_ELEMENT>(a); }
DEVICE generated::FP_ELEMENT theirs(const Fp& a) { return same_limbs<generated::FP_ELEMENT>(a); }

DEVICE Fr add(const Fr& a, const Fr& b) {
    return same_limbs<Fr>(GENERATED_FR_add(theirs(a), theirs(b)));
}
DEVICE Fr sub(const Fr& a, const Fr& b) {
    return same_limbs<Fr>(GENERATED_FR_sub(theirs(a), theirs(b)));
}
DEVICE Fr mul_canonical(const Fr& a, const Fr& b) {
    return same_limbs<Fr>(GENERATED_FR_mul(theirs(a), theirs(b)));
}
DEVICE Fp add(const Fp& a, const Fp& b) {
    return same_limbs<Fp>(GENERATED_FP_add(theirs(a), theirs(b)));
}
DEVICE Fp sub(const Fp& a, const Fp& b) {
    return same_limbs<Fp>(GENERATED_FP_sub(theirs(a), theirs(b)));
}
DEVICE Fp mul(const Fp& a, const Fp& b) {
    return same_limbs<Fp>(GENERATED_FP_mul(theirs(a), theirs(b)));
}
DEVICE Fp sqr(const Fp& a) { return same_limbs<Fp>(GENERATED_FP_sqr(theirs(a))); }
DEVICE Fp mul_add(const Fp& a, const Fp& b, const Fp& c, const Fp& d) {
    return add(mul(a, b), mul(c, d));
}
DEVICE Fp neg(const Fp& a) { return sub(Fp{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}, a); }
#else
// ---- our operations ----

DEVICE Fr add(const Fr& a, const Fr& b) { return add_lazy(a, b); }
DEVICE Fr sub(const Fr& a, const Fr& b) { return sub_lazy(a, b); }
// a * b for a in [0, r) and b any 256-bit value.
DEVICE Fr mul_canonical(const Fr& a, const Fr& b) { return montgomery_product<false>(a, b, a, b); }

DEVICE Fp add(const Fp& a, const Fp& b) { return add_lazy(a, b); }
DEVICE Fp sub(const Fp& a, const Fp& b) { return sub_lazy(a, b); }
// Tried and lost: one Karatsuba level (108 + 144 wide multiply-adds against 276) made the MSM of 2^27
// points 16 % slower on an H200; its carry chains of additions are not hidden.
DEVICE Fp mul(const Fp& a, const Fp& b) { return montgomery_product<false>(a, b, a, b); }
// 78 wide multiply-adds, then 144 for the reduction, against 276.
DEVICE Fp sqr(const Fp& a) {
    uint32_t wide[24];
    square_wide(wide, a);
    return reduce_wide(wide);
}
// a * b + c * d with one reduction.
DEVICE Fp mul_add(const Fp& a, const Fp& b, const Fp& c, const Fp& d) {
    return montgomery_product<true>(a, b, c, d);
}
// In [0, 2p]: every use of a negated value stays within the bounds above.
DEVICE Fp neg(const Fp& a) {
    Fp t;
    t.v[0] = sub_cc(Fp::modulus<2>(0), a.v[0]);
    UNROLL
    for (int i = 1; i < 11; i++) t.v[i] = subc_cc(Fp::modulus<2>(i), a.v[i]);
    t.v[11] = subc(Fp::modulus<2>(11), a.v[11]);
    return t;
}
#endif

// ---- Fr ----

DEVICE Fr canonical(const Fr& a) { return subtract_if_above<1>(a, 0); }
DEVICE Fr mul(const Fr& a, const Fr& b) { return mul_canonical(canonical(a), b); }

// a / 2 in [0, 1.5r).
DEVICE Fr halve(const Fr& a) {
    uint32_t mask = 0u - (a.v[0] & 1);
    Fr t;
    t.v[0] = add_cc(a.v[0], Fr::modulus<1>(0) & mask);
    UNROLL
    for (int i = 1; i < 8; i++) t.v[i] = addc_cc(a.v[i], Fr::modulus<1>(i) & mask);
    uint32_t overflow = addc(0, 0);
    UNROLL
    for (int i = 0; i < 8; i++) t.v[i] = t.v[i] >> 1 | (i < 7 ? t.v[(i + 1) & 7] : overflow) << 31;
    return t;
}

// The canonical value of the element as a plain integer, out of Montgomery form.
DEVICE Fr to_integer(const Fr& a) {
    Fr one = {{1, 0, 0, 0, 0, 0, 0, 0}};
    return canonical(mul_canonical(one, a));
}

// ---- Fp ----

DEVICE Fp canonical(const Fp& a) { return subtract_if_above<1>(a, 0); }
DEVICE bool is_zero(const Fp& a) { return is_zero_lazy(a); }
DEVICE bool is_raw_zero(const Fp& a) { return all_zero(a); }
DEVICE Fp zero(const Fp*) { return Fp{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}; }
DEVICE Fp one(const Fp*) { return Fp{{FP_ONE}}; }

// ---- Fp2 ----

DEVICE Fp2 add(const Fp2& a, const Fp2& b) { return {add(a.c0, b.c0), add(a.c1, b.c1)}; }
DEVICE Fp2 sub(const Fp2& a, const Fp2& b) { return {sub(a.c0, b.c0), sub(a.c1, b.c1)}; }
DEVICE Fp2 neg(const Fp2& a) { return {neg(a.c0), neg(a.c1)}; }
DEVICE Fp2 canonical(const Fp2& a) { return {canonical(a.c0), canonical(a.c1)}; }
DEVICE bool is_zero(const Fp2& a) { return is_zero(a.c0) && is_zero(a.c1); }
DEVICE bool is_raw_zero(const Fp2& a) { return all_zero(a.c0) && all_zero(a.c1); }
DEVICE Fp2 zero(const Fp2*) { return {zero((const Fp*)0), zero((const Fp*)0)}; }
DEVICE Fp2 one(const Fp2*) { return {one((const Fp*)0), zero((const Fp*)0)}; }

// Two sums of two products: 888 wide multiply-adds, against 744 for Karatsuba, which would need
// double-width intermediates. Called, not inlined: a point addition in G2 has 14 of them. By value,
// so that operands pass in registers: by reference they went through local memory, and a 512 MiB
// partition's sums of B in G2 took 14 ms for 11 on an H200 (2026-11-30).
DEVICE_CALL Fp2 mul(Fp2 a, Fp2 b) {
    return {mul_add(a.c0, b.c0, neg(a.c1), b.c1), mul_add(a.c0, b.c1, a.c1, b.c0)};
}

// (c0 + c1)(c0 - c1) + 2 c0 c1 u.
DEVICE_CALL Fp2 sqr(Fp2 a) {
    Fp product = mul(a.c0, a.c1);
    return {mul(add(a.c0, a.c1), sub(a.c0, a.c1)), add(product, product)};
}

DEVICE Fp2 mul_add(const Fp2& a, const Fp2& b, const Fp2& c, const Fp2& d) {
    return add(mul(a, b), mul(c, d));
}
