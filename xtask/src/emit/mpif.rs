//! What Fortran programs are compiled with, and what stands behind it: `include/mpif.h`, and the
//! numbers of the standard ABI for the translation, where both sides are the same.

use crate::cdecl::is_callback;
use crate::emit::NOTICE;
use crate::emit::foreign::{SINGLE, paired};
use crate::spec::{Group, Spec, Value};

/// `impl Numbers` of the crate hpvm-abi-fortran.
pub fn numbers(spec: &Spec) -> Result<String, String> {
    let mut text = format!(
        "//! The numbers of the standard ABI.\n//!\n//! {NOTICE}\n\nuse core::ffi::c_int;\n\
         use hpvm_abi::constants as standard;\nuse hpvm_foreign::Numbers;\n\
         use hpvm_foreign::numbers::Pairs;\n\nimpl Numbers for crate::Standard {{\n"
    );
    for group in paired(spec) {
        text.push_str(&format!("    const {}: Pairs = &[\n", group.name.to_uppercase()));
        for (name, _) in group.numbers() {
            text.push_str(&format!("        (standard::{name}, standard::{name}),\n"));
        }
        text.push_str("    ];\n");
    }
    let own = |name: &str, rust_type: &str| {
        let value = match rust_type {
            "usize" => number(spec, name).map(|n| format!("{n:#x}"))?,
            _ => format!("standard::{name}"),
        };
        Ok::<String, String>(format!("    const {name}: {rust_type} = {value};\n"))
    };
    text.push_str(&own("MPI_DISTRIBUTE_DFLT_DARG", "c_int")?);
    for (group, rust_type) in SINGLE {
        let rust_type = if rust_type == "MPI_Offset" { "i64" } else { rust_type };
        for name in spec.group(group)?.values.keys() {
            text.push_str(&own(name, rust_type)?);
        }
    }
    Ok(text + "}\n")
}

/// The number of a constant; of an alias, that of what it stands for.
pub fn number(spec: &Spec, name: &str) -> Result<i64, String> {
    let all = spec.constants()?;
    let found = all.iter().find(|(_, known, _)| *known == name);
    match found.map(|(_, _, value)| value) {
        Some(Value::Number(number)) => Ok(*number),
        Some(Value::SameAs(other)) => number(spec, other),
        None => Err(format!("spec/constants.toml has no {name}")),
    }
}

/// The number that Fortran has for a constant: a text of C ends with a zero byte that Fortran's has not.
pub fn plain_number(spec: &Spec, group: &Group, name: &str) -> Result<i64, String> {
    let less = i64::from(group.name == "limit" && name != "MPI_BSEND_OVERHEAD");
    Ok(number(spec, name)? - less)
}

/// `mpif.h`, good for fixed and free form. The module `mpi` includes it.
pub fn mpif(spec: &Spec) -> Result<String, String> {
    let mut text = format!(
        "! mpif.h: constants of MPI 5.0 for Fortran, with the numbers of the standard ABI.\n\
         ! {NOTICE}\n"
    );
    for group in spec.groups.iter().filter(|group| is_for_fortran(spec, group)) {
        text.push_str(&format!("\n! {}\n", group.doc));
        for name in group.values.keys() {
            parameter(&mut text, "integer", name, plain_number(spec, group, name)?);
        }
    }
    text.push_str(REST);
    Ok(text)
}

/// Whether a group's constants are plain numbers in Fortran. Addresses are variables there, predefined
/// callbacks procedures, and the tool interface is for C only.
pub fn is_for_fortran(spec: &Spec, group: &Group) -> bool {
    let callback = is_callback(group.c_type.trim_end_matches('*'));
    let handle = spec.types.handle.iter().any(|handle| handle.name == group.c_type);
    let tool = group.name.starts_with("t_") || group.c_type.starts_with("MPI_T_");
    !callback && !tool && group.name != "fortran_status" && (handle || group.c_type == "int")
}

fn parameter(text: &mut String, kind: &str, name: &str, value: i64) {
    text.push_str(&format!("      {kind} {name}\n      parameter ({name}={value})\n"));
}

const REST: &str = "
! Statuses: their size, and the places of their fields
      integer MPI_STATUS_SIZE, MPI_SOURCE, MPI_TAG, MPI_ERROR
      parameter (MPI_STATUS_SIZE=8)
      parameter (MPI_SOURCE=1, MPI_TAG=2, MPI_ERROR=3)

! Versions, kinds and promises
      integer MPI_VERSION, MPI_SUBVERSION
      parameter (MPI_VERSION=5, MPI_SUBVERSION=0)
      integer MPI_INTEGER_KIND, MPI_ADDRESS_KIND
      integer MPI_OFFSET_KIND, MPI_COUNT_KIND
      parameter (MPI_INTEGER_KIND=4, MPI_ADDRESS_KIND=8)
      parameter (MPI_OFFSET_KIND=8, MPI_COUNT_KIND=8)
      logical MPI_SUBARRAYS_SUPPORTED
      logical MPI_ASYNC_PROTECTS_NONBLOCKING
      parameter (MPI_SUBARRAYS_SUPPORTED=.false.)
      parameter (MPI_ASYNC_PROTECTS_NONBLOCKING=.false.)
      integer*8 MPI_DISPLACEMENT_CURRENT
      parameter (MPI_DISPLACEMENT_CURRENT=-1)

! Places that stand for something: only their addresses count
      integer MPI_BOTTOM, MPI_IN_PLACE
      integer MPI_ERRCODES_IGNORE(1)
      integer MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)
      integer MPI_BUFFER_AUTOMATIC
      integer MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)
      character*1 MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)
      common /HPVM_MPI_PLACES/ MPI_BOTTOM, MPI_IN_PLACE
      common /HPVM_MPI_PLACES/ MPI_ERRCODES_IGNORE, MPI_UNWEIGHTED
      common /HPVM_MPI_PLACES/ MPI_WEIGHTS_EMPTY, MPI_STATUS_IGNORE
      common /HPVM_MPI_PLACES/ MPI_STATUSES_IGNORE
      common /HPVM_MPI_TEXTS/ MPI_ARGV_NULL, MPI_ARGVS_NULL
      common /HPVM_MPI_AUTOMATIC/ MPI_BUFFER_AUTOMATIC
      save /HPVM_MPI_PLACES/, /HPVM_MPI_TEXTS/
      save /HPVM_MPI_AUTOMATIC/

! Functions, and predefined procedures for attributes
      external MPI_WTIME, MPI_WTICK, MPI_AINT_ADD, MPI_AINT_DIFF
      double precision MPI_WTIME, MPI_WTICK
      integer*8 MPI_AINT_ADD, MPI_AINT_DIFF
      external PMPI_WTIME, PMPI_WTICK, PMPI_AINT_ADD, PMPI_AINT_DIFF
      double precision PMPI_WTIME, PMPI_WTICK
      integer*8 PMPI_AINT_ADD, PMPI_AINT_DIFF
      external MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, MPI_DUP_FN
      external MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN
      external MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN
      external MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN
      external MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN, MPI_WIN_DUP_FN
      external MPI_CONVERSION_FN_NULL
";
