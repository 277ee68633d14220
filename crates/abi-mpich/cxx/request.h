// Requests.

#ifndef HPVM_MPICH_REQUEST_H
#define HPVM_MPICH_REQUEST_H

namespace MPI {

class Request {
public:
    MPI_Request handle;

    constexpr Request(MPI_Request given = MPI_REQUEST_NULL) : handle(given) {}
    Request(const Request &other) : handle(other.handle) {}
    virtual ~Request();
    virtual void Free() { check(MPI_Request_free(&handle)); }
    virtual void Wait(Status &status) { check(MPI_Wait(&handle, &status.status)); }
    virtual void Wait() { check(MPI_Wait(&handle, MPI_STATUS_IGNORE)); }
    virtual bool Test(Status &status)
    {
        int done = 0;
        check(MPI_Test(&handle, &done, &status.status));
        return done != 0;
    }
    virtual bool Test()
    {
        int done = 0;
        check(MPI_Test(&handle, &done, MPI_STATUS_IGNORE));
        return done != 0;
    }
    virtual void Cancel() const
    {
        MPI_Request own = handle;
        check(MPI_Cancel(&own));
    }
    virtual bool Get_status(Status &status) const
    {
        int done = 0;
        check(MPI_Request_get_status(handle, &done, &status.status));
        return done != 0;
    }
    virtual bool Get_status() const
    {
        int done = 0;
        check(MPI_Request_get_status(handle, &done, MPI_STATUS_IGNORE));
        return done != 0;
    }
};

class Prequest : public Request {
public:
    constexpr Prequest(MPI_Request given = MPI_REQUEST_NULL) : Request(given) {}
    Prequest(const Prequest &other) : Request(other) {}
    virtual ~Prequest();
    virtual void Start() { check(MPI_Start(&handle)); }
};

class Grequest : public Request {
public:
    typedef int Query_function(void *, Status &);
    typedef int Free_function(void *);
    typedef int Cancel_function(void *, bool);

    constexpr Grequest(MPI_Request given = MPI_REQUEST_NULL) : Request(given) {}
    Grequest(const Grequest &other) : Request(other) {}
    virtual ~Grequest();
    virtual void Complete() { check(MPI_Grequest_complete(handle)); }
    /// The standard has it static. In MPICH's header it is called on an object, which it leaves as it is.
    Grequest Start(Query_function *query, Free_function *release, Cancel_function *cancel, void *extra);
};

} // namespace MPI

#endif
