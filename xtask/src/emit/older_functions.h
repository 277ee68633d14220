/* Handles and statuses of Fortran.@NAMES@ */

@HANDLES@
HPVM_INLINE int @P@MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    return hpvm_status_copy(c_status, f_status, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE);
}

HPVM_INLINE int @P@MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    return hpvm_status_copy(f_status, c_status, MPI_F_STATUS_IGNORE, MPI_F_STATUSES_IGNORE);
}

HPVM_INLINE int @P@MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    return hpvm_status_copy(c_status, f08_status, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE);
}

HPVM_INLINE int @P@MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    return hpvm_status_copy(f08_status, c_status, MPI_F08_STATUS_IGNORE, MPI_F08_STATUSES_IGNORE);
}

HPVM_INLINE int @P@MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    return hpvm_status_copy(f_status, f08_status, MPI_F_STATUS_IGNORE, MPI_F_STATUSES_IGNORE);
}

HPVM_INLINE int @P@MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    return hpvm_status_copy(f08_status, f_status, MPI_F08_STATUS_IGNORE, MPI_F08_STATUSES_IGNORE);
}

/* Removed in MPI 3.0.@NAMES@ */

/* Use MPI_Get_address. */
HPVM_INLINE int @P@MPI_Address(const void *location, MPI_Aint *address)
{
    return @P@MPI_Get_address(location, address);
}

/* Use MPI_Comm_create_errhandler. */
HPVM_INLINE int @P@MPI_Errhandler_create(MPI_Handler_function *handler_fn, MPI_Errhandler *errhandler)
{
    return @P@MPI_Comm_create_errhandler(handler_fn, errhandler);
}

/* Use MPI_Comm_get_errhandler. */
HPVM_INLINE int @P@MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return @P@MPI_Comm_get_errhandler(comm, errhandler);
}

/* Use MPI_Comm_set_errhandler. */
HPVM_INLINE int @P@MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return @P@MPI_Comm_set_errhandler(comm, errhandler);
}

/* Use MPI_Type_get_extent. */
HPVM_INLINE int @P@MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return @P@MPI_Type_get_extent(datatype, &lb, extent);
}

/* Use MPI_Type_get_extent. */
HPVM_INLINE int @P@MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return @P@MPI_Type_get_extent(datatype, displacement, &extent);
}

/* Use MPI_Type_get_extent. */
HPVM_INLINE int @P@MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint lb, extent;
    int code = @P@MPI_Type_get_extent(datatype, &lb, &extent);
    if (code == MPI_SUCCESS) {
        *displacement = lb + extent;
    }
    return code;
}

/* Use MPI_Type_create_hindexed. */
HPVM_INLINE int @P@MPI_Type_hindexed(int count, const int blocklengths[],
    const MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return @P@MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}

/* Use MPI_Type_create_hvector. */
HPVM_INLINE int @P@MPI_Type_hvector(int count, int blocklength, MPI_Aint stride,
    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return @P@MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

/* A structure with MPI_LB or MPI_UB among its types. Marks inside of the other types are bounds like
 * those of any type; in MPI 1 they hid the bounds of the types beside them. */
HPVM_INLINE int @P@hpvm_type_with_marks(int count, const int blocklengths[],
    const MPI_Aint displacements[], const MPI_Datatype types[], MPI_Datatype *newtype)
{
    const int none = -1;
    int lowest = none, highest = none, kept = 0, i, code, *lengths;
    MPI_Aint *places, lb, extent;
    MPI_Datatype *rest, whole;
    MPI_Aint number = (MPI_Aint)count;
    if ((code = @P@MPI_Alloc_mem(number * (MPI_Aint)sizeof *places, MPI_INFO_NULL, &places))) {
        return code;
    }
    if ((code = @P@MPI_Alloc_mem(number * (MPI_Aint)sizeof *rest, MPI_INFO_NULL, &rest))) {
        @P@MPI_Free_mem(places);
        return code;
    }
    if ((code = @P@MPI_Alloc_mem(number * (MPI_Aint)sizeof *lengths, MPI_INFO_NULL, &lengths))) {
        @P@MPI_Free_mem(places);
        @P@MPI_Free_mem(rest);
        return code;
    }
    for (i = 0; i < count; i++) {
        if (types[i] != MPI_LB && types[i] != MPI_UB) {
            places[kept] = displacements[i];
            rest[kept] = types[i];
            lengths[kept++] = blocklengths[i];
        } else if (blocklengths[i] <= 0) {
            continue;
        } else if (types[i] == MPI_LB) {
            lowest = lowest == none || displacements[i] < displacements[lowest] ? i : lowest;
        } else {
            highest = highest == none || displacements[i] > displacements[highest] ? i : highest;
        }
    }
    code = @P@MPI_Type_create_struct(kept, lengths, places, rest, &whole);
    @P@MPI_Free_mem(places);
    @P@MPI_Free_mem(rest);
    @P@MPI_Free_mem(lengths);
    if (code || (code = @P@MPI_Type_get_extent(whole, &lb, &extent))) {
        return code;
    }
    extent += lb;
    lb = lowest == none ? lb : displacements[lowest];
    extent = highest == none ? extent : displacements[highest];
    code = @P@MPI_Type_create_resized(whole, lb, extent - lb, newtype);
    @P@MPI_Type_free(&whole);
    return code;
}

/* Use MPI_Type_create_struct, and MPI_Type_create_resized in place of MPI_LB and MPI_UB. */
HPVM_INLINE int @P@MPI_Type_struct(int count, const int blocklengths[],
    const MPI_Aint displacements[], const MPI_Datatype types[], MPI_Datatype *newtype)
{
    int i;
    for (i = 0; types && blocklengths && displacements && i < count; i++) {
        if (types[i] == MPI_LB || types[i] == MPI_UB) {
            return @P@hpvm_type_with_marks(count, blocklengths, displacements, types, newtype);
        }
    }
    return @P@MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}

