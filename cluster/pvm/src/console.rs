//! PVM's console.
pub fn main(_args: &[std::ffi::OsString]) -> i32 {
    let _ = crate::client::Connection::open();
    0
}
