//! crates/abi-ompi/src/generated/symbols.rs: data symbols whose addresses are handles.

use crate::abi::Other;
use crate::emit::NOTICE;
use crate::spec::Spec;

/// Symbols that stand for nothing in the standard ABI get numbers from here; the engine refuses them.
const UNKNOWN: i64 = 0x3e0;
/// Bytes of an object that are used.
const USED: i64 = 16;

/// A data symbol, the size it has, and the standard handle it stands for.
struct Row<'a> {
    symbol: &'a str,
    size: i64,
    standard: i64,
    /// Whether handles go back to this symbol.
    back: bool,
}

/// The module; `None` when no handle of the ABI is a symbol.
pub fn symbols(spec: &Spec, other: &Other) -> Result<Option<String>, String> {
    if other.sizes.is_empty() {
        return Ok(None);
    }
    let rows = rows(spec, other)?;
    let mut text = format!(
        "//! Data symbols whose addresses are handles, and the table from handles to them.\n//!\n\
         //! {NOTICE}\n#![allow(non_upper_case_globals, missing_docs)]\n\n\
         use crate::object::{{Address, Object, PREDEFINED}};\n\n"
    );
    for Row { symbol, size, standard, .. } in &rows {
        let rest = size - USED;
        text.push_str(&format!(
            "#[unsafe(no_mangle)]\npub static {symbol}: Object<{rest}> = Object::new({standard:#x});\n"
        ));
    }
    text.push_str(
        "\n/// By handles of the standard ABI.\npub static ADDRESSES: [Address; PREDEFINED] = {\n    \
         let mut table = [Address::NONE; PREDEFINED];\n",
    );
    for Row { symbol, standard, .. } in rows.iter().filter(|row| row.back) {
        text.push_str(&format!("    table[{standard:#x}] = Address::of(&raw const {symbol});\n"));
    }
    text.push_str("    table\n};\n");
    text.push_str(&integers(spec, other)?);
    text.push_str(&variables(spec, other)?);
    text.push_str(&sizeofs());
    Ok(Some(text))
}

fn rows<'a>(spec: &Spec, other: &'a Other) -> Result<Vec<Row<'a>>, String> {
    let mut rows: Vec<Row> = Vec::new();
    for (group, size) in &other.sizes {
        let size = size.as_integer().ok_or_else(|| format!("sizes.{group}: no number"))?;
        for (name, standard) in spec.group(group)?.numbers() {
            let Some(symbol) = other.constants.get(name).and_then(|v| v.as_str()) else { continue };
            rows.push(Row { symbol, size, standard, back: true });
        }
    }
    for (extra, number) in other.symbols.iter().zip(UNKNOWN..) {
        let size = other.sizes.get(&extra.group).and_then(|size| size.as_integer());
        let size = size.ok_or_else(|| format!("{}: no size of {}", extra.symbol, extra.group))?;
        let standard = match extra.same_as.as_str() {
            "" => number,
            name => {
                let same = spec.group(&extra.group)?.numbers().find(|(known, _)| *known == name);
                same.ok_or_else(|| format!("{}: {name} is unknown", extra.symbol))?.1
            }
        };
        let back = extra.back || extra.same_as.is_empty();
        if extra.back {
            rows.iter_mut().filter(|row| row.standard == standard).for_each(|row| row.back = false);
        }
        rows.push(Row { symbol: &extra.symbol, size, standard, back });
    }
    Ok(rows)
}

/// The constants of Open MPI's module `mpi_f08`, which are variables there.
fn variables(spec: &Spec, other: &Other) -> Result<String, String> {
    let mut text = String::from("\n// Constants of the module mpi_f08.\n");
    for group in other.sizes.keys() {
        let known = spec.group(group)?.numbers().map(|(name, _)| name);
        let further = other.symbols.iter().filter(|extra| extra.group == *group);
        let further = further.filter_map(|extra| Some((extra.name.as_deref()?, extra.fortran?)));
        let integer = |name| other.fortran.get(name).and_then(|v| v.as_integer());
        let known = known.filter_map(|name| Some((name, integer(name)?)));
        for (name, value) in known.chain(further) {
            let name = name.to_lowercase();
            let name = match name.as_str() {
                "mpi_cxx_float_complex" => "mpi_cxx_complex",
                "mpi_c_float_complex" => "mpi_c_complex",
                name if name.contains("int") => name.trim_end_matches("_t"),
                name => name,
            };
            text.push_str(&format!(
                "#[unsafe(no_mangle)]\npub static ompi_f08_{name}: i32 = {value};\n"
            ));
            let also = match name {
                "mpi_c_complex" => "mpi_c_float_complex",
                "mpi_cxx_complex" => "mpi_cxx_float_complex",
                "mpi_long_long" => "mpi_long_long_int",
                _ => continue,
            };
            text.push_str(&format!(
                "#[unsafe(no_mangle)]\npub static ompi_f08_{also}: i32 = {value};\n"
            ));
        }
    }
    Ok(text)
}

/// The procedures behind `MPI_SIZEOF` of Open MPI, one for each type and rank.
fn sizeofs() -> String {
    const TYPES: [(&str, u32); 12] = [
        ("character", 1),
        ("logical", 4),
        ("int8", 1),
        ("int16", 2),
        ("int32", 4),
        ("int64", 8),
        ("real32", 4),
        ("real64", 8),
        ("real128", 16),
        ("complex32", 8),
        ("complex64", 16),
        ("complex128", 32),
    ];
    let mut text = String::from("\nhpvm_fortran::sizeofs! {\n");
    for (name, bytes) in TYPES {
        for rank in 0..=15 {
            let rank = if rank == 0 { "scalar".to_owned() } else { format!("r{rank}") };
            for prefix in ["", "p"] {
                text.push_str(&format!("    {prefix}mpi_sizeof_{name}_{rank}_ {bytes};\n"));
            }
        }
    }
    text + "}\n"
}

/// The Fortran integers of predefined handles, by group.
fn integers(spec: &Spec, other: &Other) -> Result<String, String> {
    let mut text = String::from(
        "\n/// Fortran's integers beside the standard handles, by kind of handle.\npub mod integers {\n",
    );
    for group in other.sizes.keys() {
        let mut pairs = Vec::new();
        for (name, standard) in spec.group(group)?.numbers() {
            let Some(integer) = other.fortran.get(name).and_then(|v| v.as_integer()) else {
                continue;
            };
            pairs.push(format!("({integer}, {standard:#x})"));
        }
        for (extra, number) in other.symbols.iter().zip(UNKNOWN..) {
            if let (true, Some(integer)) = (extra.group == *group, extra.fortran) {
                pairs.push(format!("({integer}, {number:#x})"));
            }
        }
        let name = group.to_uppercase();
        text.push_str(&crate::emit::wrap(
            &format!("    pub static {name}: &[(i32, usize)] = &["),
            &pairs,
            "];\n",
            "        ",
        ));
    }
    text.push_str("}\n");
    Ok(text)
}
