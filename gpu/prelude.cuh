// Carry-chain primitives, the lowest layer.
//
// On the device each is one or two PTX instructions that leave the carry in the condition code;
// `asm volatile` keeps a chain in order. Compiled by a host compiler, the carry lives in a
// thread-local word instead, so that the very same limb algorithms run, and are tested, on a
// machine with no GPU.

#ifndef PROVE_PRELUDE
#define PROVE_PRELUDE

#include <cstdint>

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
// Out of line: cold paths, and the large functions whose call costs little beside their work.
#define DEVICE_CALL __device__ __noinline__
#define DEVICE_MEMBER static __device__ __forceinline__
#define DEVICE_METHOD __device__ __forceinline__
// Wide enough for 16-byte accesses.
#define FIELD_ALIGN alignas(16)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")

// A zero that ptxas cannot see through: with a literal, it splits the multiply-adds of a modulus
// whose Montgomery factor is -1 into low and high halves (19 to 36 % more pipe slots).
__constant__ uint32_t hidden_zero = 0;

DEVICE uint32_t swap_bytes(uint32_t word) { return __byte_perm(word, 0, 0x0123); }

DEVICE uint32_t add_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

DEVICE uint32_t addc_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

DEVICE uint32_t addc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

DEVICE uint32_t sub_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

DEVICE uint32_t subc_cc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

DEVICE uint32_t subc(uint32_t a, uint32_t b) {
    uint32_t r;
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

// (hi, lo) = a * b.
DEVICE void mul_wide(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    asm volatile("mul.lo.u32 %0, %2, %3; mul.hi.u32 %1, %2, %3;"
                 : "=r"(lo), "=r"(hi)
                 : "r"(a), "r"(b));
}

// (hi, lo) += a * b, carry out.
DEVICE void mad_wide_cc(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    asm volatile("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.cc.u32 %1, %2, %3, %1;"
                 : "+r"(lo), "+r"(hi)
                 : "r"(a), "r"(b));
}

// (hi, lo) += a * b + carry, carry out.
DEVICE void madc_wide_cc(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %0; madc.hi.cc.u32 %1, %2, %3, %1;"
                 : "+r"(lo), "+r"(hi)
                 : "r"(a), "r"(b));
}

// (hi, lo) = a * b + (add_hi, add_lo) + carry, carry out.
DEVICE void madc_wide_from_cc(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b, uint32_t add_lo,
                              uint32_t add_hi) {
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %4; madc.hi.cc.u32 %1, %2, %3, %5;"
                 : "=r"(lo), "=r"(hi)
                 : "r"(a), "r"(b), "r"(add_lo), "r"(add_hi));
}

// (hi, lo) = a * b + carry; cannot carry out.
DEVICE void madc_wide_last(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    asm volatile("madc.lo.cc.u32 %0, %2, %3, 0; madc.hi.u32 %1, %2, %3, 0;"
                 : "=r"(lo), "=r"(hi)
                 : "r"(a), "r"(b));
}

#else // a host compiler

#define DEVICE static inline
#define DEVICE_CALL static
#define DEVICE_MEMBER static inline
// blst's alignment, which is what the tests pass.
#define FIELD_ALIGN alignas(8)
#define UNROLL
#define NO_UNROLL

static const uint32_t hidden_zero = 0;
static thread_local uint32_t carry_flag = 0;

DEVICE uint32_t swap_bytes(uint32_t word) { return __builtin_bswap32(word); }

DEVICE uint32_t sum_with_flag(uint64_t sum) {
    carry_flag = (uint32_t)(sum >> 32);
    return (uint32_t)sum;
}

DEVICE uint32_t difference_with_flag(uint64_t difference) {
    carry_flag = (uint32_t)(difference >> 63);
    return (uint32_t)difference;
}

DEVICE uint32_t add_cc(uint32_t a, uint32_t b) { return sum_with_flag((uint64_t)a + b); }
DEVICE uint32_t addc_cc(uint32_t a, uint32_t b) {
    return sum_with_flag((uint64_t)a + b + carry_flag);
}
DEVICE uint32_t addc(uint32_t a, uint32_t b) { return a + b + carry_flag; }
DEVICE uint32_t sub_cc(uint32_t a, uint32_t b) { return difference_with_flag((uint64_t)a - b); }
DEVICE uint32_t subc_cc(uint32_t a, uint32_t b) {
    return difference_with_flag((uint64_t)a - b - carry_flag);
}
DEVICE uint32_t subc(uint32_t a, uint32_t b) { return a - b - carry_flag; }

DEVICE void mul_wide(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    uint64_t product = (uint64_t)a * b;
    lo = (uint32_t)product;
    hi = (uint32_t)(product >> 32);
}

DEVICE void madc_wide_from_cc(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b, uint32_t add_lo,
                              uint32_t add_hi) {
    uint64_t product = (uint64_t)a * b;
    lo = sum_with_flag((product & 0xffffffffu) + add_lo + carry_flag);
    hi = sum_with_flag((product >> 32) + add_hi + carry_flag);
}

DEVICE void madc_wide_cc(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    madc_wide_from_cc(lo, hi, a, b, lo, hi);
}

DEVICE void mad_wide_cc(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    carry_flag = 0;
    madc_wide_cc(lo, hi, a, b);
}

DEVICE void madc_wide_last(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
    madc_wide_from_cc(lo, hi, a, b, 0, 0);
}

#endif

#endif
