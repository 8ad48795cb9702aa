// Multiples of a generator in the parameter file's form: what a setup writes.

// **Computes** the uncompressed big-endian form of scalars[i] G; zero gives encoded infinity.
// **Shapes** out: n x 96 (G1) or 192 (G2) bytes; table: 16 x 2^15 points; scalars: n.
// **Launch** grid of n / (128 * 8) rounded up, block 128.
// **Requires** scalars in [0, r), Montgomery; 8 * 128 * grid below 2^32.
// **Cost** 15 mixed additions, 13 products for the affine form, and 580 / 8 for the inversion.
extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS, ACCUMULATE_MIN_BLOCKS)
    fixed_base_encode_g1(uint32_t* out, const Affine<Fp>* __restrict__ table,
                         const Fr* __restrict__ scalars, uint32_t n) {
    uint32_t thread = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    encode_multiples(out, table, scalars, n, thread, gridDim.x * ACCUMULATE_THREADS);
}

extern "C" __global__ void __launch_bounds__(ACCUMULATE_THREADS, ACCUMULATE_MIN_BLOCKS)
    fixed_base_encode_g2(uint32_t* out, const Affine<Fp2>* __restrict__ table,
                         const Fr* __restrict__ scalars, uint32_t n) {
    uint32_t thread = blockIdx.x * ACCUMULATE_THREADS + threadIdx.x;
    encode_multiples(out, table, scalars, n, thread, gridDim.x * ACCUMULATE_THREADS);
}
