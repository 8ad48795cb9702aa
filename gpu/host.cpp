// The device functions compiled for the host: what tests/gpu_field.rs calls.

#include "constants.cuh"
#include "prelude.cuh"
#include "tuning.cuh"
#include "field.cuh"
#include "inverse.cuh"
#include "curve.cuh"
#include "affine.cuh"
#include "fixed_base.cuh"

// As `apply_operation` of field_check.cu.
template <class F>
static void apply(F* out, const F* in, uint32_t operation) {
    switch (operation) {
    case 0: *out = add(in[0], in[1]); break;
    case 1: *out = sub(in[0], in[1]); break;
    case 2: *out = mul(in[0], in[1]); break;
    case 3: *out = sqr(in[0]); break;
    case 4: *out = add(neg(in[0]), zero(in)); break;
    default: *out = mul_add(in[0], in[1], in[2], in[3]); break;
    }
    *out = canonical(*out);
}

template <class F> static void add_points(Xyzz<F>* acc, const Affine<F>* p, uint32_t operation) {
    switch (operation) {
    case 0: add_affine(*acc, *p); break;
    case 1: add_xyzz(*acc, is_identity(*p) ? xyzz_identity<F>() : to_xyzz(*p)); break;
    default: *acc = double_xyzz(*acc); break;
    }
    *acc = canonical_xyzz(*acc);
}

// As `fixed_base_encode_*`, one simulated thread after the other.
template <class F>
static void encode_all(uint32_t* out, const Affine<F>* table, const Fr* scalars, uint32_t n) {
    uint32_t threads = (n + FIXED_BASE_POINTS - 1) / FIXED_BASE_POINTS;
    for (uint32_t thread = 0; thread < threads; thread++) {
        encode_multiples(out, table, scalars, n, thread, threads);
    }
}

extern "C" {

void prove_host_fr(Fr* out, const Fr* in, uint32_t operation) {
    switch (operation) {
    case 0: *out = canonical(add(in[0], in[1])); break;
    case 1: *out = canonical(sub(in[0], in[1])); break;
    case 2: *out = canonical(mul(in[0], in[1])); break;
    case 3: *out = to_integer(in[0]); break;
    default: *out = canonical(halve(in[0])); break;
    }
}

void prove_host_fp(Fp* out, const Fp* in, uint32_t operation) { apply(out, in, operation); }
void prove_host_fp2(Fp2* out, const Fp2* in, uint32_t operation) { apply(out, in, operation); }

void prove_host_invert(Fp* out, const Fp* in) { *out = canonical(inverse(*in)); }

void prove_host_g1(Xyzz<Fp>* acc, const Affine<Fp>* p, uint32_t operation) {
    add_points(acc, p, operation);
}

void prove_host_g2(Xyzz<Fp2>* acc, const Affine<Fp2>* p, uint32_t operation) {
    add_points(acc, p, operation);
}

void prove_host_multiples_g1(uint32_t* out, const Affine<Fp>* table, const Fr* scalars,
                             uint32_t n) {
    encode_all(out, table, scalars, n);
}

void prove_host_multiples_g2(uint32_t* out, const Affine<Fp2>* table, const Fr* scalars,
                             uint32_t n) {
    encode_all(out, table, scalars, n);
}
}
