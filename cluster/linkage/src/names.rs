//! The names of MPI libraries: whose they are and what they hold.

/// Whose interface a library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The ABI of the MPI 5.0 standard.
    Standard,
    /// MPICH's ABI: MPICH, Intel MPI, MVAPICH, Cray.
    Mpich,
    /// Open MPI's.
    OpenMpi,
}

impl Family {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Family::Standard => "the MPI standard ABI",
            Family::Mpich => "MPICH's ABI",
            Family::OpenMpi => "Open MPI's ABI",
        }
    }

    /// For programs.
    pub fn word(self) -> &'static str {
        match self {
            Family::Standard => "standard",
            Family::Mpich => "mpich",
            Family::OpenMpi => "openmpi",
        }
    }
}

/// What a library holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    C,
    Fortran,
    Cxx,
    /// Parts of an MPI that programs only name.
    Inner,
}

impl Role {
    /// For people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Role::C => "C",
            Role::Fortran => "Fortran",
            Role::Cxx => "C++",
            Role::Inner => "internal",
        }
    }
}

/// A library's name without `.so` and what follows; its versions, where only some are meant.
const STEMS: &[(&str, Option<&[&str]>, Family, Role)] = &[
    ("libmpi_abi", None, Family::Standard, Role::C),
    ("libmpi", Some(&["12"]), Family::Mpich, Role::C),
    ("libmpich", None, Family::Mpich, Role::C),
    ("libmpifort", None, Family::Mpich, Role::Fortran),
    ("libmpichfort", None, Family::Mpich, Role::Fortran),
    ("libmpichf90", None, Family::Mpich, Role::Fortran),
    ("libfmpich", None, Family::Mpich, Role::Fortran),
    ("libmpicxx", None, Family::Mpich, Role::Cxx),
    ("libmpichcxx", None, Family::Mpich, Role::Cxx),
    ("libmpi", Some(&["0", "1", "20", "40", "80"]), Family::OpenMpi, Role::C),
    ("libmpi_mpifh", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_mpifh-gfortran", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_f77", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_f90", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_usempi", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_usempi_ignore_tkr", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_usempi_ignore_tkr-gfortran", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_usempif08", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_usempif08-gfortran", None, Family::OpenMpi, Role::Fortran),
    ("libmpi_cxx", None, Family::OpenMpi, Role::Cxx),
    ("libopen-rte", None, Family::OpenMpi, Role::Inner),
    ("libopen-pal", None, Family::OpenMpi, Role::Inner),
];

/// Whose library has this name; None for all that is not MPI.
pub fn classify(name: &str) -> Option<(Family, Role)> {
    let name = name.rsplit('/').next()?;
    let (stem, version) = name.split_once(".so")?;
    let major = version.strip_prefix('.').unwrap_or("").split('.').next()?;
    let found = STEMS.iter().find(|(known, versions, ..)| {
        *known == stem && versions.is_none_or(|versions| versions.contains(&major))
    });
    found.map(|(_, _, family, role)| (*family, *role))
}

/// Libraries that every program has and that need no MPI: there is no use in opening them.
pub fn is_plain(name: &str) -> bool {
    const PLAIN: &[&str] = &[
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "librt.so.1",
        "libpthread.so.0",
        "libgcc_s.so.1",
        "libstdc++.so.6",
        "libgfortran.so.5",
        "libquadmath.so.0",
        "libgomp.so.1",
        "libz.so.1",
        "linux-vdso.so.1",
    ];
    PLAIN.contains(&name) || name.starts_with("ld-linux")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose() {
        let mpich = |role| Some((Family::Mpich, role));
        let openmpi = |role| Some((Family::OpenMpi, role));
        assert_eq!(classify("libmpi.so.12"), mpich(Role::C));
        assert_eq!(classify("libmpi.so.12.3.1"), mpich(Role::C));
        assert_eq!(classify("/opt/x/libmpich.so.12"), mpich(Role::C));
        assert_eq!(classify("libmpifort.so.12"), mpich(Role::Fortran));
        assert_eq!(classify("libmpi.so.40"), openmpi(Role::C));
        assert_eq!(classify("libmpi_mpifh.so.40"), openmpi(Role::Fortran));
        assert_eq!(classify("libmpi_abi.so.1"), Some((Family::Standard, Role::C)));
        for name in ["libmpi.so.7", "libmpi", "libmpi.so", "libmpir.so.1", "libc.so.6", ""] {
            assert_eq!(classify(name), None, "{name}");
        }
    }
}
