//! What a process that is no rank reads of a port's name (`MPI_Open_port`): the launcher that brings spawned ranks of another
//! site to the rank that has started them. The library writes and reads the whole of it.

/// What every name of a port begins with, with the version of its form and of what is said on it. A check value follows, and
/// behind a colon the port's id.
pub const PREFIX: &str = "hpvm-port:3:";
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 16;

/// The id of the port of this name.
pub fn id_of(name: &str) -> Option<&str> {
    let id = name.strip_prefix(PREFIX)?.split(':').nth(1)?;
    (id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// The name of the port's socket on its host, which is an abstract one.
pub fn socket_name(id: &str) -> String {
    format!("hpvm-port-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_behind_the_check_value() {
        let name = "hpvm-port:3:00000000000000ff:0123456789abcdef:secret:host:card";
        assert_eq!(id_of(name), Some("0123456789abcdef"));
        for wrong in ["", "hpvm-port:3:", "hpvm-port:2:0123456789abcdef:s", "hpvm-port:3:1:2:3"] {
            assert_eq!(id_of(wrong), None, "{wrong}");
        }
    }
}
