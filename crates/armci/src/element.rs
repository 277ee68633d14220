//! What accumulates add: `dest += scale * source`.

/// The types of an accumulate, by their codes in `armci.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Int,
    Long,
    Float,
    Double,
    Complex,
    DoubleComplex,
}

/// Sixteen bytes: the longest factor.
type Factor = [u8; 16];

/// `count` of a factor's parts.
macro_rules! parts {
    ($ty:ident, $factor:expr, $i:literal) => {{
        const SIZE: usize = size_of::<$ty>();
        let mut bytes = [0; SIZE];
        bytes.copy_from_slice(&$factor[$i * SIZE..($i + 1) * SIZE]);
        $ty::from_ne_bytes(bytes)
    }};
}

/// Makes each number of `to` from those of `from` in the same place, and its own.
macro_rules! real {
    ($ty:ident, $from:expr, $to:expr, |$x:ident, $y:ident| $make:expr) => {{
        const SIZE: usize = size_of::<$ty>();
        for (from, to) in $from.as_chunks::<SIZE>().0.iter().zip($to.as_chunks_mut::<SIZE>().0) {
            let ($x, $y) = ($ty::from_ne_bytes(*from), $ty::from_ne_bytes(*to));
            let _ = $y;
            *to = $ty::to_ne_bytes($make);
        }
    }};
}

/// The same of pairs.
macro_rules! pair {
    ($ty:ident, $from:expr, $to:expr, $factor:expr, |$x:ident, $y:ident| $make:expr) => {{
        const SIZE: usize = size_of::<$ty>();
        let (re, im): ($ty, $ty) = (parts!($ty, $factor, 0), parts!($ty, $factor, 1));
        let from = $from.as_chunks::<SIZE>().0.as_chunks::<2>().0;
        for (from, to) in from.iter().zip($to.as_chunks_mut::<SIZE>().0.as_chunks_mut::<2>().0) {
            let (a, b) = ($ty::from_ne_bytes(from[0]), $ty::from_ne_bytes(from[1]));
            for (part, $x) in to.iter_mut().zip([re * a - im * b, re * b + im * a]) {
                let $y = $ty::from_ne_bytes(*part);
                let _ = $y;
                *part = $ty::to_ne_bytes($make);
            }
        }
    }};
}

/// All types, with the same two expressions for whole numbers and for others.
macro_rules! all {
    ($element:expr, $factor:expr, $from:expr, $to:expr, |$x:ident, $y:ident| $whole:expr, $broken:expr) => {{
        let factor: &Factor = $factor;
        match $element {
            Element::Int => {
                let f: i32 = parts!(i32, factor, 0);
                real!(i32, $from, $to, |x, $y| {
                    let $x = x.wrapping_mul(f);
                    $whole
                })
            }
            Element::Long => {
                let f: i64 = parts!(i64, factor, 0);
                real!(i64, $from, $to, |x, $y| {
                    let $x = x.wrapping_mul(f);
                    $whole
                })
            }
            Element::Float => {
                let f: f32 = parts!(f32, factor, 0);
                real!(f32, $from, $to, |x, $y| {
                    let $x = x * f;
                    $broken
                })
            }
            Element::Double => {
                let f: f64 = parts!(f64, factor, 0);
                real!(f64, $from, $to, |x, $y| {
                    let $x = x * f;
                    $broken
                })
            }
            Element::Complex => pair!(f32, $from, $to, factor, |$x, $y| $broken),
            Element::DoubleComplex => pair!(f64, $from, $to, factor, |$x, $y| $broken),
        }
    }};
}

impl Element {
    /// By `ARMCI_ACC_INT` ... `ARMCI_ACC_DCP`.
    pub fn from_code(code: i32) -> Option<Element> {
        use Element::*;
        let all = [Int, Long, Float, Double, Complex, DoubleComplex];
        usize::try_from(code).ok().and_then(|code| all.get(code).copied())
    }

    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Element::Int | Element::Float => 4,
            Element::Long | Element::Double | Element::Complex => 8,
            Element::DoubleComplex => 16,
        }
    }

    /// The factor in as many bytes as the longest has.
    pub fn factor(self, bytes: &[u8]) -> Factor {
        let mut factor = [0; 16];
        let len = self.size().min(bytes.len());
        factor[..len].copy_from_slice(&bytes[..len]);
        factor
    }

    /// Whether a factor is 1.
    pub fn is_one(self, factor: &Factor) -> bool {
        match self {
            Element::Int => parts!(i32, factor, 0) == 1,
            Element::Long => parts!(i64, factor, 0) == 1,
            Element::Float => parts!(f32, factor, 0) == 1.0,
            Element::Double => parts!(f64, factor, 0) == 1.0,
            Element::Complex => parts!(f32, factor, 0) == 1.0 && parts!(f32, factor, 1) == 0.0,
            Element::DoubleComplex => {
                parts!(f64, factor, 0) == 1.0 && parts!(f64, factor, 1) == 0.0
            }
        }
    }

    /// `to = factor * from`, whole elements, as many as both have.
    pub fn scale(self, factor: &Factor, from: &[u8], to: &mut [u8]) {
        all!(self, factor, from, to, |x, _y| x, x);
    }

    /// `to += factor * from`, which is not atomic.
    pub fn add(self, factor: &Factor, from: &[u8], to: &mut [u8]) {
        all!(self, factor, from, to, |x, y| y.wrapping_add(x), y + x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(numbers: &[f64], to: impl Fn(f64) -> [u8; N]) -> Vec<u8> {
        numbers.iter().flat_map(|x| to(*x)).collect()
    }

    #[test]
    fn codes_are_those_of_the_header() {
        let sizes: Vec<_> = (0..6).filter_map(Element::from_code).map(Element::size).collect();
        assert_eq!(sizes, [4, 8, 4, 8, 8, 16]);
        assert!(Element::from_code(6).is_none() && Element::from_code(-1).is_none());
    }

    #[test]
    fn real_numbers() {
        fn check<const N: usize>(element: Element, to: impl Fn(f64) -> [u8; N] + Copy) {
            let factor = element.factor(&to(3.0));
            let from = bytes(&[1.0, -2.0, 5.0], to);
            let mut there = bytes(&[10.0, 20.0, 30.0], to);
            element.add(&factor, &from, &mut there);
            assert_eq!(there, bytes(&[13.0, 14.0, 45.0], to), "{element:?}");
            element.scale(&factor, &from, &mut there);
            assert_eq!(there, bytes(&[3.0, -6.0, 15.0], to), "{element:?}");
            assert!(!element.is_one(&factor) && element.is_one(&element.factor(&to(1.0))));
        }
        check(Element::Int, |x| (x as i32).to_ne_bytes());
        check(Element::Long, |x| (x as i64).to_ne_bytes());
        check(Element::Float, |x| (x as f32).to_ne_bytes());
        check(Element::Double, f64::to_ne_bytes);
    }

    #[test]
    fn complex_numbers() {
        fn check<const N: usize>(element: Element, to: impl Fn(f64) -> [u8; N] + Copy) {
            // (2 + 3i) (1 - 4i) = 14 - 5i, (2 + 3i) (0 + i) = -3 + 2i
            let factor = element.factor(&bytes(&[2.0, 3.0], to));
            let from = bytes(&[1.0, -4.0, 0.0, 1.0], to);
            let mut there = bytes(&[100.0, 200.0, 300.0, 400.0], to);
            element.add(&factor, &from, &mut there);
            assert_eq!(there, bytes(&[114.0, 195.0, 297.0, 402.0], to), "{element:?}");
            element.scale(&factor, &from, &mut there);
            assert_eq!(there, bytes(&[14.0, -5.0, -3.0, 2.0], to), "{element:?}");
            assert!(element.is_one(&element.factor(&bytes(&[1.0, 0.0], to))));
            assert!(!element.is_one(&element.factor(&bytes(&[1.0, 1.0], to))));
        }
        check(Element::Complex, |x| (x as f32).to_ne_bytes());
        check(Element::DoubleComplex, f64::to_ne_bytes);
    }

    #[test]
    fn integers_wrap() {
        let factor = Element::Int.factor(&2_i32.to_ne_bytes());
        let mut there = i32::MAX.to_ne_bytes();
        Element::Int.add(&factor, &i32::MAX.to_ne_bytes(), &mut there);
        assert_eq!(i32::from_ne_bytes(there), i32::MAX - 2);
    }
}
