//! crates/foreign/src/generated: one generic function per C symbol, which translates arguments and
//! results by the kinds and directions of spec/.

use crate::cdecl::{Form, is_callback, rust_base};
use crate::emit::{NOTICE, wrap};
use crate::spec::{Chapter, Function, Param, Spec};

/// Groups of constants that become single constants instead of pairs, with their Rust type.
pub const SINGLE: [(&str, &str); 5] = [
    ("sentinel", "c_int"),
    ("limit", "c_int"),
    ("address", "usize"),
    ("status_ignore", "usize"),
    ("displacement", "MPI_Offset"),
];

/// Groups of numbers that are translated by pairs.
pub fn paired(spec: &Spec) -> impl Iterator<Item = &crate::spec::Group> {
    let single = |name: &str| SINGLE.iter().any(|(s, _)| *s == name) || name == "fortran_status";
    spec.groups.iter().filter(move |group| {
        let named = spec.types.enumeration.iter().any(|e| e.name == group.c_type);
        (group.c_type == "int" || named) && !single(&group.name)
    })
}

/// The trait with all numbers of an ABI.
pub fn numbers(spec: &Spec) -> String {
    let mut text = format!(
        "//! The numbers of an ABI.\n//!\n//! {NOTICE}\n\nuse crate::numbers::Pairs;\n\
         use core::ffi::c_int;\nuse hpvm_abi::constants::MPI_Offset;\n\n\
         /// Values of the constants of MPI. Enumerations are pairs of a value and the standard's.\n\
         pub trait Numbers {{\n"
    );
    for group in paired(spec) {
        text.push_str(&format!("    /// {}.\n", group.doc));
        text.push_str(&format!("    const {}: Pairs;\n", group.name.to_uppercase()));
    }
    text.push_str("    const MPI_DISTRIBUTE_DFLT_DARG: c_int;\n");
    for (name, rust_type) in SINGLE {
        let Ok(group) = spec.group(name) else { continue };
        for name in group.values.keys() {
            text.push_str(&format!("    const {name}: {rust_type};\n"));
        }
    }
    text + "}\n"
}

/// The functions of one chapter.
pub fn chapter(chapter: &Chapter) -> Result<String, String> {
    let mut text = format!(
        "//! {}: calls of other ABIs.\n//!\n//! {NOTICE}\n//!\n\
         //! Safety of every function here: the caller keeps the promises of the MPI standard\n\
         //! about its arguments, in the form of its own ABI.\n\
         #![allow(unused_imports, clippy::missing_safety_doc, clippy::too_many_arguments)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\n\
         use crate::lengths::{{members, neighbours}};\nuse crate::numbers::*;\n\
         use crate::out_param::{{OutParam, Unset}};\nuse crate::several::{{Several, length}};\n\
         use crate::status::{{OneStatus, Statuses}};\nuse crate::text::{{Text, too_long}};\n\
         use crate::{{Abi, entries}};\nuse hpvm_abi::constants::{{MPI_Aint, MPI_Count, MPI_Offset}};\n\
         use hpvm_abi::constants::*;\n",
        chapter.title
    );
    for function in &chapter.functions {
        for (symbol, form) in function.symbols() {
            text.push_str(&generic(function, &symbol, form)?);
        }
    }
    Ok(text)
}

/// Whether a function is written by hand in `hpvm_foreign::by_hand`.
fn is_by_hand(function: &Function) -> bool {
    let callbacks = function.params.iter().any(|p| is_foreign_callback(p.decl.base(Form::Narrow)));
    callbacks
        || function.name.ends_with("_get_attr")
        || function.name == "MPI_Attr_get"
        || function.name == "MPI_Abi_get_version"
        || function.name == "MPI_Get_library_version"
        || function.name.starts_with("MPI_Type_get_contents")
}

/// The path of the generic function of a symbol.
pub fn path(chapter: &Chapter, function: &Function, symbol: &str) -> String {
    let module = if is_by_hand(function) {
        "by_hand".to_owned()
    } else {
        format!("generated::{}", chapter.name)
    };
    format!("hpvm_foreign::{module}::{}", generic_name(function, symbol))
}

fn generic_name(function: &Function, symbol: &str) -> String {
    let tail = if function.name == symbol { "" } else { "_c" };
    format!("{}{tail}", function.body_name())
}

/// Functions of the tool interface have handles of their own, which need no translation.
fn is_foreign_callback(base: &str) -> bool {
    is_callback(base) && !base.starts_with("MPI_T_")
}

/// The associated type of a handle type, if it is translated.
pub fn associated(base: &str) -> Option<&str> {
    const HANDLES: [&str; 12] = [
        "Comm",
        "Group",
        "Datatype",
        "Op",
        "Request",
        "Message",
        "Errhandler",
        "Info",
        "Win",
        "File",
        "Session",
        "Status",
    ];
    base.strip_prefix("MPI_").filter(|short| HANDLES.contains(short))
}

/// The Rust type of a parameter in an ABI: `prefix` comes before the associated type.
pub fn foreign_type(param: &Param, form: Form, prefix: &str) -> String {
    let base = param.decl.base(form);
    if is_foreign_callback(base) {
        return "*const c_void".to_owned();
    }
    let plain = param.decl.rust_type(form);
    match associated(base) {
        Some(short) => plain.replace(base, &format!("{prefix}{short}")),
        None => plain,
    }
}

/// The Rust type of what a function returns.
pub fn foreign_returns(returns: &str, prefix: &str) -> String {
    match associated(returns) {
        Some(short) => format!("{prefix}{short}"),
        None => rust_base(returns).to_owned(),
    }
}

/// The parameters of a function as Rust writes them.
pub fn parameters(function: &Function, form: Form, prefix: &str) -> Vec<String> {
    let one = |p: &Param| format!("{}: {}", p.decl.rust_name(), foreign_type(p, form, prefix));
    function.params.iter().map(one).collect()
}

fn generic(function: &Function, symbol: &str, form: Form) -> Result<String, String> {
    if is_by_hand(function) {
        return Ok(String::new());
    }
    let returns = foreign_returns(&function.returns, "A::");
    let name = generic_name(function, symbol);
    let signature = wrap(
        &format!("pub unsafe fn {name}<A: Abi>("),
        &parameters(function, form, "A::"),
        &format!(") -> {returns} {{"),
        "    ",
    );
    let body = if symbol.ends_with("_toint") || symbol.ends_with("_fromint") {
        let argument = function.params[0].decl.rust_name();
        let converts = name.replace("type_", "datatype_");
        format!("    A::{converts}({argument})\n")
    } else {
        translated(function, symbol, form)?
    };
    Ok(format!("\n/// `{symbol}`.\n#[inline(always)]\n{signature}\n{body}}}\n"))
}

/// What happens to one argument.
#[derive(Default)]
struct Piece {
    before: String,
    argument: String,
    after: String,
}

fn translated(function: &Function, symbol: &str, form: Form) -> Result<String, String> {
    let pieces: Result<Vec<Piece>, String> =
        function.params.iter().map(|param| piece(function, param, form)).collect();
    let pieces = pieces.map_err(|e| format!("{symbol}: {e}"))?;
    let arguments: Vec<String> = pieces.iter().map(|piece| piece.argument.clone()).collect();
    let head = format!("(entries().standard.{symbol})(");
    let lines = |text: fn(&Piece) -> &String| -> String {
        let lines = pieces.iter().map(text).filter(|line| !line.is_empty());
        lines.map(|line| format!("        {line}\n")).collect()
    };
    let (before, after) = (lines(|p| &p.before), lines(|p| &p.after));
    let safety = "    // SAFETY: the caller's promises; places of ours live through the call.\n";
    let outcome = if function.returns == "int" { "error_out::<A>(code)" } else { "code" };
    if before.is_empty() && after.is_empty() && function.returns != "int" {
        let call = wrap(&format!("    unsafe {{ {head}"), &arguments, ") }", "        ");
        return Ok(format!("{safety}{call}\n"));
    }
    let call = wrap(&format!("        let code = {head}"), &arguments, ");", "            ");
    Ok(format!("{safety}    unsafe {{\n{before}{call}\n{after}        {outcome}\n    }}\n"))
}

fn piece(function: &Function, param: &Param, form: Form) -> Result<Piece, String> {
    let name = param.decl.rust_name();
    let base = param.decl.base(form);
    match associated(base) {
        Some("Status") => Ok(status(function, param, &name)),
        Some(short) => handle(function, param, &short.to_lowercase(), &name),
        None if param.decl.is_pointer() => Ok(pointer(function, param, &name)),
        None => Ok(number(function, param, &name)),
    }
}

/// A handle, a place for one, or an array.
fn handle(function: &Function, param: &Param, short: &str, name: &str) -> Result<Piece, String> {
    let own = format!("own_{}", param.decl.name);
    if !param.decl.is_pointer() {
        return Ok(Piece { argument: format!("A::{short}_in({name})"), ..Piece::default() });
    }
    let out = param.direction != "in";
    let give = format!("{own}.give(A::{short}_out);");
    let argument = format!("{own}.pointer()");
    if !param.decl.array.is_empty() {
        let length = array_length(function, param)?;
        // A result's place may hold anything, which no function for handles should see.
        let before = match param.direction.as_str() {
            "out" => {
                format!("let mut {own} = Several::new({name}, {length}); {own}.fill(Unset::UNSET);")
            }
            _ => format!(
                "let mut {own} = Several::new({name}, {length}); {own}.take(A::{short}_in);"
            ),
        };
        return Ok(Piece { before, argument, after: if out { give } else { String::new() } });
    }
    let before = match param.direction.as_str() {
        "out" => format!("let mut {own} = OutParam::new({name});"),
        _ => format!("let mut {own} = OutParam::take({name}, A::{short}_in);"),
    };
    // The engine's `MPI_Cancel` takes the place of a request, but does not change it.
    Ok(Piece { before, argument, after: if out { give } else { String::new() } })
}

/// How many handles there are.
fn array_length(function: &Function, param: &Param) -> Result<String, String> {
    let count = ["count", "incount", "n"]
        .iter()
        .find(|count| function.params.iter().any(|p| p.decl.name == **count));
    let name = param.decl.name.as_str();
    let comm = "A::comm_in(comm)";
    Ok(match (name, function.name.as_str()) {
        // With MPI_IN_PLACE the types to send are not looked at.
        ("sendtypes", f) if f.contains("eighbor") => format!("neighbours({comm}, true)"),
        ("sendtypes", _) => {
            format!("if is_in_place::<A>(sendbuf) {{ 0 }} else {{ members({comm}) }}")
        }
        ("recvtypes", f) if f.contains("eighbor") => format!("neighbours({comm}, false)"),
        ("recvtypes", _) => format!("members({comm})"),
        ("array_of_datatypes", "MPI_T_event_get_info") => {
            "if num_elements.is_null() { 0 } else { length(*num_elements) }".to_owned()
        }
        _ => format!("length({})", count.ok_or_else(|| format!("how long is {name}?"))?),
    })
}

fn status(function: &Function, param: &Param, name: &str) -> Piece {
    let own = format!("own_{}", param.decl.name);
    let argument = format!("{own}.pointer()");
    let many = param.decl.name == "array_of_statuses";
    let before = match (many, param.direction.as_str()) {
        (true, _) => {
            let counts = ["count", "incount"];
            let named = |p: &&Param| counts.contains(&p.decl.name.as_str());
            let count = function.params.iter().find(named).map_or("0", |p| &p.decl.name);
            format!("let mut {own} = Statuses::<A>::new({name}, length({count})); {own}.clear();")
        }
        (false, "out") => format!("let mut {own} = OneStatus::<A>::new({name});"),
        _ => format!("let mut {own} = OneStatus::<A>::take({name});"),
    };
    let after = if param.direction == "in" { String::new() } else { format!("{own}.give();") };
    Piece { before, argument, after }
}

/// A pointer or an array that is neither of handles nor of statuses.
fn pointer(function: &Function, param: &Param, name: &str) -> Piece {
    let plain = |argument: String| Piece { argument, ..Piece::default() };
    let (kind, direction) = (param.kind.as_str(), param.direction.as_str());
    let own = format!("own_{}", param.decl.name);
    match kind {
        // Asks for the number of any address, sentinels included.
        "buffer" if function.name == "MPI_Get_address" => plain(name.to_owned()),
        "buffer" if param.decl.constant => plain(format!("address_in::<A>({name})")),
        "buffer" => plain(format!("address_mut_in::<A>({name})")),
        "c_buffer2" => {
            Piece { after: format!("detached_out::<A>({name});"), ..plain(name.to_owned()) }
        }
        "weight" if param.decl.constant => plain(format!("A::weights_in({name})")),
        "weight" => plain(format!("A::weights_in({name}).cast_mut()")),
        "string" if direction == "out" => match text_limit(&function.name) {
            None => plain(name.to_owned()),
            Some(limit) => text(function, name, &own, limit),
        },
        "string" if function.name == "MPI_Info_set" && param.decl.name == "key" => Piece {
            before: format!("if let Some(code) = too_long::<A>({name}) {{ return code; }}"),
            ..plain(name.to_owned())
        },
        "error_code" if !param.decl.array.is_empty() => {
            let asked = match function.name.as_str() {
                "MPI_Comm_spawn" => "length(maxprocs)",
                _ => "sum(array_of_maxprocs, count)",
            };
            let call = format!(
                "error_codes_out::<A>({name}, {asked}, code, rank_in::<A>(root), A::comm_in(comm));"
            );
            Piece { after: call, ..plain(name.to_owned()) }
        }
        _ if !param.decl.array.is_empty() => array(function, param, name, &own),
        _ => match number_back(kind) {
            None => plain(name.to_owned()),
            Some(back) => {
                let before = match direction {
                    "inout" => {
                        let there = number_there(kind).unwrap_or_else(|| "{}".to_owned());
                        let there = there.replace("{}", "v");
                        format!("let mut {own} = OutParam::take({name}, |v| {there});")
                    }
                    _ => format!("let mut {own} = OutParam::new({name});"),
                };
                Piece {
                    before,
                    argument: format!("{own}.pointer()"),
                    after: format!("{own}.give(|v| {});", back.replace("{}", "v")),
                }
            }
        },
    }
}

/// Arrays of numbers that may hold more than plain numbers.
fn array(function: &Function, param: &Param, name: &str, own: &str) -> Piece {
    let (there, length) = match (function.name.as_str(), param.decl.name.as_str()) {
        ("MPI_Group_translate_ranks", "ranks1" | "ranks2") => ("rank_in::<A>", "n"),
        ("MPI_Type_create_darray", "array_of_distribs") => {
            ("|v| to_standard(A::DISTRIBUTION, v)", "ndims")
        }
        ("MPI_Type_create_darray", "array_of_dargs") => ("distribution_argument_in::<A>", "ndims"),
        _ => return Piece { argument: name.to_owned(), ..Piece::default() },
    };
    Piece {
        before: format!(
            "let mut {own} = Several::new({name}, length({length})); {own}.take({there});"
        ),
        argument: format!("{own}.pointer()"),
        after: match param.direction.as_str() {
            "in" => String::new(),
            _ => format!("if code == MPI_SUCCESS {{ {own}.give(rank_out::<A>); }}"),
        },
    }
}

/// The constant that bounds what a function writes to a buffer of unnamed length.
pub fn text_limit(function: &str) -> Option<&'static str> {
    Some(match function {
        "MPI_Comm_get_name" | "MPI_Type_get_name" | "MPI_Win_get_name" => "MPI_MAX_OBJECT_NAME",
        "MPI_Error_string" => "MPI_MAX_ERROR_STRING",
        "MPI_Get_library_version" => "MPI_MAX_LIBRARY_VERSION_STRING",
        "MPI_Get_processor_name" => "MPI_MAX_PROCESSOR_NAME",
        "MPI_Info_get_nthkey" => "MPI_MAX_INFO_KEY",
        "MPI_Open_port" | "MPI_Lookup_name" => "MPI_MAX_PORT_NAME",
        "MPI_File_get_view" => "MPI_MAX_DATAREP_STRING",
        _ => return None,
    })
}

fn text(function: &Function, name: &str, own: &str, limit: &str) -> Piece {
    let length = function.params.iter().find(|p| p.decl.name == "resultlen");
    let length = length.map_or("core::ptr::null_mut()", |_| "resultlen");
    Piece {
        before: format!("let mut {own} = Text::new({name}, A::{limit});"),
        argument: format!("{own}.pointer()"),
        after: format!("if code == MPI_SUCCESS {{ {own}.give({length}); }}"),
    }
}

/// A number that is passed by value.
fn number(function: &Function, param: &Param, name: &str) -> Piece {
    let plain = |argument: String| Piece { argument, ..Piece::default() };
    if function.name == "MPI_File_set_view" && param.kind == "offset" {
        return plain(format!("view_displacement_in::<A>({name})"));
    }
    match number_there(&param.kind) {
        // The exit status of the job rather than a code of MPI.
        Some(_) if function.name == "MPI_Abort" => plain(name.to_owned()),
        Some(there) => plain(there.replace("{}", name)),
        None => plain(name.to_owned()),
    }
}

/// The expression that turns a number of the program (`{}`) into the engine's; `None`: it is one.
fn number_there(kind: &str) -> Option<String> {
    let pairs = |group: &str| Some(format!("to_standard(A::{group}, {{}})"));
    match kind {
        "rank" | "rank_nni" => Some("rank_in::<A>({})".to_owned()),
        "tag" => Some("tag_in::<A>({})".to_owned()),
        "error_code" | "error_class" => Some("error_in::<A>({})".to_owned()),
        "keyval" => Some("keyval_in::<A>({})".to_owned()),
        "assert" => Some("flags_to_standard(A::WIN_ASSERT, {})".to_owned()),
        "access_mode" => Some("flags_to_standard(A::FILE_MODE, {})".to_owned()),
        "split_type" => Some("split_type_in::<A>({})".to_owned()),
        other => pairs(group_of(other)?),
    }
}

/// The expression for the way back.
fn number_back(kind: &str) -> Option<String> {
    Some(match kind {
        "rank" | "rank_nni" => "rank_out::<A>({})".to_owned(),
        "tag" => "tag_out::<A>({})".to_owned(),
        "error_code" | "error_class" => "error_out::<A>({})".to_owned(),
        "keyval" => "to_foreign(A::KEYVAL, {})".to_owned(),
        "access_mode" => "flags_to_foreign(A::FILE_MODE, {})".to_owned(),
        other => format!("to_foreign(A::{}, {{}})", group_of(other)?),
    })
}

/// The group of constants that a kind takes its values from.
fn group_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "thread_level" => "THREAD_LEVEL",
        "order" => "ORDER",
        "combiner" => "COMBINER",
        "typeclass" => "TYPECLASS",
        "comm_comparison" | "group_comparison" => "COMPARISON",
        "topology_type" => "TOPOLOGY",
        "lock_type" => "LOCK_TYPE",
        "update_mode" => "SEEK",
        "callback_safety" => "T_CB_SAFETY",
        "source_ordering" => "T_SOURCE_ORDER",
        "tool_var_verbosity" => "T_VERBOSITY",
        "bind_type" => "T_BIND",
        "variable_scope" => "T_SCOPE",
        "pvar_class" => "T_PVAR_CLASS",
        _ => return None,
    })
}
