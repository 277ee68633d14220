//! What the protocol counts.

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        /// What has happened on all links of a process together.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters { $($(#[doc = $doc])* pub $name: u64,)* }

        impl Counters {
            /// Name and meaning of every counter, in the order of `read`.
            pub const TABLE: &[(&str, &str)] =
                &[$((stringify!($name), concat!($($doc),*)),)*];

            /// Name and value of every counter.
            pub fn read(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Packets accepted for sending.
    packets_sent,
    /// Packets delivered.
    packets_delivered,
    /// Datagrams handed out, of every kind.
    datagrams_sent,
    /// Datagrams that were sent again.
    retransmitted,
    /// Datagrams sent for an acknowledgement only.
    acks_sent,
    /// Datagrams handed in.
    datagrams_received,
    /// Datagrams buffered because one before them was missing.
    reordered,
    /// Datagrams dropped because their data had come.
    duplicates,
    /// Datagrams dropped because their number had come or was far behind.
    replayed,
    /// Datagrams dropped because they lie outside of the window.
    outside,
    /// Datagrams dropped because no correct peer sends such bytes.
    garbage,
    /// Datagrams dropped because there was no memory to buffer them.
    no_room,
    /// Datagrams found lost by later acknowledgements.
    lost,
    /// Times that a sender waited in vain for any acknowledgement.
    timeouts,
    /// Times that a sender lowered its window because of losses.
    slowdowns,
    /// Probes for a larger datagram size.
    probes,
    /// Times that the datagram size toward a peer was lowered.
    size_lowered,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_values_agree() {
        let c = Counters { garbage: 7, ..Counters::default() };
        let values = c.read();
        assert_eq!(values.len(), Counters::TABLE.len());
        assert!(values.iter().zip(Counters::TABLE).all(|(v, t)| v.0 == t.0));
        assert!(values.contains(&("garbage", 7)));
    }
}
