use crate::check_size;
use std::io;

/// Random bytes, as the kernel makes them for secrets. Blocks only while the machine that has just started has none yet.
///
/// # Errors
/// The system gives none, or not all: so few (256 at most are whole by the kernel's promise) come at once.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "more than the kernel gives in one piece") };
    let mut bytes = [0; N];
    // SAFETY: the buffer is writable for its length.
    let count = check_size(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) })?;
    if count == N { Ok(bytes) } else { Err(io::ErrorKind::Interrupted.into()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_are_the_same() {
        let (one, other) = (super::random::<16>().unwrap(), super::random::<16>().unwrap());
        assert_ne!(one, other);
    }
}
