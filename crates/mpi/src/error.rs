//! Errors and error classes (MPI 5.0, section 9.4), with the numbers of the standard ABI.
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU16;

/// The result of every fallible operation of the MPI layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong: an MPI error class and a text for people.
///
/// A constant text costs no allocation, so an error is cheap to make and to drop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The class a program sees through `MPI_Error_class`.
    pub class: Class,
    /// Cause, offending value and remedy. Empty when the class says it all.
    pub text: Cow<'static, str>,
    /// What a function of the program returned: calls return that very code, which may be one
    /// that the program added.
    returned: Option<i32>,
    /// What the system said, by its number (`errno`), where a call of the system has failed.
    system: Option<NonZeroU16>,
}

impl Error {
    /// An error of `class` explained by `text`.
    pub fn new(class: Class, text: impl Into<Cow<'static, str>>) -> Self {
        Self { class, text: text.into(), returned: None, system: None }
    }

    /// The same, of a call of the system that failed with `errno`: other ranks are told it, too.
    pub fn of_system(class: Class, errno: i32, text: impl Into<Cow<'static, str>>) -> Self {
        let system = u16::try_from(errno).ok().and_then(NonZeroU16::new);
        Self { system, ..Self::new(class, text) }
    }

    /// What the system said (`errno`), where it was the system.
    pub fn system(&self) -> Option<NonZeroU16> {
        self.system
    }

    /// The error of a function of the program that returned `code`, of class [`Class::Other`] when
    /// the code is none of the predefined ones.
    pub fn returned(code: i32, text: impl Into<Cow<'static, str>>) -> Self {
        let class = Class::from_code(code).unwrap_or(Class::Other);
        Self { returned: Some(code), ..Self::new(class, text) }
    }

    /// What a call returns: the ABI number of the class, or the program's own code.
    pub fn code(&self) -> i32 {
        self.returned.unwrap_or_else(|| self.class.code())
    }
}

impl From<Class> for Error {
    fn from(class: Class) -> Self {
        Self::new(class, "")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.text.is_empty() { self.class.describe() } else { &self.text };
        write!(f, "{}: {text}", self.class.name())
    }
}

impl std::error::Error for Error {}

macro_rules! classes {
    ($($variant:ident = $code:literal, $name:literal, $text:literal;)*) => {
        /// The error classes of the MPI 5.0 ABI; the discriminant is the ABI number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        pub enum Class {
            $(#[doc = concat!("`", $name, "`: ", $text)] $variant = $code,)*
        }

        impl Class {
            /// Every class, in ascending order of its number.
            pub const ALL: &'static [Class] = &[$(Class::$variant,)*];

            /// The class with this ABI number; `None` for numbers that are no predefined class.
            pub fn from_code(code: i32) -> Option<Class> {
                match code {
                    $($code => Some(Class::$variant),)*
                    _ => None,
                }
            }

            /// The name of the constant, such as `"MPI_ERR_TRUNCATE"`.
            pub fn name(self) -> &'static str {
                match self { $(Class::$variant => $name,)* }
            }

            /// One sentence for people, as `MPI_Error_string` returns it.
            pub fn describe(self) -> &'static str {
                match self { $(Class::$variant => $text,)* }
            }
        }
    };
}

impl Class {
    /// The ABI number of the class.
    pub fn code(self) -> i32 {
        self as i32
    }
}

/// `MPI_ERR_LASTCODE`: classes and codes that a program adds come after it.
pub const LASTCODE: i32 = 0x3fff;

classes! {
    Success = 0, "MPI_SUCCESS", "No error.";
    Buffer = 1, "MPI_ERR_BUFFER", "The buffer pointer is not valid.";
    Count = 2, "MPI_ERR_COUNT", "The count argument is not valid.";
    Type = 3, "MPI_ERR_TYPE", "The datatype argument is not valid or not committed.";
    Tag = 4, "MPI_ERR_TAG", "The tag is negative, above MPI_TAG_UB, or a wildcard where none is allowed.";
    Comm = 5, "MPI_ERR_COMM", "The communicator is not valid.";
    Rank = 6, "MPI_ERR_RANK", "The rank is outside the communicator's or group's range.";
    Request = 7, "MPI_ERR_REQUEST", "The request is not valid for this call.";
    Root = 8, "MPI_ERR_ROOT", "The root is not a rank of the communicator.";
    Group = 9, "MPI_ERR_GROUP", "The group is not valid.";
    Op = 10, "MPI_ERR_OP", "The reduction operation is not valid, or not defined for this datatype.";
    Topology = 11, "MPI_ERR_TOPOLOGY", "The communicator has no topology of the kind that this call needs.";
    Dims = 12, "MPI_ERR_DIMS", "The dimensions do not describe a valid grid.";
    Arg = 13, "MPI_ERR_ARG", "An argument is not valid.";
    Unknown = 14, "MPI_ERR_UNKNOWN", "The cause of the error is not known.";
    Truncate = 15, "MPI_ERR_TRUNCATE", "The message is longer than the receive buffer.";
    Other = 16, "MPI_ERR_OTHER", "The operation failed for a reason outside the other error classes.";
    Intern = 17, "MPI_ERR_INTERN", "An internal invariant of the library does not hold; please report it.";
    Pending = 18, "MPI_ERR_PENDING", "The request is neither complete nor in error; it is still pending.";
    InStatus = 19, "MPI_ERR_IN_STATUS", "The error codes of the requests are in the array of statuses.";
    Access = 20, "MPI_ERR_ACCESS", "Permission to the file was denied.";
    Amode = 21, "MPI_ERR_AMODE", "The file's access mode is not valid.";
    Assert = 22, "MPI_ERR_ASSERT", "The assert argument is not valid.";
    BadFile = 23, "MPI_ERR_BAD_FILE", "The file name is not valid, for instance too long.";
    Base = 24, "MPI_ERR_BASE", "The base address is not valid.";
    Conversion = 25, "MPI_ERR_CONVERSION", "A data conversion failed.";
    Disp = 26, "MPI_ERR_DISP", "The displacement is not valid.";
    DupDatarep = 27, "MPI_ERR_DUP_DATAREP", "A data representation of this name exists already.";
    FileExists = 28, "MPI_ERR_FILE_EXISTS", "The file exists already.";
    FileInUse = 29, "MPI_ERR_FILE_IN_USE", "The file is open in some process, so the operation cannot be done.";
    File = 30, "MPI_ERR_FILE", "The file handle is not valid.";
    InfoKey = 31, "MPI_ERR_INFO_KEY", "The info key is empty or longer than MPI_MAX_INFO_KEY.";
    InfoNokey = 32, "MPI_ERR_INFO_NOKEY", "The info object has no such key.";
    InfoValue = 33, "MPI_ERR_INFO_VALUE", "The info value is not valid or longer than MPI_MAX_INFO_VAL.";
    Info = 34, "MPI_ERR_INFO", "The info object is not valid.";
    Io = 35, "MPI_ERR_IO", "An input or output operation failed.";
    Keyval = 36, "MPI_ERR_KEYVAL", "The attribute key is not valid.";
    Locktype = 37, "MPI_ERR_LOCKTYPE", "The lock type is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE.";
    Name = 38, "MPI_ERR_NAME", "The service name has not been published.";
    NoMem = 39, "MPI_ERR_NO_MEM", "Memory is exhausted.";
    NotSame = 40, "MPI_ERR_NOT_SAME", "A collective argument differs between processes or is out of order.";
    NoSpace = 41, "MPI_ERR_NO_SPACE", "There is not enough space on the device.";
    NoSuchFile = 42, "MPI_ERR_NO_SUCH_FILE", "The file does not exist.";
    Port = 43, "MPI_ERR_PORT", "The port name is not valid or nobody accepts connections on it.";
    Quota = 44, "MPI_ERR_QUOTA", "The quota is exceeded.";
    ReadOnly = 45, "MPI_ERR_READ_ONLY", "The file or the file system is read-only.";
    RmaAttach = 46, "MPI_ERR_RMA_ATTACH", "The memory cannot be attached to the window.";
    RmaConflict = 47, "MPI_ERR_RMA_CONFLICT", "Accesses to the window conflict.";
    RmaRange = 48, "MPI_ERR_RMA_RANGE", "The target memory is not part of the window.";
    RmaShared = 49, "MPI_ERR_RMA_SHARED", "The memory cannot be shared between these processes.";
    RmaSync = 50, "MPI_ERR_RMA_SYNC", "The window is not in an epoch that allows this call.";
    Service = 51, "MPI_ERR_SERVICE", "The service name is published already, or cannot be unpublished because it is not.";
    Size = 52, "MPI_ERR_SIZE", "The size argument is not valid.";
    Spawn = 53, "MPI_ERR_SPAWN", "The processes could not be started.";
    UnsupportedDatarep = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "The data representation is not supported.";
    UnsupportedOperation = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "The operation is not supported.";
    Win = 56, "MPI_ERR_WIN", "The window is not valid.";
    RmaFlavor = 57, "MPI_ERR_RMA_FLAVOR", "The window is of the wrong flavor for this call.";
    ProcAborted = 58, "MPI_ERR_PROC_ABORTED", "A peer process has aborted.";
    ValueTooLarge = 59, "MPI_ERR_VALUE_TOO_LARGE", "The value is too large for the variable that should hold it.";
    Session = 60, "MPI_ERR_SESSION", "The session is not valid.";
    Errhandler = 61, "MPI_ERR_ERRHANDLER", "The error handler is not valid.";
    Abi = 62, "MPI_ERR_ABI", "The library does not offer the requested part of the ABI.";
    TCannotInit = 1001, "MPI_T_ERR_CANNOT_INIT", "The tool interface cannot be initialized.";
    TNotAccessible = 1002, "MPI_T_ERR_NOT_ACCESSIBLE", "The requested functionality is not accessible.";
    TNotInitialized = 1003, "MPI_T_ERR_NOT_INITIALIZED", "The tool interface is not initialized.";
    TNotSupported = 1004, "MPI_T_ERR_NOT_SUPPORTED", "The requested functionality is not supported.";
    TMemory = 1005, "MPI_T_ERR_MEMORY", "The tool interface is out of memory.";
    TInvalid = 1006, "MPI_T_ERR_INVALID", "The use of the tool interface or an argument is not valid.";
    TInvalidIndex = 1007, "MPI_T_ERR_INVALID_INDEX", "The variable, event or category index is not valid.";
    TInvalidItem = 1008, "MPI_T_ERR_INVALID_ITEM", "The item index is not valid.";
    TInvalidSession = 1009, "MPI_T_ERR_INVALID_SESSION", "The tool session is not valid.";
    TInvalidHandle = 1010, "MPI_T_ERR_INVALID_HANDLE", "The tool handle is not valid.";
    TInvalidName = 1011, "MPI_T_ERR_INVALID_NAME", "No variable, event or category has this name.";
    TOutOfHandles = 1012, "MPI_T_ERR_OUT_OF_HANDLES", "No more tool handles are available.";
    TOutOfSessions = 1013, "MPI_T_ERR_OUT_OF_SESSIONS", "No more tool sessions are available.";
    TCvarSetNotNow = 1014, "MPI_T_ERR_CVAR_SET_NOT_NOW", "The control variable cannot be set at this moment.";
    TCvarSetNever = 1015, "MPI_T_ERR_CVAR_SET_NEVER", "The control variable can no longer be set.";
    TPvarNoWrite = 1016, "MPI_T_ERR_PVAR_NO_WRITE", "The performance variable cannot be written or reset.";
    TPvarNoStartstop = 1017, "MPI_T_ERR_PVAR_NO_STARTSTOP", "The performance variable cannot be started or stopped.";
    TPvarNoAtomic = 1018, "MPI_T_ERR_PVAR_NO_ATOMIC", "The performance variable cannot be read and written atomically.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_ascend() {
        for pair in Class::ALL.windows(2) {
            assert!(pair[0].code() < pair[1].code());
        }
        for &class in Class::ALL {
            assert_eq!(Class::from_code(class.code()), Some(class));
            assert!(class.name().starts_with("MPI_"));
            assert!(class.describe().ends_with('.') && class.describe().len() < 256);
        }
        assert_eq!(Class::from_code(63), None);
        assert_eq!(Class::from_code(-1), None);
    }

    #[test]
    fn a_code_of_the_program_stays() {
        let own = Error::returned(LASTCODE + 2, "");
        assert_eq!((own.class, own.code()), (Class::Other, LASTCODE + 2));
        let known = Error::returned(Class::Dims.code(), "");
        assert_eq!((known.class, known.code()), (Class::Dims, Class::Dims.code()));
    }

    #[test]
    fn display_falls_back_to_the_class_text() {
        let bare = Error::from(Class::Truncate);
        assert!(bare.to_string().contains(Class::Truncate.describe()));
        let told = Error::new(Class::Truncate, "40 bytes came, 8 fit");
        assert_eq!(told.to_string(), "MPI_ERR_TRUNCATE: 40 bytes came, 8 fit");
    }
}
