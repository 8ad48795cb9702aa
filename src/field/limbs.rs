//! The moduli, and 52-bit limbs: the representation that IFMA multiplies, and its constants.
//!
//! An Fp element takes eight limbs and Montgomery radix 2^416, an Fr element five and 2^260.

/// Bits of a limb.
pub const LIMB_BITS: usize = 52;
/// The low 52 bits.
pub const LIMB_MASK: u64 = (1 << LIMB_BITS) - 1;
/// Limbs of an Fp element.
pub const FP_LIMBS: usize = 8;
/// Limbs of an Fr element.
pub const FR_LIMBS: usize = 5;

/// The modulus of Fp, 64-bit limbs, least significant first.
pub const FP_MODULUS: [u64; 6] = [
    0xb9fe_ffff_ffff_aaab,
    0x1eab_fffe_b153_ffff,
    0x6730_d2a0_f6b0_f624,
    0x6477_4b84_f385_12bf,
    0x4b1b_a7b6_434b_acd7,
    0x1a01_11ea_397f_e69a,
];
/// The modulus of Fr, 64-bit limbs, least significant first.
pub const FR_MODULUS: [u64; 4] =
    [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];

/// The `N` little-endian bytes of 64-bit words.
pub const fn le_bytes<const W: usize, const N: usize>(words: [u64; W]) -> [u8; N] {
    assert!(N == 8 * W, "eight bytes a word");
    let mut bytes = [0; N];
    let mut i = 0;
    while i < N {
        bytes[i] = words[i / 8].to_le_bytes()[i % 8];
        i += 1;
    }
    bytes
}

/// Splits 64-bit words into `N` limbs of 52 bits, least significant first.
#[inline(always)]
pub(super) const fn split<const W: usize, const N: usize>(words: [u64; W]) -> [u64; N] {
    let mut limbs = [0; N];
    let mut i = 0;
    while i < N {
        let (word, shift) = (i * LIMB_BITS / 64, i * LIMB_BITS % 64);
        let mut limb = if word < W { words[word] >> shift } else { 0 };
        if shift > 64 - LIMB_BITS && word + 1 < W {
            limb |= words[word + 1] << (64 - shift);
        }
        limbs[i] = limb & LIMB_MASK;
        i += 1;
    }
    limbs
}

/// Joins normalised 52-bit limbs into `W` 64-bit words; bits beyond them must be zero.
#[inline(always)]
pub(super) const fn join<const N: usize, const W: usize>(limbs: [u64; N]) -> [u64; W] {
    let mut words = [0; W];
    let mut i = 0;
    while i < N {
        let (word, shift) = (i * LIMB_BITS / 64, i * LIMB_BITS % 64);
        if word < W {
            words[word] |= limbs[i] << shift;
            if shift > 64 - LIMB_BITS && word + 1 < W {
                words[word + 1] |= limbs[i] >> (64 - shift);
            }
        }
        i += 1;
    }
    words
}

/// 2^exponent mod modulus, by doubling.
pub const fn power_of_two<const W: usize>(exponent: usize, modulus: [u64; W]) -> [u64; W] {
    let mut value = [0; W];
    value[0] = 1;
    let mut step = 0;
    while step < exponent {
        let mut doubled = [0; W];
        let mut i = 0;
        while i < W {
            doubled[i] = value[i] << 1 | if i > 0 { value[i - 1] >> 63 } else { 0 };
            i += 1;
        }
        value = subtract_once(doubled, modulus);
        step += 1;
    }
    value
}

/// `value - modulus` when that is not negative, else `value`.
const fn subtract_once<const W: usize>(value: [u64; W], modulus: [u64; W]) -> [u64; W] {
    let mut reduced = [0; W];
    let mut borrow = false;
    let mut i = 0;
    while i < W {
        let (difference, under) = value[i].overflowing_sub(modulus[i]);
        let (difference, under_again) = difference.overflowing_sub(borrow as u64);
        reduced[i] = difference;
        borrow = under || under_again;
        i += 1;
    }
    if borrow { value } else { reduced }
}

/// `-low^-1` mod 2^52 for an odd `low`: Montgomery's constant (Newton's iteration).
pub(super) const fn montgomery_factor(low: u64) -> u64 {
    let mut inverse = 1u64;
    let mut step = 0;
    while step < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(low.wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg() & LIMB_MASK
}

/// `factor * limbs` with normalised limbs; the product must fit.
pub(super) const fn multiple<const N: usize>(limbs: [u64; N], factor: u64) -> [u64; N] {
    let mut product = [0; N];
    let mut carry = 0;
    let mut i = 0;
    while i < N {
        let sum = limbs[i] as u128 * factor as u128 + carry;
        product[i] = sum as u64 & LIMB_MASK;
        carry = sum >> LIMB_BITS;
        i += 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use blst::{blst_fp, blst_fr};
    use blstrs::{Fp, Scalar};
    use ff::Field;

    #[test]
    fn powers_of_two_are_blsts_montgomery_ones() {
        assert_eq!(power_of_two(384, FP_MODULUS), blst_fp::from(Fp::ONE).l);
        assert_eq!(power_of_two(256, FR_MODULUS), blst_fr::from(Scalar::ONE).l);
    }

    #[test]
    fn the_largest_elements_are_one_less_than_the_moduli() {
        let mut largest = le_bytes::<6, 48>(FP_MODULUS);
        largest[0] -= 1;
        assert_eq!(largest, (-Fp::ONE).to_bytes_le());
        let mut largest = le_bytes::<4, 32>(FR_MODULUS);
        largest[0] -= 1;
        assert_eq!(largest, (-Scalar::ONE).to_bytes_le());
    }

    #[test]
    fn limbs_split_and_join_back() {
        let limbs: [u64; FP_LIMBS] = split(FP_MODULUS);
        assert!(limbs.iter().all(|&l| l <= LIMB_MASK));
        assert_eq!(join::<FP_LIMBS, 6>(limbs), FP_MODULUS);
        let limbs: [u64; FR_LIMBS] = split(FR_MODULUS);
        assert_eq!(join::<FR_LIMBS, 4>(limbs), FR_MODULUS);
    }
}
