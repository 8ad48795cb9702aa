// Elementwise steps around ec-gpu-gen's transforms and sums, whose values must be in [0, r).

// **Computes** x[i] = x[i] * scale * base^i, each factor where it is given.
// **Shapes** x: n; powers[d][v] = base^(v * 2^(8 d)), 4 x 256, or null; scale: one, or null.
// **Launch** grid of n / 256 rounded up, block 256.
// **Requires** x in [0, 2r), powers and scale in [0, r). **Ensures** x in [0, r).
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    pointwise_scale(Fr* x, const Fr* powers, const Fr* scale, uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    Fr value = load_fr(x + i);
    if (scale) value = mul_canonical(load_fr(scale), value);
    if (powers) {
        UNROLL
        for (uint32_t d = 0; d < 4; d++) {
            uint32_t digit = (i >> (8 * d)) & 255;
            value = mul_canonical(load_fr(powers + 256 * d + digit), value);
        }
    }
    store_fr(x + i, canonical(value));
}

// **Computes** out[i] = x[i] * y[i]. **Shapes** all: n; out may be x or y. Block 256.
// **Requires** x, y in [0, 2r). **Ensures** out in [0, r).
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    pointwise_multiply(Fr* out, const Fr* x, const Fr* y, uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    store_fr(out + i, canonical(mul(load_fr(x + i), load_fr(y + i))));
}

// **Computes** out[i] = (x[i] - y[i]) / 2. **Shapes** all: n; out may be x or y. Block 256.
// **Requires** x, y in [0, 2r). **Ensures** out in [0, r).
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    pointwise_half_difference(Fr* out, const Fr* x, const Fr* y, uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    store_fr(out + i, canonical(halve(sub(load_fr(x + i), load_fr(y + i)))));
}

// **Computes** out[i] = the integer x[i], out of Montgomery form: 32 bytes, little-endian.
// **Shapes** both: n; out may be x. Block 256. **Requires** x in [0, 2r). **Ensures** out < r.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
    pointwise_integers(Fr* out, const Fr* x, uint32_t n) {
    uint32_t i = blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i >= n) return;
    store_fr(out + i, to_integer(load_fr(x + i)));
}
