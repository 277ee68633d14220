//! Limits of an interface (`ptl_ni_limits_t`).

/// Bytes of data that travel with their header. Longer data goes by itself when the target has found memory for it. Header and
/// data are one packet of the engine everywhere (4 KiB).
pub const EAGER: u64 = 3968;

/// Puts up to this length follow their header at once, by themselves: what their target refuses or has no room for comes in vain.
/// Longer ones wait until it has asked for them.
pub const PUSHED: u64 = 64 << 10;

/// Pushes of an interface whose data has not left at most; puts beyond ask first. Data that comes long before its header is looked at has
/// to be kept and found again.
pub(crate) const PUSHES: usize = 32;

/// Entries of one kind at a time: what a handle's index can tell apart ([`crate::handle`]).
pub const MAX_OBJECTS: i32 = (1 << 17) - 1;

/// A limit that a program may ask for: the least that is given, what is given without a wish, the most.
type Range<T> = (T, T, T);

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $range:expr;)*) => {
        /// See "Network Interface Limits", section 3.6.1; the fields have the specification's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct Limits {
            $($(#[$doc])* pub $name: $ty,)*
            /// `PTL_TARGET_BIND_INACCESSIBLE`, `PTL_TOTAL_DATA_ORDERING`, `PTL_COHERENT_ATOMICS`: none of them.
            pub features: u32,
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: { let (_, default, _): Range<$ty> = $range; default },)* features: 0 }
            }
        }

        impl Limits {
            /// What a program that wishes for `self` gets: each limit as near as possible.
            pub fn granted(self) -> Limits {
                Limits {
                    $($name: { let (least, _, most): Range<$ty> = $range; self.$name.clamp(least, most) },)*
                    features: 0,
                }
            }
        }
    };
}

limits! {
    max_entries: i32 = (1, 16384, MAX_OBJECTS);
    max_unexpected_headers: i32 = (1, 8192, 1 << 20);
    max_mds: i32 = (1, 16384, MAX_OBJECTS);
    max_cts: i32 = (1, 16384, MAX_OBJECTS);
    max_eqs: i32 = (1, 1024, MAX_OBJECTS);
    /// At least 63, as the specification wants; each index costs a word.
    max_pt_index: i32 = (63, 63, 1023);
    /// A vector is copied when its descriptor is made.
    max_iovecs: i32 = (1, 1024, 65536);
    max_list_size: i32 = (1, 16384, MAX_OBJECTS);
    max_triggered_ops: i32 = (1, 16384, 1 << 20);
    max_msg_size: u64 = (1, i64::MAX as u64, i64::MAX as u64);
    /// Atomic operations travel with their data.
    max_atomic_size: u64 = (32, 2048, EAGER);
    max_fetch_atomic_size: u64 = (32, 2048, EAGER);
    /// What travels with its header is written in the order of the headers.
    max_waw_ordered_size: u64 = (0, EAGER, EAGER);
    max_war_ordered_size: u64 = (0, EAGER, EAGER);
    /// What travels with its header has been copied when the call returns.
    max_volatile_size: u64 = (0, EAGER, EAGER);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_met_as_far_as_possible() {
        let wish =
            Limits { max_entries: 5, max_pt_index: 3, max_cts: i32::MAX, ..Limits::default() };
        let wish = Limits { max_mds: -1, max_atomic_size: u64::MAX, features: 7, ..wish };
        let granted = wish.granted();
        assert_eq!(
            (granted.max_entries, granted.max_pt_index, granted.max_cts),
            (5, 63, MAX_OBJECTS)
        );
        assert_eq!((granted.max_mds, granted.max_atomic_size, granted.features), (1, EAGER, 0));
        assert_eq!(Limits::default().granted(), Limits::default());
    }
}
