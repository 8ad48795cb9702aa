// The field operations one by one, for the tests that compare them with blst on the device.

template <class F> DEVICE F apply_operation(const F& a, const F& b, const F& c, const F& d,
                                            uint32_t operation) {
    switch (operation) {
    case 0: return canonical(add(a, b));
    case 1: return canonical(sub(a, b));
    case 2: return canonical(mul(a, b));
    case 3: return canonical(sqr(a));
    // A negated zero is 2p, which one more sum brings back into range.
    case 4: return canonical(add(neg(a), zero(&a)));
    default: return canonical(mul_add(a, b, c, d));
    }
}

DEVICE Fr apply_operation(const Fr& a, const Fr& b, const Fr&, const Fr&, uint32_t operation) {
    switch (operation) {
    case 0: return canonical(add(a, b));
    case 1: return canonical(sub(a, b));
    case 2: return canonical(mul(a, b));
    case 3: return to_integer(a);
    default: return canonical(halve(a));
    }
}

// **Computes** out[i] = operation(in[i][0..4]). **Shapes** out: n; in: n x 4. Block 256.
template <class F> DEVICE void check_field(F* out, const F* in, uint32_t operation, uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    const F* operands = in + 4 * static_cast<size_t>(i);
    out[i] = apply_operation(operands[0], operands[1], operands[2], operands[3], operation);
}

extern "C" __global__ void field_check_fr(Fr* out, const Fr* in, uint32_t operation, uint32_t n) {
    check_field(out, in, operation, n);
}

extern "C" __global__ void field_check_fp(Fp* out, const Fp* in, uint32_t operation, uint32_t n) {
    check_field(out, in, operation, n);
}

extern "C" __global__ void field_check_fp2(Fp2* out, const Fp2* in, uint32_t operation,
                                           uint32_t n) {
    check_field(out, in, operation, n);
}

// ---- rates ----

template <class F> DEVICE void multiply_chain(F* out, const F* in, uint32_t factors, uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    F a = in[2 * static_cast<size_t>(i)];
    F b = in[2 * static_cast<size_t>(i) + 1];
    NO_UNROLL
    for (uint32_t k = 0; k < factors; k++) a = mul(b, a);
    out[i] = canonical(a);
}

// **Computes** out[i] = in[2i] * in[2i + 1]^factors by as many dependent products, the field's rate
// where enough threads hide their latency. **Shapes** out: n; in: 2n. **Launch** grid of n / 256
// rounded up, block 256. **Requires** in[2i + 1] in [0, m).
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    field_chains_fr(Fr* out, const Fr* in, uint32_t factors, uint32_t n) {
    multiply_chain(out, in, factors, n);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    field_chains_fp(Fp* out, const Fp* in, uint32_t factors, uint32_t n) {
    multiply_chain(out, in, factors, n);
}
