//! `include/mpi_interfaces.f90`, the interfaces of the module `mpi` (section 19.1.3 of MPI 5.0): a program may name
//! what it uses (`use mpi, only: MPI_Send`), and arguments are checked but for buffers, which have any type.

use crate::cdecl::Form;
use crate::emit::NOTICE;
use crate::emit::f08::{arguments, broken, dimensions};
use crate::emit::fortran::{NOT_IN_F08, Procedure, all_procedures};
use crate::spec::{Param, Spec};

/// Deprecated procedures that `mpi` has, unlike `mpi_f08`, and whose attributes are integers.
const WITH_INTEGERS: [&str; 3] = ["MPI_ATTR_GET", "MPI_ATTR_PUT", "MPI_KEYVAL_CREATE"];
/// The same without such arguments.
const OLD: [&str; 2] = ["MPI_ATTR_DELETE", "MPI_KEYVAL_FREE"];
/// Functions with a type, which `mpif.h` has declared already.
const DECLARED: [&str; 4] = ["MPI_WTIME", "MPI_WTICK", "MPI_AINT_ADD", "MPI_AINT_DIFF"];

/// The interfaces, for a module that has included `mpif.h` and uses the types of `mpi_types.f90`.
pub fn interfaces(spec: &Spec) -> Result<String, String> {
    let mut text = format!("! Interfaces of the module mpi.\n! {NOTICE}\n  interface\n");
    for prefix in ["", "P"] {
        for chapter in &spec.chapters {
            for this in all_procedures(chapter).filter(|(_, symbol, _)| is_there(symbol)) {
                text.push_str(&body(prefix, &this)?);
            }
        }
        text.push_str(&FURTHER.replace('@', prefix));
    }
    Ok(text + "  end interface\n")
}

/// Whether the module has the procedure. Large counts are for `mpi_f08` alone.
fn is_there(symbol: &str) -> bool {
    let name = symbol.to_uppercase();
    let name = name.as_str();
    let old = WITH_INTEGERS.contains(&name) || OLD.contains(&name);
    !symbol.ends_with("_c") && !DECLARED.contains(&name) && (old || !NOT_IN_F08.contains(&name))
}

/// What an argument is declared as.
enum Declared {
    /// Its type, and its name with what stands behind it.
    As(String, String),
    /// Memory of any type.
    Choice,
    Procedure,
}

fn declared(symbol: &str, param: &Param) -> Result<Declared, String> {
    let name = &param.decl.name;
    let base = param.decl.base(Form::Narrow);
    let many = match (param.kind.as_str(), dimensions(param)) {
        ("status", "") => "(MPI_STATUS_SIZE)",
        ("status", _) => "(MPI_STATUS_SIZE, *)",
        (_, many) => many,
    };
    let old = WITH_INTEGERS.contains(&symbol.to_uppercase().as_str());
    let kind = match (param.kind.as_str(), base) {
        // An address may be an integer or a C pointer.
        ("buffer" | "c_buffer" | "c_buffer2", _) => return Ok(Declared::Choice),
        ("function", _) => return Ok(Declared::Procedure),
        ("logical" | "logical_void" | "logical_optional", _) => "logical",
        (kind, _) if old && is_attribute(kind) => "integer",
        (kind, _) if is_attribute(kind) => "integer(MPI_ADDRESS_KIND)",
        (_, "char") => "character(len=*)",
        (_, "int") => "integer",
        (_, "MPI_Aint") => "integer(MPI_ADDRESS_KIND)",
        (_, "MPI_Count") => "integer(MPI_COUNT_KIND)",
        (_, "MPI_Offset") => "integer(MPI_OFFSET_KIND)",
        (_, handle) if handle.starts_with("MPI_") => "integer",
        (kind, other) => return Err(format!("{symbol}: {kind} {other} {name}")),
    };
    // What a call may leave as it is, or change, has no direction: a compiler forgets what is INTENT(OUT).
    let intent = if param.direction == "in" { ", intent(in)" } else { "" };
    Ok(Declared::As(format!("{kind}{intent}"), format!("{name}{many}")))
}

fn is_attribute(kind: &str) -> bool {
    kind.starts_with("attribute_val") || kind.starts_with("extra_state")
}

fn body(prefix: &str, (function, symbol, _): &Procedure<'_>) -> Result<String, String> {
    let name = format!("{prefix}{symbol}");
    let mut names: Vec<&str> = arguments(function).map(|p| p.decl.name.as_str()).collect();
    let mut lines = Vec::new();
    for param in arguments(function) {
        let name = &param.decl.name;
        lines.push(match declared(symbol, param)? {
            Declared::As(kind, rest) => format!("      {kind} :: {rest}\n"),
            Declared::Choice => choice(name),
            Declared::Procedure => format!("      external :: {name}\n"),
        });
    }
    // `array_of_argv` is declared with it.
    lines.sort_by_key(|line| line.contains("(count,"));
    if function.returns != "int" {
        return Err(format!("{symbol} returns {}", function.returns));
    }
    if function.name != "MPI_Pcontrol" {
        names.push("ierror");
        lines.push("      integer, intent(out) :: ierror\n".to_owned());
    }
    let head = broken(&format!("    subroutine {name}({})", names.join(", ")));
    let lines = lines.concat();
    Ok(format!("{head}\n      import\n{lines}    end subroutine {name}\n"))
}

/// Memory of any type, kind and rank, of which the address is passed. Each compiler has its own word for it.
fn choice(name: &str) -> String {
    let words = [
        "!GCC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DEC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DIR$ IGNORE_TKR",
        "!$PRAGMA IGNORE_TKR",
    ];
    let words: String = words.iter().map(|word| format!("{word} {name}\n")).collect();
    format!("{words}      type(*), dimension(*) :: {name}\n")
}

/// What is not made from the specification.
const FURTHER: &str = include_str!("mpi_module/further.f90");
