// Inversion in Fp by divsteps (Bernstein and Yang, "Fast constant-time gcd computation and modular
// inversion", 2019; variant with delta = 1/2).
//
// A divstep maps (delta, f, g), f odd, to (1 - delta, g, (g - f) / 2) if delta > 0 and g is odd,
// else to (1 + delta, f, (g + (g mod 2) f) / 2). From f = p and g = a, 879 of them reach g = 0 and
// f = 1 or -1 for 381-bit operands: floor((45907 * 381 + 26313) / 19929) = 878 plus one. They
// depend only on the low bits, so DIVSTEPS of them make one 2x2 matrix of 32-bit integers, which is
// then applied to f and g, and modulo p to d and e, where d = f / a and e = g / a.
//
// The lanes of a warp take the same path, and nearly all of it is additions and shifts: beside
// warps that keep the multiplier busy it costs issue slots that they leave free.

static const int DIVSTEPS = 30;
static const int DIVSTEP_ROUNDS = 30;
static_assert(DIVSTEPS * DIVSTEP_ROUNDS >= 879, "enough divsteps for 381 bits");

// An integer as 13 limbs of 30 bits, all but the last in [0, 2^30), the last with the sign.
struct Signed30 {
    static const int limbs = 13;
    static const int32_t mask = (1 << 30) - 1;
    int32_t v[13];
};

// 2^30 (f, g) -> (u f + v g, q f + r g); |u| + |v| and |q| + |r| are at most 2^30.
struct Transition {
    int32_t u, v, q, r;
};

// Limb i, of 30 bits, of the number with these 12 limbs of 32.
DEVICE int32_t limb_of_30(const uint32_t* words, int i) {
    int bit = 30 * i, word = bit >> 5, shift = bit & 31;
    uint32_t low = words[word] >> shift;
    uint32_t high =
        shift > 2 && word < 11 ? words[word + 1 < 12 ? word + 1 : 11] << (32 - shift) : 0;
    return static_cast<int32_t>((low | high) & Signed30::mask);
}

// DIVSTEPS steps on the low bits; `zeta` is -(delta + 1/2). The sign of zeta and the parity of g
// are spread into masks, so there is no branch.
DEVICE Transition divsteps(int32_t& zeta, uint32_t f, uint32_t g) {
    uint32_t u = 1, v = 0, q = 0, r = 1;
#ifdef __CUDACC__
    _Pragma("unroll 6")
#endif
    for (int i = 0; i < DIVSTEPS; i++) {
        uint32_t negative = static_cast<uint32_t>(zeta >> 31);
        uint32_t odd = 0u - (g & 1);
        uint32_t swap = negative & odd;
        g += ((f ^ negative) & odd) - swap;
        q += ((u ^ negative) & odd) - swap;
        r += ((v ^ negative) & odd) - swap;
        zeta = static_cast<int32_t>(static_cast<uint32_t>(zeta) ^ swap) - 1;
        f += g & swap;
        u += q & swap;
        v += r & swap;
        g >>= 1;
        u <<= 1;
        v <<= 1;
    }
    return {static_cast<int32_t>(u), static_cast<int32_t>(v), static_cast<int32_t>(q),
            static_cast<int32_t>(r)};
}

DEVICE int64_t wide_product(int32_t a, int32_t b) { return static_cast<int64_t>(a) * b; }

// (f, g) = (u f + v g, q f + r g) / 2^30, which is exact.
DEVICE void update_fg(Signed30& f, Signed30& g, const Transition& t) {
    int64_t cf = wide_product(t.u, f.v[0]) + wide_product(t.v, g.v[0]);
    int64_t cg = wide_product(t.q, f.v[0]) + wide_product(t.r, g.v[0]);
    cf >>= 30;
    cg >>= 30;
    UNROLL
    for (int i = 1; i < Signed30::limbs; i++) {
        cf += wide_product(t.u, f.v[i]) + wide_product(t.v, g.v[i]);
        cg += wide_product(t.q, f.v[i]) + wide_product(t.r, g.v[i]);
        f.v[i - 1] = static_cast<int32_t>(cf) & Signed30::mask;
        g.v[i - 1] = static_cast<int32_t>(cg) & Signed30::mask;
        cf >>= 30;
        cg >>= 30;
    }
    f.v[12] = static_cast<int32_t>(cf);
    g.v[12] = static_cast<int32_t>(cg);
}

// (d, e) = (u d + v e, q d + r e) / 2^30 mod p, in (-2p, p) as before: a negative operand has p
// added first, and the multiple of p that clears the low limb is taken from [-2^30, 0].
DEVICE void update_de(Signed30& d, Signed30& e, const Transition& t, const Signed30& modulus) {
    const uint32_t inverse = 0u - FP_INVERSE;
    int32_t d_sign = d.v[12] >> 31, e_sign = e.v[12] >> 31;
    int32_t md = (t.u & d_sign) + (t.v & e_sign);
    int32_t me = (t.q & d_sign) + (t.r & e_sign);
    int64_t cd = wide_product(t.u, d.v[0]) + wide_product(t.v, e.v[0]);
    int64_t ce = wide_product(t.q, d.v[0]) + wide_product(t.r, e.v[0]);
    uint32_t low_d = inverse * static_cast<uint32_t>(cd) + static_cast<uint32_t>(md);
    uint32_t low_e = inverse * static_cast<uint32_t>(ce) + static_cast<uint32_t>(me);
    md -= static_cast<int32_t>(low_d & Signed30::mask);
    me -= static_cast<int32_t>(low_e & Signed30::mask);
    cd += wide_product(modulus.v[0], md);
    ce += wide_product(modulus.v[0], me);
    cd >>= 30;
    ce >>= 30;
    UNROLL
    for (int i = 1; i < Signed30::limbs; i++) {
        cd += wide_product(t.u, d.v[i]) + wide_product(t.v, e.v[i]);
        ce += wide_product(t.q, d.v[i]) + wide_product(t.r, e.v[i]);
        cd += wide_product(modulus.v[i], md);
        ce += wide_product(modulus.v[i], me);
        d.v[i - 1] = static_cast<int32_t>(cd) & Signed30::mask;
        e.v[i - 1] = static_cast<int32_t>(ce) & Signed30::mask;
        cd >>= 30;
        ce >>= 30;
    }
    d.v[12] = static_cast<int32_t>(cd);
    e.v[12] = static_cast<int32_t>(ce);
}

// Brings all limbs but the last into [0, 2^30).
DEVICE void carry_limbs(Signed30& a) {
    UNROLL
    for (int i = 0; i < Signed30::limbs - 1; i++) {
        a.v[i + 1] += a.v[i] >> 30;
        a.v[i] &= Signed30::mask;
    }
}

// a, or -a for a set mask, modulo p in [0, p), for a in (-2p, p).
DEVICE void reduce_signed(Signed30& a, int32_t negate, const Signed30& modulus) {
    UNROLL
    for (int turn = 0; turn < 2; turn++) {
        int32_t add = a.v[12] >> 31;
        UNROLL
        for (int i = 0; i < Signed30::limbs; i++) {
            a.v[i] += modulus.v[i] & add;
            if (turn == 0) a.v[i] = (a.v[i] ^ negate) - negate;
        }
        carry_limbs(a);
    }
}

// 1 / a in [0, 2p) for a in [0, 2p) in Montgomery form; 0 for 0.
DEVICE_CALL Fp inverse(const Fp& a) {
    uint32_t modulus_words[12];
    UNROLL
    for (int i = 0; i < 12; i++) modulus_words[i] = Fp::modulus<1>(i);
    Fp value = canonical(a);
    Signed30 modulus, f, g, d, e;
    UNROLL
    for (int i = 0; i < Signed30::limbs; i++) {
        modulus.v[i] = f.v[i] = limb_of_30(modulus_words, i);
        g.v[i] = limb_of_30(value.v, i);
        d.v[i] = 0;
        e.v[i] = i == 0;
    }
    int32_t zeta = -1;
    NO_UNROLL
    for (int round = 0; round < DIVSTEP_ROUNDS; round++) {
        uint32_t f_low = static_cast<uint32_t>(f.v[0]) | static_cast<uint32_t>(f.v[1]) << 30;
        uint32_t g_low = static_cast<uint32_t>(g.v[0]) | static_cast<uint32_t>(g.v[1]) << 30;
        Transition t = divsteps(zeta, f_low, g_low);
        update_de(d, e, t, modulus);
        update_fg(f, g, t);
    }
    reduce_signed(d, f.v[12] >> 31, modulus);
    Fp plain;
    UNROLL
    for (int i = 0; i < 12; i++) {
        int bit = 32 * i, limb = bit / 30, shift = bit % 30;
        uint32_t low = static_cast<uint32_t>(d.v[limb]) >> shift;
        plain.v[i] = low | static_cast<uint32_t>(d.v[limb + 1]) << (30 - shift);
    }
    // 1 / (a R), twice times R^2 / R.
    Fp r2 = {{FP_R2}};
    return mul(mul(plain, r2), r2);
}
