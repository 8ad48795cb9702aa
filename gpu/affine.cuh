// From XYZZ back to affine coordinates, and to the parameter file's uncompressed form.

// 1 / a by Fermat, a not zero: 381 squarings, 200 or so products.
DEVICE_CALL Fp inverse(const Fp& a) {
    const uint32_t modulus[12] = {FP_MODULUS};
    Fp result = one(&a);
    NO_UNROLL
    for (int bit = 380; bit >= 0; bit--) {
        result = sqr(result);
        uint32_t limb = modulus[bit >> 5] - (bit < 32 ? 2 : 0);
        if (limb >> (bit & 31) & 1) result = mul(result, a);
    }
    return result;
}

// (c0 - c1 u) / (c0^2 + c1^2).
DEVICE_CALL Fp2 inverse(const Fp2& a) {
    Fp norm = inverse(mul_add(a.c0, a.c0, a.c1, a.c1));
    return {mul(a.c0, norm), mul(neg(a.c1), norm)};
}

// The affine form of a point that is not the identity, in [0, p), given 1 / ZZZ: 1 / ZZ is
// (ZZ / ZZZ)^2.
template <class F> DEVICE Affine<F> to_affine(const Xyzz<F>& p, const F& zzz_inverse) {
    F zz_inverse = sqr(mul(p.zz, zzz_inverse));
    return {canonical(mul(p.x, zz_inverse)), canonical(mul(p.y, zzz_inverse))};
}

// The value of the element as 48 big-endian bytes, in 12 words.
DEVICE void write_coordinate(uint32_t* words, const Fp& a) {
    Fp plain_one = {{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
    Fp value = canonical(mul(plain_one, a));
    UNROLL
    for (int i = 0; i < 12; i++) words[i] = swap_bytes(value.v[11 - i]);
}

DEVICE void write_point(uint32_t* words, const Affine<Fp>& p) {
    write_coordinate(words, p.x);
    write_coordinate(words + 12, p.y);
}

DEVICE void write_point(uint32_t* words, const Affine<Fp2>& p) {
    write_coordinate(words, p.x.c1);
    write_coordinate(words + 12, p.x.c0);
    write_coordinate(words + 24, p.y.c1);
    write_coordinate(words + 36, p.y.c0);
}

// The flag of infinity stands in the first byte.
DEVICE void write_infinity(uint32_t* words, int count) {
    words[0] = 0x40;
    for (int i = 1; i < count; i++) words[i] = 0;
}
