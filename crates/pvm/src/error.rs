//! PVM's error codes and their texts.

use core::ffi::CStr;

/// What a call of PVM answers when it fails; the number is what a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    BadParam = -2,
    Mismatch = -3,
    Overflow = -4,
    NoData = -5,
    NoHost = -6,
    NoFile = -7,
    Denied = -8,
    NoMem = -10,
    BadMsg = -12,
    SysErr = -14,
    NoBuf = -15,
    NoSuchBuf = -16,
    NullGroup = -17,
    DupGroup = -18,
    NoGroup = -19,
    NotInGroup = -20,
    NoInst = -21,
    HostFail = -22,
    NoParent = -23,
    NotImpl = -24,
    DSysErr = -25,
    BadVersion = -26,
    OutOfRes = -27,
    DupHost = -28,
    CantStart = -29,
    Already = -30,
    NoTask = -31,
    NotFound = -32,
    Exists = -33,
    HostrNMstr = -34,
    ParentNotSet = -35,
    IPLoopback = -36,
}

impl Code {
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// As `pvm_perror` prints them and `pvm_errlist` has them; the index is the number without its sign.
pub const TEXTS: [&CStr; 37] = [
    c"Error 0",
    c"Error 1",
    c"Bad parameter",
    c"Parameter mismatch",
    c"Value too large",
    c"End of buffer",
    c"No such host",
    c"No such file",
    c"Permission denied",
    c"Error 9",
    c"Malloc failed",
    c"Error 11",
    c"Can't decode message",
    c"Error 13",
    c"Can't contact local daemon",
    c"No current buffer",
    c"No such buffer",
    c"Null group name",
    c"Already in group",
    c"No such group",
    c"Not in group",
    c"No such instance",
    c"Host failed",
    c"No parent task",
    c"Not implemented",
    c"Pvmd system error",
    c"Version mismatch",
    c"Out of resources",
    c"Duplicate host",
    c"Can't start pvmd",
    c"Already in progress",
    c"No such task",
    c"Not Found",
    c"Already Exists",
    c"Hoster must run on master host",
    c"Spawning parent set PvmNoParent",
    c"Master Host IP Address is Loopback! (See pvm3/Readme)",
];

/// One of them as Rust has strings.
fn owned(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// The text of what a call returned: 0 and above are success.
pub fn text(number: i32) -> String {
    match usize::try_from(-i64::from(number)) {
        Err(_) | Ok(0) => owned(TEXTS[0]),
        Ok(index) => TEXTS.get(index).map_or_else(|| format!("Error {index}"), |text| owned(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_belong_to_their_numbers() {
        assert_eq!(text(Code::BadParam.number()), "Bad parameter");
        assert_eq!(text(Code::IPLoopback.number()), owned(TEXTS[36]));
        assert_eq!(text(Code::Exists.number()), "Already Exists");
        assert_eq!(text(-99), "Error 99");
        assert_eq!(text(i32::MIN), "Error 2147483648");
    }
}
