//! What the environment says.

use hpvm_shmem::parse_size;

/// The symmetric heap when nothing is said: address space, of which pages come into being when they are touched.
const HEAP: u64 = 128 << 20;

/// The variables and their meaning, as `SHMEM_INFO` prints them.
const VARIABLES: [(&str, &str); 6] = [
    ("SHMEM_SYMMETRIC_SIZE", "bytes of each PE's symmetric heap; with k, m, g or t (128m)"),
    ("SHMEM_INFO", "print this text"),
    ("SHMEM_VERSION", "print the version"),
    ("SHMEM_DEBUG", "tell about allocations that fail, and how each PE is reached"),
    ("HPVM_STATIC_DATA", "private: other PEs do not map static data, which is slower"),
    (
        "HPVM_CHECK",
        "look for mistakes that cost time to find: memory that is not allocated, sizes that differ",
    ),
];

pub struct Settings {
    pub heap: usize,
    pub info: bool,
    pub version: bool,
    pub debug: bool,
    pub checks: bool,
    pub shares_static_data: bool,
}

/// A variable, or what it was called before OpenSHMEM 1.4.
fn variable(name: &str) -> Option<String> {
    let older = name.replacen("SHMEM_", "SMA_", 1);
    let read =
        |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    read(name).or_else(|| read(&older))
}

impl Settings {
    /// # Errors
    /// Names the variable, its value and what was expected.
    pub fn read() -> Result<Settings, String> {
        let heap = match variable("SHMEM_SYMMETRIC_SIZE") {
            None => HEAP,
            Some(text) => {
                parse_size(&text).map_err(|why| format!("SHMEM_SYMMETRIC_SIZE: {why}"))?
            }
        };
        let shares_static_data = match variable("HPVM_STATIC_DATA").as_deref() {
            None | Some("" | "shared") => true,
            Some("private") => false,
            Some(other) => {
                return Err(format!("HPVM_STATIC_DATA: '{other}'; expected shared or private"));
            }
        };
        Ok(Settings {
            shares_static_data,
            heap: usize::try_from(heap).map_err(|e| e.to_string())?,
            info: variable("SHMEM_INFO").is_some(),
            version: variable("SHMEM_VERSION").is_some(),
            debug: variable("SHMEM_DEBUG").is_some(),
            checks: hpvm_model::checks(),
        })
    }

    /// What the first PE prints at the start.
    pub fn told(&self) -> String {
        let mut text = String::new();
        if self.version {
            text.push_str(&format!("OpenSHMEM 1.6, hpvm {}\n", env!("CARGO_PKG_VERSION")));
        }
        if self.info {
            text.push_str("Environment variables (those that begin with SHMEM_ also with SMA_):\n");
            for (name, meaning) in VARIABLES {
                let value = variable(name).unwrap_or_else(|| "not set".into());
                text.push_str(&format!("  {name:<22} {meaning}; now: {value}\n"));
            }
        }
        text
    }
}
