// Points of y^2 = x^3 + b (b plays no part in the formulas) over F = Fp (G1) or Fp2 (G2).
//
// `Affine` keeps the identity as (0, 0): no point of odd order has y = 0. `Xyzz` is (X, Y, ZZ, ZZZ)
// with x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2, and the identity has ZZ = 0 in all its limbs; memory
// set to zero is thus a row of identities. Formulas: EFD, shortw-xyzz, madd-2008-s, add-2008-s,
// dbl-2008-s-1, mdbl-2008-s-1. All additions are complete: equal points, opposite points and
// identities are told apart, because a parameter file has structural repeats.

template <class F> struct Affine {
    F x, y;
};

template <class F> struct Xyzz {
    F x, y, zz, zzz;
};

static_assert(sizeof(Affine<Fp>) == 96 && sizeof(Affine<Fp2>) == 192, "layouts shared with blst");
static_assert(sizeof(Xyzz<Fp>) == 192 && sizeof(Xyzz<Fp2>) == 384, "sizes known to the launchers");

template <class F> DEVICE bool is_identity(const Affine<F>& p) { return is_raw_zero(p.y); }
template <class F> DEVICE bool is_identity(const Xyzz<F>& p) { return is_raw_zero(p.zz); }

template <class F> DEVICE Xyzz<F> xyzz_identity() {
    F z = zero((const F*)0);
    return {z, z, z, z};
}

template <class F> DEVICE Xyzz<F> to_xyzz(const Affine<F>& p) {
    F o = one((const F*)0);
    return {p.x, p.y, o, o};
}

// -p for a set flag, else p.
template <class F> DEVICE void negate_if(Affine<F>& p, bool flag) {
    if (flag && !is_identity(p)) p.y = neg(p.y);
}

// 2p: 2M + 5S or so; p is not the identity.
template <class F> DEVICE Xyzz<F> double_affine(const Affine<F>& p) {
    F u = add(p.y, p.y);
    F v = sqr(u);
    F w = mul(u, v);
    F s = mul(p.x, v);
    F x_squared = sqr(p.x);
    F m = add(add(x_squared, x_squared), x_squared);
    F x = sub(sub(sqr(m), s), s);
    F y = mul_add(m, sub(s, x), neg(w), p.y);
    return {x, y, v, w};
}

template <class F> DEVICE Xyzz<F> double_xyzz(const Xyzz<F>& p) {
    if (is_identity(p)) return p;
    Xyzz<F> doubled = double_affine(Affine<F>{p.x, p.y});
    doubled.zz = mul(doubled.zz, p.zz);
    doubled.zzz = mul(doubled.zzz, p.zzz);
    return doubled;
}

// Out of line: reached only when a sum meets an equal point.
template <class F> DEVICE_CALL Xyzz<F> double_affine_call(const Affine<F>& p) {
    return double_affine(p);
}
template <class F> DEVICE_CALL Xyzz<F> double_xyzz_call(const Xyzz<F>& p) { return double_xyzz(p); }

// acc += p: 8M + 2S less one reduction.
template <class F> DEVICE void add_affine(Xyzz<F>& acc, const Affine<F>& p) {
    if (is_identity(p)) return;
    if (is_identity(acc)) {
        acc = to_xyzz(p);
        return;
    }
    F h = sub(mul(p.x, acc.zz), acc.x);
    F r = sub(mul(p.y, acc.zzz), acc.y);
    if (is_zero(h)) {
        acc = is_zero(r) ? double_affine_call(p) : xyzz_identity<F>();
        return;
    }
    F hh = sqr(h);
    F hhh = mul(h, hh);
    acc.zz = mul(acc.zz, hh);
    acc.zzz = mul(acc.zzz, hhh);
    F q = mul(acc.x, hh);
    acc.x = sub(sub(sub(sqr(r), hhh), q), q);
    acc.y = mul_add(r, sub(q, acc.x), neg(acc.y), hhh);
}

// acc += p: 12M + 2S less one reduction.
template <class F> DEVICE void add_xyzz(Xyzz<F>& acc, const Xyzz<F>& p) {
    if (is_identity(p)) return;
    if (is_identity(acc)) {
        acc = p;
        return;
    }
    F u = mul(acc.x, p.zz);
    F s = mul(acc.y, p.zzz);
    F h = sub(mul(p.x, acc.zz), u);
    F r = sub(mul(p.y, acc.zzz), s);
    if (is_zero(h)) {
        acc = is_zero(r) ? double_xyzz_call(p) : xyzz_identity<F>();
        return;
    }
    F hh = sqr(h);
    F hhh = mul(h, hh);
    acc.zz = mul(mul(acc.zz, p.zz), hh);
    acc.zzz = mul(mul(acc.zzz, p.zzz), hhh);
    F q = mul(u, hh);
    acc.x = sub(sub(sub(sqr(r), hhh), q), q);
    acc.y = mul_add(r, sub(q, acc.x), neg(s), hhh);
}

// The representative that leaves the device: all coordinates in [0, p), ready for blst.
template <class F> DEVICE Xyzz<F> canonical_xyzz(const Xyzz<F>& p) {
    return {canonical(p.x), canonical(p.y), canonical(p.zz), canonical(p.zzz)};
}

// The same out of line, for kernels with several additions that are not the hot ones.
template <class F> DEVICE_CALL void add_xyzz_call(Xyzz<F>& acc, const Xyzz<F>& p) {
    add_xyzz(acc, p);
}
