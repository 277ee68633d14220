//! `MPI_SIZEOF` (section 19.1.9 of MPI 5.0, deprecated since 4.0): the procedures behind the generic one in
//! `include/mpi.f90`, one for each type. The compiler chooses; the variable itself is not looked at.

hpvm_fortran::sizeofs! {
    hpvm_sizeof_integer1_ 1;
    hpvm_sizeof_integer2_ 2;
    hpvm_sizeof_integer4_ 4;
    hpvm_sizeof_integer8_ 8;
    hpvm_sizeof_logical1_ 1;
    hpvm_sizeof_logical2_ 2;
    hpvm_sizeof_logical4_ 4;
    hpvm_sizeof_logical8_ 8;
    hpvm_sizeof_real4_ 4;
    hpvm_sizeof_real8_ 8;
    hpvm_sizeof_complex4_ 8;
    hpvm_sizeof_complex8_ 16;
    hpvm_sizeof_character_ 1;
}
