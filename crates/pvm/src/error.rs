//! PVM's error codes and their texts.

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

/// As `pvm_perror` prints them; the index is the number without its sign.
pub const TEXTS: [&str; 37] = [
    "Error 0",
    "Error 1",
    "Bad parameter",
    "Parameter mismatch",
    "Value too large",
    "End of buffer",
    "No such host",
    "No such file",
    "Permission denied",
    "Error 9",
    "Malloc failed",
    "Error 11",
    "Can't decode message",
    "Error 13",
    "Can't contact local daemon",
    "No current buffer",
    "No such buffer",
    "Null group name",
    "Already in group",
    "No such group",
    "Not in group",
    "No such instance",
    "Host failed",
    "No parent task",
    "Not implemented",
    "Pvmd system error",
    "Version mismatch",
    "Out of resources",
    "Duplicate host",
    "Can't start pvmd",
    "Already in progress",
    "No such task",
    "Not Found",
    "Already Exists",
    "Hoster must run on master host",
    "Spawning parent set PvmNoParent",
    "Master Host IP Address is Loopback! (See pvm3/Readme)",
];

/// The text of what a call returned: 0 and above are success.
pub fn text(number: i32) -> String {
    match usize::try_from(-i64::from(number)) {
        Err(_) | Ok(0) => TEXTS[0].to_owned(),
        Ok(index) => {
            TEXTS.get(index).map_or_else(|| format!("Error {index}"), |text| (*text).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_belong_to_their_numbers() {
        assert_eq!(text(Code::BadParam.number()), "Bad parameter");
        assert_eq!(text(Code::IPLoopback.number()), TEXTS[36]);
        assert_eq!(text(Code::Exists.number()), "Already Exists");
        assert_eq!(text(-99), "Error 99");
        assert_eq!(text(i32::MIN), "Error 2147483648");
    }
}
