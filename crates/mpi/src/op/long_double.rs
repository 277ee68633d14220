//! C's `long double`: x87 extended precision on x86-64, binary128 elsewhere.

#[cfg(target_arch = "x86_64")]
pub(super) use x87::LongDouble;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use super::quad::Quad as LongDouble;

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::super::element::{Ordered, Real, Ring};
    use std::arch::asm;

    /// Ten bytes of number, six of padding.
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(C)]
    pub(in super::super) struct LongDouble {
        /// Explicit integer bit and 63 fraction bits.
        pub significand: u64,
        /// Sign and 15 exponent bits.
        pub sign_exponent: u16,
        pub padding: [u16; 3],
    }

    macro_rules! binary {
        ($name:ident, $instruction:literal) => {
            fn $name(self, other: LongDouble) -> LongDouble {
                let mut result = LongDouble { significand: 0, sign_exponent: 0, padding: [0; 3] };
                // SAFETY: the three addresses are those of live values of 16 bytes, of which the
                // instructions access ten. The x87 registers are empty on entry by the calling
                // convention, declared as clobbered, and empty again after `fstp`.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        $instruction,
                        "fstp tbyte ptr [{r}]",
                        a = in(reg) &raw const self,
                        b = in(reg) &raw const other,
                        r = in(reg) &raw mut result,
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack),
                    );
                }
                result
            }
        };
    }

    impl Ring for LongDouble {
        binary!(plus, "faddp");
        binary!(times, "fmulp");
    }

    impl LongDouble {
        fn is_nan(self) -> bool {
            self.sign_exponent & 0x7fff == 0x7fff && self.significand << 1 != 0
        }

        /// A number that orders as the floating-point numbers do.
        fn key(self) -> i128 {
            let exponent = i128::from(self.sign_exponent & 0x7fff);
            let magnitude = exponent << 64 | i128::from(self.significand);
            if self.sign_exponent >> 15 == 1 { -magnitude } else { magnitude }
        }
    }

    impl Ordered for LongDouble {
        fn less(self, other: LongDouble) -> bool {
            !self.is_nan() && !other.is_nan() && self.key() < other.key()
        }
    }

    impl Real for LongDouble {
        fn negated(self) -> LongDouble {
            LongDouble { sign_exponent: self.sign_exponent ^ 0x8000, ..self }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn from_f64(value: f64) -> LongDouble {
            let mut result = LongDouble { significand: 0, sign_exponent: 0, padding: [0; 3] };
            // SAFETY: as in `binary`; eight bytes are read, ten written.
            unsafe {
                asm!("fld qword ptr [{a}]", "fstp tbyte ptr [{r}]",
                    a = in(reg) &raw const value, r = in(reg) &raw mut result,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack));
            }
            result
        }

        #[test]
        fn arithmetic_and_order() {
            for (a, b) in [(1.5, 2.25), (-3.0, 0.5), (1e300, -1e300), (0.0, -0.0)] {
                assert_eq!(from_f64(a).plus(from_f64(b)).key(), from_f64(a + b).key());
                assert_eq!(from_f64(a).less(from_f64(b)), a < b);
                assert_eq!(from_f64(b).less(from_f64(a)), b < a);
            }
            assert_eq!(from_f64(-3.0).times(from_f64(0.5)), from_f64(-1.5));
            assert!(!from_f64(f64::NAN).less(from_f64(1.0)));
            // More precise than a double: 1 + 2^-60 differs from 1.
            let tiny = from_f64(2f64.powi(-60));
            assert!(from_f64(1.0).less(from_f64(1.0).plus(tiny)));
        }
    }
}
