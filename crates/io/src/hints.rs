//! Hints about files (MPI 5.0, section 14.2.8): the reserved keys that are used here, and the names that
//! ROMIO's users write for the same.

/// What a program may say about how a file is to be accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    /// `cb_nodes`: ranks that gather pieces in collective calls; 0: one for each host.
    pub aggregators: u32,
    /// `cb_buffer_size`: bytes that an aggregator gathers before it writes them.
    pub gather_bytes: u64,
    /// `romio_cb_read`, `romio_cb_write`: whether pieces are gathered.
    pub gather_reads: When,
    pub gather_writes: When,
    /// `romio_ds_read`: whether holes between pieces are read along. (None are written along.)
    pub sieve_reads: When,
    /// `ind_rd_buffer_size`: bytes that are read at a time then.
    pub sieve_read_bytes: u64,
}

/// A choice that is left to us unless the program makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Automatic,
    Always,
    Never,
}

impl When {
    fn of(text: &str) -> Option<When> {
        match text {
            "automatic" => Some(When::Automatic),
            "enable" | "true" => Some(When::Always),
            "disable" | "false" => Some(When::Never),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            When::Automatic => "automatic",
            When::Always => "enable",
            When::Never => "disable",
        }
    }
}

/// Largest buffer that a hint may ask for: more is surely a mistake, and would be memory of every rank.
const MAX_BUFFER: u64 = 1 << 30;
/// Smallest one, a page: less would be a system call for every few bytes.
const MIN_BUFFER: u64 = 4096;

impl Default for Hints {
    fn default() -> Hints {
        Hints {
            aggregators: 0,
            // ROMIO's default. Larger ones leave the processor's cache.
            gather_bytes: 16 << 20,
            gather_reads: When::Automatic,
            gather_writes: When::Automatic,
            sieve_reads: When::Automatic,
            sieve_read_bytes: 4 << 20,
        }
    }
}

impl Hints {
    /// Takes a hint. What is not known, or has a value that means nothing, is ignored, as the standard asks.
    pub fn set(&mut self, key: &str, value: &str) {
        let value = value.trim();
        let bytes = || value.parse::<u64>().ok().map(|n| n.clamp(MIN_BUFFER, MAX_BUFFER));
        fn put<V>(place: &mut V, value: Option<V>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        match key {
            "cb_nodes" => put(&mut self.aggregators, value.parse().ok()),
            "cb_buffer_size" => put(&mut self.gather_bytes, bytes()),
            "romio_cb_read" => put(&mut self.gather_reads, When::of(value)),
            "romio_cb_write" => put(&mut self.gather_writes, When::of(value)),
            "collective_buffering" => {
                put(&mut self.gather_reads, When::of(value));
                put(&mut self.gather_writes, When::of(value));
            }
            "romio_ds_read" => put(&mut self.sieve_reads, When::of(value)),
            "ind_rd_buffer_size" => put(&mut self.sieve_read_bytes, bytes()),
            _ => {}
        }
    }

    /// All hints in force, as `MPI_File_get_info` tells them.
    pub fn list(&self) -> Vec<(&'static str, String)> {
        vec![
            ("cb_nodes", self.aggregators.to_string()),
            ("cb_buffer_size", self.gather_bytes.to_string()),
            ("romio_cb_read", self.gather_reads.name().into()),
            ("romio_cb_write", self.gather_writes.name().into()),
            ("romio_ds_read", self.sieve_reads.name().into()),
            ("romio_ds_write", When::Never.name().into()),
            ("ind_rd_buffer_size", self.sieve_read_bytes.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_unknown_and_senseless() {
        let mut hints = Hints::default();
        for (key, value) in
            [("cb_nodes", "3"), ("cb_buffer_size", "1"), ("x", "y"), ("romio_cb_read", "?")]
        {
            hints.set(key, value);
        }
        assert_eq!(hints.aggregators, 3);
        assert_eq!(hints.gather_bytes, MIN_BUFFER);
        assert_eq!(hints.gather_reads, When::Automatic);
        let mut again = Hints::default();
        hints.list().iter().for_each(|(key, value)| again.set(key, value));
        assert_eq!(again, hints);
    }
}
