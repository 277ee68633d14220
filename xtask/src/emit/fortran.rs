//! crates/fortran/src/generated: one generic function for each Fortran procedure, and
//! crates/fortran/src/entry.rs: the macro that defines the symbols.

use crate::cdecl::Form;
use crate::emit::foreign::{associated, foreign_returns, foreign_type, path, text_limit};
use crate::emit::{NOTICE, wrap};
use crate::spec::{Chapter, Function, Param, Spec};

/// Procedures written by hand: name, generic function in hpvm-fortran, parameters.
const BY_HAND: &[(&str, &str, &str)] = &[
    ("MPI_INIT", "special::init", "ierror: *mut I"),
    (
        "MPI_INIT_THREAD",
        "special::init_thread",
        "required: *const I, provided: *mut I, ierror: *mut I",
    ),
    ("MPI_INFO_CREATE_ENV", "special::info_create_env", "info: *mut I, ierror: *mut I"),
    ("MPI_STATUS_F2F08", "status::copy", "from: *const I, to: *mut I, ierror: *mut I"),
    ("MPI_STATUS_F082F", "status::copy", "from: *const I, to: *mut I, ierror: *mut I"),
    ("MPI_F_SYNC_REG", "special::f_sync_reg!", "buffer: *const V"),
    ("MPI_PCONTROL", "special::pcontrol", "level: *const I, ierror: *mut I"),
    ("MPI_BUFFER_DETACH", "special::buffer_detach", "buffer: *mut V, size: *mut I, ierror: *mut I"),
    (
        "MPI_COMM_DETACH_BUFFER",
        "special::comm_detach_buffer",
        "comm: *const I, buffer: *mut V, size: *mut I, ierror: *mut I",
    ),
    (
        "MPI_SESSION_DETACH_BUFFER",
        "special::session_detach_buffer",
        "session: *const I, buffer: *mut V, size: *mut I, ierror: *mut I",
    ),
    (
        "MPI_INFO_GET",
        "special::info_get",
        "info: *const I, key: *const C, valuelen: *const I, value: *mut C, flag: *mut I, \
      ierror: *mut I, key_len: usize, value_len: usize",
    ),
    (
        "MPI_INFO_GET_STRING",
        "special::info_get_string",
        "info: *const I, key: *const C, buflen: *mut I, value: *mut C, flag: *mut I, \
      ierror: *mut I, key_len: usize, value_len: usize",
    ),
    (
        "MPI_SESSION_GET_NTH_PSET",
        "special::session_get_nth_pset",
        "session: *const I, info: *const I, n: *const I, pset_len: *mut I, name: *mut C, \
      ierror: *mut I, name_len: usize",
    ),
    (
        "MPI_COMM_SPAWN",
        "special::comm_spawn",
        "command: *const C, argv: *const C, maxprocs: *const I, info: *const I, root: *const I, \
      comm: *const I, intercomm: *mut I, codes: *mut I, ierror: *mut I, command_len: usize, \
      argv_len: usize",
    ),
    (
        "MPI_COMM_SPAWN_MULTIPLE",
        "special::comm_spawn_multiple",
        "count: *const I, commands: *const C, argvs: *const C, maxprocs: *const I, infos: *const I, \
      root: *const I, comm: *const I, intercomm: *mut I, codes: *mut I, ierror: *mut I, \
      command_len: usize, argv_len: usize",
    ),
    ("MPI_CONVERSION_FN_NULL", "special::conversion_fn_null!", ""),
    ("MPI_CONVERSION_FN_NULL_C", "special::conversion_fn_null!", ""),
    (
        "MPI_OP_CREATE",
        "callback::op_create",
        "function: *const V, commute: *const I, op: *mut I, ierror: *mut I",
    ),
    ("MPI_COMM_CREATE_ERRHANDLER", "callback::comm_create_errhandler", ERRHANDLER),
    ("MPI_WIN_CREATE_ERRHANDLER", "callback::win_create_errhandler", ERRHANDLER),
    ("MPI_FILE_CREATE_ERRHANDLER", "callback::file_create_errhandler", ERRHANDLER),
    ("MPI_SESSION_CREATE_ERRHANDLER", "callback::session_create_errhandler", ERRHANDLER),
    ("MPI_ERRHANDLER_CREATE", "callback::comm_create_errhandler", ERRHANDLER),
    (
        "MPI_GREQUEST_START",
        "callback::grequest_start",
        "query: *const V, free: *const V, cancel: *const V, extra: *const A, request: *mut I, \
      ierror: *mut I",
    ),
    (
        "MPI_REGISTER_DATAREP",
        "datarep::register_datarep",
        "datarep: *const C, read: *const V, write: *const V, extent: *const V, extra: *const A, \
      ierror: *mut I, len: usize",
    ),
    ("MPI_COMM_CREATE_KEYVAL", "attribute::comm_create_keyval::<A>", KEYVAL),
    ("MPI_TYPE_CREATE_KEYVAL", "attribute::type_create_keyval::<A>", KEYVAL),
    ("MPI_WIN_CREATE_KEYVAL", "attribute::win_create_keyval::<A>", KEYVAL),
    (
        "MPI_KEYVAL_CREATE",
        "attribute::comm_create_keyval::<I>",
        "copy: *const V, delete: *const V, keyval: *mut I, extra: *const I, ierror: *mut I",
    ),
    ("MPI_COMM_GET_ATTR", "attribute::comm_get_attr::<A>", GET),
    ("MPI_TYPE_GET_ATTR", "attribute::type_get_attr::<A>", GET),
    ("MPI_WIN_GET_ATTR", "attribute::win_get_attr::<A>", GET),
    (
        "MPI_ATTR_GET",
        "attribute::comm_get_attr::<I>",
        "object: *const I, keyval: *const I, value: *mut I, flag: *mut I, ierror: *mut I",
    ),
    ("MPI_COMM_SET_ATTR", "attribute::comm_set_attr::<A>", SET),
    ("MPI_TYPE_SET_ATTR", "attribute::type_set_attr::<A>", SET),
    ("MPI_WIN_SET_ATTR", "attribute::win_set_attr::<A>", SET),
    (
        "MPI_ATTR_PUT",
        "attribute::comm_set_attr::<I>",
        "object: *const I, keyval: *const I, value: *const I, ierror: *mut I",
    ),
    ("MPI_COMM_DUP_FN", "attribute::dup_fn::<A>!", COPY),
    ("MPI_TYPE_DUP_FN", "attribute::dup_fn::<A>!", COPY),
    ("MPI_WIN_DUP_FN", "attribute::dup_fn::<A>!", COPY),
    ("MPI_DUP_FN", "attribute::dup_fn::<I>!", OLD_COPY),
    ("MPI_COMM_NULL_COPY_FN", "attribute::null_copy_fn::<A>!", COPY),
    ("MPI_TYPE_NULL_COPY_FN", "attribute::null_copy_fn::<A>!", COPY),
    ("MPI_WIN_NULL_COPY_FN", "attribute::null_copy_fn::<A>!", COPY),
    ("MPI_NULL_COPY_FN", "attribute::null_copy_fn::<I>!", OLD_COPY),
    ("MPI_COMM_NULL_DELETE_FN", "attribute::null_delete_fn::<A>!", DELETE),
    ("MPI_TYPE_NULL_DELETE_FN", "attribute::null_delete_fn::<A>!", DELETE),
    ("MPI_WIN_NULL_DELETE_FN", "attribute::null_delete_fn::<A>!", DELETE),
    ("MPI_NULL_DELETE_FN", "attribute::null_delete_fn::<I>!", OLD_DELETE),
    ("MPI_ADDRESS", "removed::address", "location: *mut V, address: *mut I, ierror: *mut I"),
    ("MPI_TYPE_EXTENT", "removed::type_extent", BOUND),
    ("MPI_TYPE_LB", "removed::type_lb", BOUND),
    ("MPI_TYPE_UB", "removed::type_ub", BOUND),
    (
        "MPI_TYPE_HVECTOR",
        "removed::type_hvector",
        "count: *const I, blocklength: *const I, stride: *const I, oldtype: *const I, \
      newtype: *mut I, ierror: *mut I",
    ),
    (
        "MPI_TYPE_HINDEXED",
        "removed::type_hindexed",
        "count: *const I, lengths: *const I, displacements: *const I, oldtype: *const I, \
      newtype: *mut I, ierror: *mut I",
    ),
    (
        "MPI_TYPE_STRUCT",
        "removed::type_struct",
        "count: *const I, lengths: *const I, displacements: *const I, types: *const I, \
      newtype: *mut I, ierror: *mut I",
    ),
    (
        "MPI_ERRHANDLER_GET",
        "removed::errhandler_get",
        "comm: *const I, errhandler: *mut I, ierror: *mut I",
    ),
    (
        "MPI_ERRHANDLER_SET",
        "removed::errhandler_set",
        "comm: *const I, errhandler: *const I, ierror: *mut I",
    ),
];

/// Procedures of `mpi_f08` alone.
const BY_HAND_F08: &[(&str, &str, &str)] = &[
    (
        "MPI_OP_CREATE_C",
        "callback::op_create_c",
        "function: *const V, commute: *const I, op: *mut I, ierror: *mut I",
    ),
    (
        "MPI_REGISTER_DATAREP_C",
        "datarep::register_datarep_c",
        "datarep: *const C, read: *const V, write: *const V, extent: *const V, extra: *const A, \
      ierror: *mut I, len: usize",
    ),
    (
        "MPI_BUFFER_DETACH",
        "special::buffer_detach_f08",
        "buffer: *mut V, size: *mut I, ierror: *mut I",
    ),
    (
        "MPI_BUFFER_DETACH_C",
        "special::buffer_detach_f08_c",
        "buffer: *mut V, size: *mut N, ierror: *mut I",
    ),
    ("MPI_COMM_DETACH_BUFFER", "special::comm_detach_buffer_f08", DETACH),
    ("MPI_COMM_DETACH_BUFFER_C", "special::comm_detach_buffer_f08_c", DETACH_C),
    ("MPI_SESSION_DETACH_BUFFER", "special::session_detach_buffer_f08", DETACH),
    ("MPI_SESSION_DETACH_BUFFER_C", "special::session_detach_buffer_f08_c", DETACH_C),
];

/// Procedures that `mpi_f08` does not have.
pub const NOT_IN_F08: &[&str] = &[
    "MPI_ATTR_DELETE",
    "MPI_ATTR_GET",
    "MPI_ATTR_PUT",
    "MPI_KEYVAL_CREATE",
    "MPI_KEYVAL_FREE",
    "MPI_DUP_FN",
    "MPI_NULL_COPY_FN",
    "MPI_NULL_DELETE_FN",
    "MPI_CONVERSION_FN_NULL",
    "MPI_CONVERSION_FN_NULL_C",
    "MPI_ERRHANDLER_CREATE",
    "MPI_COMM_DUP_FN",
    "MPI_TYPE_DUP_FN",
    "MPI_WIN_DUP_FN",
    "MPI_COMM_NULL_COPY_FN",
    "MPI_TYPE_NULL_COPY_FN",
    "MPI_WIN_NULL_COPY_FN",
    "MPI_COMM_NULL_DELETE_FN",
    "MPI_TYPE_NULL_DELETE_FN",
    "MPI_WIN_NULL_DELETE_FN",
    "MPI_ADDRESS",
    "MPI_TYPE_EXTENT",
    "MPI_TYPE_LB",
    "MPI_TYPE_UB",
    "MPI_TYPE_HVECTOR",
    "MPI_TYPE_HINDEXED",
    "MPI_TYPE_STRUCT",
    "MPI_ERRHANDLER_GET",
    "MPI_ERRHANDLER_SET",
];

const DETACH: &str = "object: *const I, buffer: *mut V, size: *mut I, ierror: *mut I";
const DETACH_C: &str = "object: *const I, buffer: *mut V, size: *mut N, ierror: *mut I";
const ERRHANDLER: &str = "function: *const V, errhandler: *mut I, ierror: *mut I";
const KEYVAL: &str =
    "copy: *const V, delete: *const V, keyval: *mut I, extra: *const A, ierror: *mut I";
const GET: &str = "object: *const I, keyval: *const I, value: *mut A, flag: *mut I, ierror: *mut I";
const SET: &str = "object: *const I, keyval: *const I, value: *const A, ierror: *mut I";
const COPY: &str = "object: *const I, keyval: *const I, extra: *const A, value: *const A, \
                    new: *mut A, flag: *mut I, ierror: *mut I";
const OLD_COPY: &str = "object: *const I, keyval: *const I, extra: *const I, value: *const I, \
                        new: *mut I, flag: *mut I, ierror: *mut I";
const DELETE: &str = "object: *const I, keyval: *const I, value: *const A, extra: *const A, \
                      ierror: *mut I";
const OLD_DELETE: &str = "object: *const I, keyval: *const I, value: *const I, extra: *const I, \
                          ierror: *mut I";
const BOUND: &str = "datatype: *const I, result: *mut I, ierror: *mut I";

/// Functions that Fortran does not have.
fn is_for_c_only(chapter: &Chapter) -> bool {
    ["convert", "tool"].contains(&chapter.name.as_str())
}

/// A procedure: its function, the name of its C symbol, and which form of the function it is.
pub type Procedure<'a> = (&'a Function, String, Form);

/// The procedures of a chapter, those of `mpi_f08` for large counts included.
pub fn all_procedures(chapter: &Chapter) -> impl Iterator<Item = Procedure<'_>> {
    let all = chapter.functions.iter().filter(move |f| !is_for_c_only(chapter) && f.header);
    all.flat_map(|f| f.symbols().into_iter().map(move |(symbol, form)| (f, symbol, form)))
}

/// The procedures of a chapter that are generated.
pub fn procedures(chapter: &Chapter) -> impl Iterator<Item = Procedure<'_>> {
    let by_hand = |symbol: &str| {
        let tables = BY_HAND.iter().chain(BY_HAND_F08);
        tables.clone().any(|(n, ..)| n.eq_ignore_ascii_case(symbol))
    };
    all_procedures(chapter).filter(move |(_, symbol, _)| !by_hand(symbol))
}

/// The arguments of a function's procedure and their types, as Rust has them (`*const c_int`), without
/// lengths of texts; `None` where Fortran does not have the function.
pub fn arguments(chapter: &Chapter, function: &Function) -> Option<Vec<(String, String)>> {
    if is_for_c_only(chapter) {
        return None;
    }
    let by_hand = BY_HAND.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&function.name));
    let all: Vec<String> = match by_hand {
        Some((_, _, arguments)) => arguments.split(", ").map(str::to_owned).collect(),
        None => {
            let form = Form::Narrow;
            let piece = |param: &Param| Ok((param.decl.rust_name(), piece(function, param, form)?));
            let pieces: Result<Vec<_>, String> = function.params.iter().map(piece).collect();
            parameters(function, &pieces.ok()?)
        }
    };
    let pair = |text: &String| {
        let (name, kind) = text.split_once(": ")?;
        Some((name.trim_start_matches("r#").to_owned(), kind.to_owned()))
    };
    Some(all.iter().filter_map(pair).filter(|(_, kind)| kind != "usize").collect())
}

/// Chapters with procedures of their own.
pub fn chapters(spec: &Spec) -> impl Iterator<Item = &Chapter> {
    spec.chapters.iter().filter(|chapter| procedures(chapter).next().is_some())
}

/// The module of a chapter.
pub fn chapter(chapter: &Chapter) -> Result<String, String> {
    let mut text = format!(
        "//! {}: Fortran.\n//!\n//! {NOTICE}\n#![allow(unused_imports)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\n\
         use hpvm_abi::constants::{{MPI_Aint, MPI_Count, MPI_Offset, MPI_SUCCESS}};\n\
         use hpvm_foreign::lengths::{{members, neighbours}};\nuse hpvm_foreign::several::length;\n\n\
         use crate::handle::{{Handle, Handles}};\nuse crate::status::{{Status, Statuses}};\n\
         use crate::text::{{TextOut, room, text_in, trimmed_in}};\n\
         use crate::{{Fortran, buffer, buffer_mut, index_out, weights_in}};\n",
        chapter.title
    );
    for procedure in procedures(chapter) {
        text.push_str(&generic(chapter, &procedure)?);
    }
    Ok(text)
}

/// What happens to one argument.
#[derive(Default)]
struct Piece {
    /// Types of the parameters: of the argument and of its length.
    kind: String,
    has_length: bool,
    before: String,
    argument: String,
    after: String,
}

fn pieces((function, symbol, form): &Procedure<'_>) -> Result<Vec<(String, Piece)>, String> {
    let one = |param: &Param| Ok((param.decl.rust_name(), piece(function, param, *form)?));
    let pieces: Result<_, String> = function.params.iter().map(one).collect();
    pieces.map_err(|e| format!("{symbol} in Fortran: {e}"))
}

/// The parameters of a procedure as Rust writes them, without lengths of texts, and those lengths.
pub fn signature(procedure: &Procedure<'_>) -> Result<(Vec<String>, Vec<String>), String> {
    let all = parameters(procedure.0, &pieces(procedure)?);
    Ok(all.into_iter().partition(|text| !text.ends_with("_len: usize")))
}

fn generic(chapter: &Chapter, this: &Procedure<'_>) -> Result<String, String> {
    let (function, symbol, _) = this;
    let pieces = pieces(this)?;
    let arguments: Vec<String> = pieces.iter().map(|(_, p)| p.argument.clone()).collect();
    let call = format!("{}::<F>(", path(chapter, function, symbol));
    let signature = wrap(
        &format!("pub unsafe fn {}<F: Fortran>(", procedure(symbol)),
        &parameters(function, &pieces),
        &format!("){} {{", returns(function)),
        "    ",
    );
    let lines = |text: fn(&Piece) -> &String| -> String {
        let lines = pieces.iter().map(|(_, p)| text(p)).filter(|line| !line.is_empty());
        lines.map(|line| format!("        {line}\n")).collect()
    };
    let (before, after) = (lines(|p| &p.before), lines(|p| &p.after));
    let call = match function.returns.as_str() {
        "int" => wrap(&format!("        *ierror = {call}"), &arguments, ");", "            "),
        _ => wrap(&format!("        {call}"), &arguments, ")", "            "),
    };
    Ok(format!(
        "\n/// `{}`.\n{signature}\n    // SAFETY: the program's promises; places of ours live \
         through the call.\n    unsafe {{\n{before}{call}\n{after}    }}\n}}\n",
        symbol.to_uppercase()
    ))
}

/// The name of the generic function.
pub fn procedure(symbol: &str) -> String {
    symbol.trim_start_matches("MPI_").to_lowercase()
}

fn returns(function: &Function) -> String {
    match function.returns.as_str() {
        "int" => String::new(),
        other => format!(" -> {}", foreign_returns(other, "F::")),
    }
}

fn parameters(function: &Function, pieces: &[(String, Piece)]) -> Vec<String> {
    let mut all: Vec<String> =
        pieces.iter().map(|(name, piece)| format!("{name}: {}", piece.kind)).collect();
    if function.returns == "int" {
        all.push("ierror: *mut c_int".to_owned());
    }
    let lengths = pieces.iter().filter(|(_, piece)| piece.has_length);
    all.extend(lengths.map(|(name, _)| format!("{name}_len: usize")));
    all
}

fn piece(function: &Function, param: &Param, form: Form) -> Result<Piece, String> {
    let name = param.decl.rust_name();
    match associated(param.decl.base(form)) {
        Some("Status") => Ok(status(function, param, &name)),
        Some(short) => handle(function, param, &short.to_lowercase(), &name),
        None if param.decl.is_pointer() => pointer(function, param, &name, form),
        None => Ok(number(param, &name, form)),
    }
}

fn number(param: &Param, name: &str, form: Form) -> Piece {
    let base = param.decl.rust_type(form);
    let argument = match (param.kind.as_str(), base.as_str()) {
        ("logical", _) => format!("c_int::from(*{name} != 0)"),
        (_, "c_int") => format!("*{name}"),
        // Eight bytes that a program need not have aligned.
        _ => format!("{name}.read_unaligned()"),
    };
    Piece { kind: format!("*const {base}"), argument, ..Piece::default() }
}

fn status(function: &Function, param: &Param, name: &str) -> Piece {
    let own = format!("own_{}", param.decl.name);
    let input = param.direction == "in";
    let many = param.decl.name == "array_of_statuses";
    let before = if many {
        let incount = function.params.iter().any(|p| p.decl.name == "incount");
        let count = if incount { "incount" } else { "count" };
        format!("let mut {own} = Statuses::<F>::new({name}, length(*{count}));")
    } else {
        format!("let mut {own} = Status::<F>::new({name});")
    };
    Piece {
        kind: if input { "*const c_int" } else { "*mut c_int" }.to_owned(),
        before,
        argument: format!("{own}.pointer()"),
        after: if input { String::new() } else { format!("{own}.give();") },
        ..Piece::default()
    }
}

fn handle(function: &Function, param: &Param, short: &str, name: &str) -> Result<Piece, String> {
    let (from, to) = (format!("F::{short}_fromint"), format!("F::{short}_toint"));
    if !param.decl.is_pointer() {
        let (kind, argument) = ("*const c_int".to_owned(), format!("{from}(*{name})"));
        return Ok(Piece { kind, argument, ..Piece::default() });
    }
    let own = format!("own_{}", param.decl.name);
    let success = "*ierror == MPI_SUCCESS";
    let after = match param.direction.as_str() {
        "in" => String::new(),
        "out" => format!("{own}.give_if({success}, {to});"),
        _ => format!("{own}.give({to});"),
    };
    let user = if param.decl.constant { format!("{name}.cast_mut()") } else { name.to_owned() };
    let before = match (param.decl.array.is_empty(), param.direction.as_str()) {
        (true, "out") => format!("let mut {own} = Handle::fresh({name}, {from});"),
        (true, _) => format!("let mut {own} = Handle::new({name}, {from}, {to});"),
        (false, direction) => {
            let make = if direction == "out" { "fresh" } else { "new" };
            format!("let mut {own} = Handles::{make}({user}, {}, {from});", count(function, param)?)
        }
    };
    let kind = if param.decl.constant { "*const c_int" } else { "*mut c_int" };
    Ok(Piece {
        kind: kind.to_owned(),
        before,
        argument: format!("{own}.pointer()"),
        after,
        ..Piece::default()
    })
}

/// How many handles there are.
fn count(function: &Function, param: &Param) -> Result<String, String> {
    let named = |name: &&&str| function.params.iter().any(|p| p.decl.name == **name);
    let counts = ["count", "incount", "n", "max_datatypes"];
    let name = param.decl.name.as_str();
    let comm = "F::comm_in(F::comm_fromint(*comm))";
    Ok(match (name, function.name.contains("eighbor")) {
        ("sendtypes", true) => format!("neighbours({comm}, true)"),
        ("recvtypes", true) => format!("neighbours({comm}, false)"),
        // With MPI_IN_PLACE the types to send are not looked at.
        ("sendtypes", false) => {
            format!(
                "if F::sentinels().in_place.contains(&sendbuf) {{ 0 }} else {{ members({comm}) }}"
            )
        }
        ("recvtypes", false) => format!("members({comm})"),
        _ => {
            let count = counts.iter().find(named).ok_or_else(|| format!("how long is {name}?"))?;
            format!("length(*{count})")
        }
    })
}

/// A pointer or an array that is neither of handles nor of statuses.
fn pointer(function: &Function, param: &Param, name: &str, form: Form) -> Result<Piece, String> {
    let kind = foreign_type(param, form, "F::");
    let plain = |argument: String| Piece { kind: kind.clone(), argument, ..Piece::default() };
    let own = format!("own_{}", param.decl.name);
    Ok(match (param.kind.as_str(), param.direction.as_str()) {
        ("buffer", _) if param.decl.constant => plain(format!("buffer::<F>({name})")),
        ("buffer", _) => plain(format!("buffer_mut::<F>({name})")),
        ("weight", _) if param.decl.constant => plain(format!("weights_in::<F>({name})")),
        ("weight", _) => plain(format!("weights_in::<F>({name}).cast_mut()")),
        ("string", "in") => {
            let trim = if function.name.starts_with("MPI_Info") { "trimmed_in" } else { "text_in" };
            Piece {
                kind: "*const c_char".to_owned(),
                has_length: true,
                before: format!("let {own} = {trim}({name}, {name}_len);"),
                argument: format!("{own}.as_ptr()"),
                ..Piece::default()
            }
        }
        ("string", _) => {
            let limit = text_limit(&function.name).ok_or("a text of unknown length")?;
            Piece {
                kind: kind.clone(),
                has_length: true,
                before: format!(
                    "let mut {own} = TextOut::new({name}, {name}_len, room(F::{limit}));"
                ),
                argument: format!("{own}.pointer()"),
                after: format!("if *ierror == MPI_SUCCESS {{ {own}.give(); }}"),
            }
        }
        ("index", "out") if param.decl.name == "index" || param.decl.name == "indx" => Piece {
            after: format!("if *ierror == MPI_SUCCESS {{ *{name} = index_out::<F>(*{name}); }}"),
            ..plain(name.to_owned())
        },
        ("index", "out") if param.decl.name == "array_of_indices" => Piece {
            after: format!(
                "for i in 0..length(*outcount) {{ *{name}.add(i) = index_out::<F>(*{name}.add(i)); }}"
            ),
            ..plain(name.to_owned())
        },
        _ => plain(name.to_owned()),
    })
}

/// The macro that defines all symbols for one ABI.
pub fn entry(spec: &Spec) -> Result<String, String> {
    let mut text = format!(
        "//! The symbols of all procedures.\n//!\n//! {NOTICE}\n\n\
         /// Defines the Fortran entry points of an ABI (a type that implements `Fortran`).\n\
         #[macro_export]\nmacro_rules! entry_points {{\n    ($flavour:ty) => {{\n"
    );
    for (name, path, arguments) in BY_HAND {
        let names = match NOT_IN_F08.contains(name) || is_detach(name) {
            true => spellings(name),
            false => [spellings(name), f08_names(name, "f08")].concat(),
        };
        text.push_str(&spell(&names, &by_hand_path(path), &in_macro(arguments), ""));
    }
    for (name, path, arguments) in BY_HAND_F08 {
        let names = f08_names(name, "f08");
        text.push_str(&spell(&names, &by_hand_path(path), &in_macro(arguments), ""));
    }
    for chapter in chapters(spec) {
        for this in procedures(chapter) {
            let (function, symbol, _) = &this;
            let arguments = short_types(&parameters(function, &pieces(&this)?).join(", "));
            let generics =
                format!("generated::{}::{}::<$flavour>", chapter.name, procedure(symbol));
            let returns = match function.returns.as_str() {
                "int" => String::new(),
                "double" => "f64".to_owned(),
                _ => "$crate::entry::A".to_owned(),
            };
            let names = match symbol.ends_with("_c") {
                true => f08_names(symbol, "f08"),
                false if NOT_IN_F08.contains(&symbol.to_uppercase().as_str()) => spellings(symbol),
                false => [spellings(symbol), f08_names(symbol, "f08")].concat(),
            };
            text.push_str(&spell(&names, &generics, &in_macro(&arguments), &returns));
        }
    }
    text.push_str("    };\n}\n");
    text.push_str(
        "\n/// Short names of types, for the macros.\n\
         pub type I = core::ffi::c_int;\npub type C = core::ffi::c_char;\n\
         pub type V = core::ffi::c_void;\npub type A = hpvm_abi::constants::MPI_Aint;\n\
         pub type O = hpvm_abi::constants::MPI_Offset;\npub type N = hpvm_abi::constants::MPI_Count;\n",
    );
    Ok(text)
}

fn is_detach(name: &str) -> bool {
    name.contains("DETACH")
}

/// The generic function of a procedure written by hand.
fn by_hand_path(path: &str) -> String {
    let generics = match (path.strip_suffix('!'), path.ends_with('>')) {
        (Some(path), _) => path.to_owned(),
        (None, true) => path.replace('>', ", $flavour>"),
        (None, false) => format!("{path}::<$flavour>"),
    };
    generics.replace("<A", "<$crate::entry::A").replace("<I", "<$crate::entry::I")
}

/// The types of parameters by the short names of `entry.rs`.
pub fn short_types(arguments: &str) -> String {
    let short = [
        ("c_int", "I"),
        ("c_char", "C"),
        ("c_void", "V"),
        ("MPI_Aint", "A"),
        ("MPI_Offset", "O"),
        ("MPI_Count", "N"),
    ];
    short.iter().fold(arguments.to_owned(), |text, (long, short)| {
        text.replace(&format!(" {long}"), &format!(" {short}"))
            .replace(&format!("[{long}"), &format!("[{short}"))
    })
}

/// Types by their path from any crate.
pub fn in_macro(arguments: &str) -> String {
    let mut text = arguments.to_owned();
    for short in ["I", "C", "V", "A", "O", "N"] {
        for (before, after) in [(" ", ","), (" ", ""), ("[", ";"), (" ", "]")] {
            let (from, to) = (
                format!("{before}{short}{after}"),
                format!("{before}$crate::entry::{short}{after}"),
            );
            text = match after {
                "" => match text.strip_suffix(&from) {
                    Some(start) => format!("{start}{to}"),
                    None => text,
                },
                _ => text.replace(&from, &to),
            };
        }
    }
    text
}

/// The symbols of a procedure of `mpif.h`, in the spellings of Fortran compilers.
fn spellings(name: &str) -> Vec<String> {
    let (lower, name) = (name.to_lowercase(), name.to_uppercase());
    let all = |p: &str| {
        let low = p.to_lowercase();
        [
            format!("{low}{lower}_"),
            format!("{low}{lower}"),
            format!("{low}{lower}__"),
            format!("{p}{name}"),
        ]
    };
    [all(""), all("P")].concat()
}

/// The symbols of a procedure of `mpi_f08`, whose names end in `tail`: those of section 19.1.5, and those of
/// MPICH 4, which has other names for its profiling ones and for large counts.
pub fn f08_names(symbol: &str, tail: &str) -> Vec<String> {
    let lower = symbol.to_lowercase();
    let short = lower.trim_start_matches("mpi_");
    let mut names = vec![
        format!("{lower}_{tail}_"),
        format!("p{lower}_{tail}_"),
        format!("pmpir_{short}_{tail}_"),
    ];
    if let Some(rest) = short.strip_prefix("remove_error_") {
        // As MPICH 4.0 called them.
        names.push(format!("mpi_delete_error_{rest}_{tail}_"));
        names.push(format!("pmpir_delete_error_{rest}_{tail}_"));
    }
    let message = short.contains("send") || short.contains("recv");
    if tail == "f08" && short.ends_with("_init") && !message {
        // As Open MPI 4 has them.
        names.push(format!("mpix_{short}_{tail}_"));
        names.push(format!("pmpix_{short}_{tail}_"));
    }
    if let Some(narrow) = lower.strip_suffix("_c") {
        let short = narrow.trim_start_matches("mpi_");
        names.push(format!("{narrow}_{tail}_large_"));
        names.push(format!("pmpir_{short}_{tail}_large_"));
    }
    names
}

/// One call of the macro `spell`. Where there is an error code it may be absent, as `mpi_f08` allows.
pub fn spell(names: &[String], generics: &str, arguments: &str, returns: &str) -> String {
    let code = if arguments.contains("ierror: ") { "ierror" } else { "" };
    let names = names.join(" ");
    format!(
        "        $crate::spell! {{ [{names}] ({arguments}) ({returns}) \
         ($crate::{generics}) ({code}) }}\n"
    )
}
