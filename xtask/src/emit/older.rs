//! The end of include/mpi.h: what the standard ABI has not, as functions of the header.

use crate::spec::Spec;

const TYPES: &str = include_str!("older.h");
const FUNCTIONS: &str = include_str!("older_functions.h");

/// Where `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` lie in the common block of mpif.h, in
/// integers: the crate hpvm-abi-fortran, and a test of jobs with both languages.
const IGNORE: [(&str, &str); 2] = [("@IGNORE@", "5"), ("@IGNORES@", "13")];

/// The text.
pub fn older(spec: &Spec) -> String {
    let mut text = TYPES.to_owned();
    for (mark, place) in IGNORE {
        text = text.replace(mark, place);
    }
    for prefix in ["", "P"] {
        let names = if prefix.is_empty() { "" } else { " Profiling names." };
        let functions = FUNCTIONS.replace("@HANDLES@", &handles(spec));
        text.push_str(&functions.replace("@P@", prefix).replace("@NAMES@", names));
    }
    text + "#undef HPVM_INLINE\n\n"
}

/// `MPI_X_c2f` and `MPI_X_f2c` of every handle that has an integer.
fn handles(spec: &Spec) -> String {
    let all = spec.functions().filter_map(|function| {
        let class = function.name.strip_prefix("MPI_")?.strip_suffix("_fromint")?;
        Some((class, function.returns.as_str(), function.params.first()?.decl.name.as_str()))
    });
    let pair = |(class, of, name): (&str, &str, &str)| {
        format!(
            "HPVM_INLINE MPI_Fint @P@MPI_{class}_c2f({of} {name})\n{{\n    \
             return @P@MPI_{class}_toint({name});\n}}\n\n\
             HPVM_INLINE {of} @P@MPI_{class}_f2c(MPI_Fint {name})\n{{\n    \
             return @P@MPI_{class}_fromint({name});\n}}\n\n"
        )
    };
    all.map(pair).collect::<String>().trim_end().to_owned() + "\n"
}
