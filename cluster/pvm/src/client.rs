//! The console's connection to the virtual machine, which is started where there is none.

use crate::machine_name;
use hpvm_pvm::connection::{self, Connection};
use hpvm_pvm::protocol::{Hello, Identity, VERSION};
use std::io;

/// # Errors
/// There is no virtual machine, and none can be started.
pub fn open() -> io::Result<(Connection, Identity)> {
    connection::reach(enroll, || connection::start(&std::env::current_exe()?))
}

fn enroll() -> io::Result<(Connection, Identity)> {
    let stream = connection::connect(hpvm_os::user(), &machine_name())?;
    let (_, user) = hpvm_os::peer(&stream)?;
    if user != hpvm_os::user() {
        let text = format!("the virtual machine's socket belongs to user {user}");
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    let mut connection = Connection::new(stream);
    let hello = Hello { version: VERSION, console: true, program: "-".into(), ..Hello::default() };
    let identity = connection.enroll(hello)?;
    Ok((connection, identity))
}
