//! The reference of the documentation site: a page for every function, and one that lists them.

use crate::cdecl::Form;
use crate::emit::{fortran, wrap};
use crate::spec::{Chapter, Function, Param, Spec};

/// Names of files and their texts. `index.md` lists the pages by chapter, in the form that mdBook's
/// SUMMARY.md has, too.
pub fn pages(spec: &Spec) -> Result<Vec<(String, String)>, String> {
    let mut index =
        "# Functions of MPI\n\nBy chapter, as in MPI 5.0. The search knows every name, \
                     also those of constants.\n"
            .to_owned();
    let mut pages = Vec::new();
    for chapter in &spec.chapters {
        index.push_str(&format!("\n## {}\n\n", chapter.title));
        for function in &chapter.functions {
            let name = &function.name;
            index.push_str(&format!("- [{name}]({name}.md)\n"));
            pages.push((format!("{name}.md"), page(spec, chapter, function)));
        }
    }
    pages.push(("index.md".to_owned(), index));
    pages.push(("constants.md".to_owned(), constants(spec)?));
    Ok(pages)
}

fn page(spec: &Spec, chapter: &Chapter, function: &Function) -> String {
    let mut text = format!(
        "# {}\n\n{}; section {} of MPI 5.0.\n",
        function.name, chapter.title, function.section
    );
    if let Some(version) = &function.deprecated {
        text.push_str(&format!("\nDeprecated since MPI {version}.\n"));
    }
    if let Some(other) = &function.same_as {
        text.push_str(&format!("\nDoes what [{other}]({other}.md) does.\n"));
    }
    if !spec.is_done(function) {
        text.push_str(
            "\n> Not there yet: the symbol exists, and a call raises `MPI_ERR_UNSUPPORTED_OPERATION`.\n",
        );
    }
    text.push_str("\n## C\n\n```c\n");
    for (symbol, form) in function.symbols() {
        text.push_str(&prototype(function, &symbol, form));
    }
    text.push_str("```\n");
    if function.large {
        text.push_str("\nThe second form has counts of 64 bits (`MPI_Count`).\n");
    }
    if let Some(arguments) = fortran::arguments(chapter, function) {
        text.push_str(&in_fortran(function, &arguments));
    }
    if !function.params.is_empty() {
        text.push_str("\n## Arguments\n\n| argument | | what it is |\n|---|---|---|\n");
        text.extend(function.params.iter().map(row));
    }
    text + &result(function)
}

fn prototype(function: &Function, symbol: &str, form: Form) -> String {
    let mut params: Vec<String> = function.params.iter().map(|p| p.decl.c(form)).collect();
    if function.variadic {
        params.push("...".to_owned());
    }
    if params.is_empty() {
        params.push("void".to_owned());
    }
    wrap(&format!("{} {symbol}(", function.returns), &params, ");\n", "    ")
}

/// The procedure of `mpif.h` and the module mpi, and the declarations of its arguments.
fn in_fortran(function: &Function, arguments: &[(String, String)]) -> String {
    let names: Vec<String> = arguments.iter().map(|(name, _)| name.clone()).collect();
    let name = function.name.to_uppercase();
    let head = match function.returns.as_str() {
        "int" => format!("{name}("),
        "double" => format!("DOUBLE PRECISION {name}("),
        _ => format!("INTEGER(KIND=MPI_ADDRESS_KIND) {name}("),
    };
    let mut text = wrap(&head, &names, ")\n", "    ");
    let mut declared: Vec<(String, Vec<String>)> = Vec::new();
    for (name, kind) in arguments {
        let param = function.params.iter().find(|param| param.decl.rust_name() == *name);
        let (kind, shape) = declaration(kind, param);
        let entry = format!("{name}{shape}");
        match declared.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, entries)) => entries.push(entry),
            None => declared.push((kind, vec![entry])),
        }
    }
    for (kind, entries) in declared {
        text.push_str(&wrap(&format!("    {kind} "), &entries, "\n", "        "));
    }
    format!("\n## Fortran\n\n```fortran\n{text}```\n")
}

/// Type and shape of an argument in Fortran.
fn declaration(kind: &str, param: Option<&Param>) -> (String, &'static str) {
    let means = param.map_or("", |param| param.kind.as_str());
    let array = param.is_some_and(is_array);
    let shape = if array { "(*)" } else { "" };
    let plain = kind.trim_start_matches("*const ").trim_start_matches("*mut ");
    match plain {
        _ if means == "status" && array => ("INTEGER".into(), "(MPI_STATUS_SIZE, *)"),
        _ if means == "status" => ("INTEGER".into(), "(MPI_STATUS_SIZE)"),
        _ if means == "function" => ("EXTERNAL".into(), ""),
        "c_void" | "V" => ("<type>".into(), "(*)"),
        "c_char" | "C" => ("CHARACTER*(*)".into(), shape),
        "MPI_Aint" | "A" => ("INTEGER(KIND=MPI_ADDRESS_KIND)".into(), shape),
        "MPI_Count" | "N" => ("INTEGER(KIND=MPI_COUNT_KIND)".into(), shape),
        "MPI_Offset" | "O" => ("INTEGER(KIND=MPI_OFFSET_KIND)".into(), shape),
        _ if means.starts_with("logical") => ("LOGICAL".into(), shape),
        _ => ("INTEGER".into(), shape),
    }
}

fn row(param: &Param) -> String {
    let direction = match param.direction.as_str() {
        "inout" => "in and out",
        other => other,
    };
    format!("| `{}` | {direction} | {} |\n", param.decl.name, meaning(param))
}

/// What an argument is, by its kind in the standard; arrays in the plural would be longer, not clearer.
fn meaning(param: &Param) -> String {
    let kind = match MEANINGS.iter().find(|(kind, _)| *kind == param.kind) {
        Some((_, meaning)) => (*meaning).to_owned(),
        None => param.kind.replace('_', " "),
    };
    if is_array(param) { format!("array: {kind}") } else { kind }
}

/// The header writes the array of statuses as a pointer, which may be `MPI_STATUSES_IGNORE`.
fn is_array(param: &Param) -> bool {
    !param.decl.array.is_empty() || param.decl.name == "array_of_statuses"
}

const MEANINGS: [(&str, &str); 60] = [
    ("access_mode", "access mode: `MPI_MODE_` constants joined by \"or\""),
    ("alloc_mem_num_bytes", "size in bytes, 0 or more"),
    ("array_length", "number of elements of an array"),
    ("array_length_nni", "number of elements of an array, 0 or more"),
    ("array_length_pi", "number of elements of an array, 1 or more"),
    ("assert", "assertions: `MPI_MODE_` constants joined by \"or\", or 0"),
    ("attribute_val", "value of the attribute"),
    ("buffer", "initial address of a buffer"),
    ("c_buffer", "address of memory"),
    ("c_buffer2", "place for the address of memory"),
    ("color", "colour: processes of the same one come together; 0 or more, or `MPI_UNDEFINED`"),
    ("comm_size", "number of processes"),
    ("communicator", "communicator"),
    ("coordinate", "coordinates in the grid"),
    ("datatype", "datatype"),
    ("degree", "number of neighbours"),
    ("dimension", "number of processes in a dimension"),
    ("displacement", "displacement"),
    ("displacement_aint_count", "displacement in bytes"),
    ("dtype_num_elem", "number of elements"),
    ("dtype_num_elem_nni", "number of elements or blocks, 0 or more"),
    ("dtype_num_elem_pi", "number of elements, 1 or more"),
    ("dtype_stride_bytes", "stride in bytes"),
    ("errhandler", "error handler"),
    ("error_class", "error class"),
    ("error_code", "error code"),
    ("extra_state", "what the program's function gets as its extra state"),
    ("file", "file"),
    ("function", "function of the program"),
    ("group", "group"),
    ("index", "index"),
    ("info", "hints: an info object or `MPI_INFO_NULL`"),
    ("key", "key: the order of ranks follows it"),
    ("key_index", "integer of a handle"),
    ("keyval", "key of an attribute"),
    ("location", "address"),
    ("lock_type", "`MPI_LOCK_EXCLUSIVE` or `MPI_LOCK_SHARED`"),
    ("logical", "true or false"),
    ("logical_optional", "true or false, or null where nobody asks"),
    ("message", "matched message"),
    ("num_bytes", "number of bytes"),
    ("num_bytes_nni", "number of bytes, 0 or more"),
    ("num_dims", "number of dimensions"),
    ("offset", "offset in the file"),
    ("operation", "reduction operation"),
    ("partition", "partition"),
    ("rank", "rank"),
    ("rank_nni", "rank, 0 or more"),
    ("request", "request"),
    ("rma_displacement_nni", "displacement in the window, in its units"),
    ("session", "session"),
    ("status", "status, or `MPI_STATUS_IGNORE`"),
    ("string", "text"),
    ("string_length", "length of a text"),
    ("tag", "tag"),
    ("thread_level", "level of thread support"),
    ("weight", "weight of an edge, or `MPI_UNWEIGHTED`"),
    ("window", "window"),
    ("xfer_num_elem", "number of elements"),
    ("xfer_num_elem_nni", "number of elements, 0 or more"),
];

fn result(function: &Function) -> String {
    let handle =
        |kind: &str| function.params.iter().any(|p| p.kind == kind && p.direction != "out");
    let on = match () {
        _ if function.returns != "int" || function.name.ends_with("_toint") => {
            return String::new();
        }
        _ if function.name.starts_with("MPI_T_") => {
            return "\nReturns `MPI_SUCCESS` or an error code of the tool interface; no error handler is \
                    called.\n"
                .to_owned();
        }
        _ if handle("window") => "the window",
        _ if handle("file") => "the file (by default the code is returned)",
        _ if handle("communicator") => "the communicator",
        _ if handle("request") => "the request's communicator",
        _ if handle("session") => "the session",
        _ => "`MPI_COMM_SELF`",
    };
    format!(
        "\nReturns `MPI_SUCCESS` or an error code, after the error handler of {on} was called; \
         `MPI_ERRORS_RETURN` there lets the program see the code. The same under the name \
         `P{}`, for profiling libraries.\n",
        function.name
    )
}

/// All constants by group.
fn constants(spec: &Spec) -> Result<String, String> {
    let mut text =
        "# Constants of MPI\n\nTheir numbers are those of the standard ABI.\n".to_owned();
    for group in &spec.groups {
        text.push_str(&format!("\n## {}\n\n", group.doc));
        for (of, name, _) in spec.constants()? {
            if of.name == group.name {
                text.push_str(&format!("- `{name}`\n"));
            }
        }
    }
    Ok(text)
}
