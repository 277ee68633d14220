//! `include/mpi_types.f90`, the types of handles and of statuses with their operators, and
//! `include/mpi_f08.F90`: the module `mpi_f08` (section 19.1.1 to 19.1.5 of MPI 5.0). The modules hold
//! interfaces only, so nothing of them is linked.

use crate::cdecl::Form;
use crate::emit::NOTICE;
use crate::emit::fortran::{NOT_IN_F08, Procedure, all_procedures};
use crate::emit::mpif::{is_for_fortran, number, plain_number};
use crate::emit::sections::{is_buffer, is_lasting};
use crate::spec::{Function, Param, Spec};

/// The types of handles, by their names in Fortran.
const HANDLES: [&str; 11] = [
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
];

/// The module of the types, which `mpi` has, too.
pub fn types(_spec: &Spec) -> String {
    let mut text = format!(
        "! Types of handles and of statuses, for the modules mpi and mpi_f08.\n! {NOTICE}\n\
         module hpvm_mpi_types\n  implicit none\n\n\
         \x20 type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n\
         \x20   integer, private :: internal(5)\n  end type MPI_Status\n"
    );
    for name in HANDLES {
        text.push_str(&format!(
            "\n  type, bind(C) :: MPI_{name}\n    integer :: MPI_VAL\n  end type MPI_{name}\n"
        ));
    }
    for (operator, tail) in [("==", "eq"), ("/=", "ne")] {
        text.push_str(&format!("\n  interface operator ({operator})\n"));
        for name in HANDLES {
            let function = format!("hpvm_{}_{tail}", name.to_lowercase());
            text.push_str(&format!(
                "    elemental logical function {function}(a, b)\n      import :: MPI_{name}\n      \
                 type(MPI_{name}), intent(in) :: a, b\n    end function {function}\n"
            ));
        }
        text.push_str(&format!("  end interface operator ({operator})\n"));
    }
    text + "end module hpvm_mpi_types\n"
}

/// The module `mpi_f08`.
pub fn module(spec: &Spec) -> Result<String, String> {
    let mut text = format!(
        "! The module mpi_f08 of MPI 5.0. mpifort compiles it at its first use with each compiler.\n\
         ! {NOTICE}\n{HEAD}"
    );
    text.push_str(&constants(spec)?);
    text.push_str(PLACES);
    text.push_str("\n  abstract interface\n");
    text.push_str(CALLBACKS);
    text.push_str("  end interface\n\n  interface\n");
    text.push_str(PREDEFINED);
    text.push_str("  end interface\n");
    for prefix in ["", "P"] {
        for procedures in generics(spec) {
            text.push_str(&interface(prefix, &procedures)?);
        }
        text.push_str(&FURTHER.replace("@p", &prefix.to_lowercase()).replace('@', prefix));
    }
    Ok(text + "end module mpi_f08\n")
}

fn constants(spec: &Spec) -> Result<String, String> {
    let mut text = String::new();
    for group in spec.groups.iter().filter(|group| is_for_fortran(spec, group)) {
        let handle = group.c_type.strip_prefix("MPI_").filter(|name| HANDLES.contains(name));
        text.push_str(&format!("\n  ! {}\n", group.doc));
        for name in group.values.keys() {
            text.push_str(&match handle {
                Some(kind) => {
                    let value = number(spec, name)?;
                    format!("  type(MPI_{kind}), parameter :: {name} = MPI_{kind}({value})\n")
                }
                None => {
                    format!(
                        "  integer, parameter :: {name} = {}\n",
                        plain_number(spec, group, name)?
                    )
                }
            });
        }
    }
    Ok(text)
}

/// The procedures of each generic name: the one for plain counts, and where it differs in its types the
/// one for large counts.
fn generics(spec: &Spec) -> Vec<Vec<Procedure<'_>>> {
    let mut all: Vec<(String, Vec<Procedure<'_>>)> = Vec::new();
    for chapter in &spec.chapters {
        for this in all_procedures(chapter) {
            if NOT_IN_F08.contains(&this.1.to_uppercase().as_str()) {
                continue;
            }
            let generic = match this.1.as_str() {
                "MPI_Op_create_c" | "MPI_Register_datarep_c" => this.1.clone(),
                other => other.trim_end_matches("_c").to_owned(),
            };
            match all.iter_mut().find(|(name, _)| *name == generic) {
                Some((_, list)) if kinds(&list[0]) == kinds(&this) => {}
                Some((_, list)) => list.push(this),
                None => all.push((generic, vec![this])),
            }
        }
    }
    all.into_iter().map(|(_, list)| list).collect()
}

/// The types of a procedure's arguments, by which a generic name chooses. MPI_ADDRESS_KIND, MPI_COUNT_KIND
/// and MPI_OFFSET_KIND are the same.
fn kinds((function, _, form): &Procedure<'_>) -> Vec<String> {
    let long = ["MPI_ADDRESS_KIND", "MPI_COUNT_KIND", "MPI_OFFSET_KIND"];
    let kind = |p: &Param| {
        let text = declared(function, p, *form).unwrap_or_default().0;
        long.iter().fold(text, |text, name| text.replace(name, "8"))
    };
    arguments(function).map(kind).collect()
}

/// The arguments that Fortran has.
pub fn arguments(function: &Function) -> impl Iterator<Item = &Param> {
    function.params.iter().filter(|p| !p.kind.starts_with("argument_"))
}

/// The dimensions of an argument that is no buffer.
pub fn dimensions(param: &Param) -> &'static str {
    match (param.decl.array.as_str(), param.kind.as_str(), param.decl.name.as_str()) {
        ("[][3]", ..) => "(3, *)",
        (_, "string", _) => "",
        (_, "string_2darray", _) => "(count, *)",
        (_, "string_array", _) => "(*)",
        (_, "weight", _) if param.decl.is_pointer() => "(*)",
        (_, _, many) if many.starts_with("array_of_") => "(*)",
        ("", ..) => "",
        _ => "(*)",
    }
}

/// The type of an argument, and the rest of its declaration after `::`.
fn declared(function: &Function, param: &Param, form: Form) -> Result<(String, String), String> {
    let name = &param.decl.name;
    let base = param.decl.base(form);
    let many = dimensions(param);
    let intent = match (param.direction.as_str(), param.kind.as_str(), name.as_str()) {
        (_, "function", _) => "",
        (_, "buffer", _) if !param.decl.constant => "",
        ("out", "weight" | "status", _) | ("out", _, "array_of_errcodes") => "",
        ("in", ..) => ", intent(in)",
        ("out", ..) => ", intent(out)",
        _ => ", intent(inout)",
    };
    let kind = match (param.kind.as_str(), base) {
        ("buffer", _) => {
            let asynchronous = if is_asynchronous(function) { ", asynchronous" } else { "" };
            format!("type(*), dimension(..){asynchronous}")
        }
        ("c_buffer" | "c_buffer2", _) => "type(C_PTR)".to_owned(),
        ("function", _) => format!("procedure({base})"),
        ("logical" | "logical_void" | "logical_optional", _) => "logical".to_owned(),
        ("attribute_val" | "extra_state" | "extra_state2", _) => {
            "integer(MPI_ADDRESS_KIND)".to_owned()
        }
        (_, "char") => "character(len=*)".to_owned(),
        (_, "int") => "integer".to_owned(),
        (_, "MPI_Aint") => "integer(MPI_ADDRESS_KIND)".to_owned(),
        (_, "MPI_Count") => "integer(MPI_COUNT_KIND)".to_owned(),
        (_, "MPI_Offset") => "integer(MPI_OFFSET_KIND)".to_owned(),
        (_, other) if other.strip_prefix("MPI_").is_some_and(is_type) => format!("type({other})"),
        (kind, other) => return Err(format!("{}: {kind} {other} {name}", function.name)),
    };
    Ok((format!("{kind}{intent}"), format!("{name}{many}")))
}

fn is_type(name: &str) -> bool {
    HANDLES.contains(&name) || name == "Status"
}

/// Whether a buffer is in use after the call.
fn is_asynchronous(function: &Function) -> bool {
    let name = function.name.as_str();
    let starts = ["MPI_Put", "MPI_Get", "MPI_R", "MPI_Acc", "MPI_Fetch", "MPI_Compare", "MPI_Win_"];
    let only_calls = ["MPI_Recv", "MPI_Reduce", "MPI_Rsend"];
    is_lasting(name)
        || name.ends_with("_end")
        || name.contains("ttach")
        || starts.iter().any(|start| name.starts_with(start))
            && !only_calls.iter().any(|other| name.starts_with(other))
}

/// One generic interface.
fn interface(prefix: &str, procedures: &[Procedure<'_>]) -> Result<String, String> {
    let first = &procedures[0].1;
    let generic = match first.as_str() {
        "MPI_Op_create_c" | "MPI_Register_datarep_c" => first.as_str(),
        other => other.trim_end_matches("_c"),
    };
    let mut text = format!("\n  interface {prefix}{generic}\n");
    for this in procedures {
        text.push_str(&body(prefix, this)?);
    }
    Ok(text + &format!("  end interface {prefix}{generic}\n"))
}

fn body(prefix: &str, this: &Procedure<'_>) -> Result<String, String> {
    let (function, symbol, form) = this;
    let buffers = arguments(function).any(is_buffer);
    let tail = if buffers { "_f08ts" } else { "_f08" };
    let name = format!("{prefix}{symbol}{tail}");
    let mut names: Vec<String> = arguments(function).map(|p| p.decl.name.clone()).collect();
    let mut lines = Vec::new();
    for param in arguments(function) {
        let (kind, rest) = declared(function, param, *form)?;
        if buffers && param.kind == "string" {
            lines.push(format!("      HPVM_TEXT({rest})\n"));
            continue;
        }
        lines.push(format!("      {kind} :: {rest}\n"));
    }
    // `array_of_argv` is declared with it.
    lines.sort_by_key(|line| line.contains("(count,"));
    let kind = match function.returns.as_str() {
        "int" if function.name == "MPI_Pcontrol" => "subroutine".to_owned(),
        "int" => {
            names.push("ierror".to_owned());
            lines.push("      integer, optional, intent(out) :: ierror\n".to_owned());
            "subroutine".to_owned()
        }
        "double" => "double precision function".to_owned(),
        "MPI_Aint" => "integer(MPI_ADDRESS_KIND) function".to_owned(),
        other => return Err(format!("{symbol} returns {other}")),
    };
    let bind = if buffers {
        let external = format!("{}{}_cdesc", prefix.to_lowercase(), symbol.to_lowercase());
        format!(" HPVM_BIND(\"{external}\")")
    } else {
        String::new()
    };
    let head = broken(&format!("    {kind} {name}({}){bind}", names.join(", ")));
    let word = kind.rsplit(' ').next().unwrap_or_default();
    let lines = lines.concat();
    Ok(format!("{head}\n      import\n{lines}    end {word} {name}\n"))
}

/// A statement on lines that every compiler takes.
pub fn broken(statement: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for (i, word) in statement.split_inclusive(", ").enumerate() {
        if i > 0 && column + word.len() > 84 {
            text.push_str("&\n        ");
            column = 8;
        }
        text.push_str(word);
        column += word.len();
    }
    text
}

const HEAD: &str = include_str!("f08/head.F90");
const PLACES: &str = include_str!("f08/places.F90");
const CALLBACKS: &str = include_str!("f08/callbacks.F90");
const PREDEFINED: &str = include_str!("f08/predefined.F90");
const FURTHER: &str = include_str!("f08/further.F90");
