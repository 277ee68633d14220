// Files.

#ifndef HPVM_MPICH_FILE_H
#define HPVM_MPICH_FILE_H

namespace MPI {

class File {
public:
    MPI_File handle;

    typedef void Errhandler_function(File &, int *, ...);

    constexpr File(MPI_File given = MPI_FILE_NULL) : handle(given) {}
    File(const File &other) : handle(other.handle) {}
    virtual ~File();
    virtual Aint Get_type_extent(const Datatype &datatype) const
    {
        Aint extent = 0;
        check(*this, MPI_File_get_type_extent(handle, datatype.handle, &extent));
        return extent;
    }
    virtual void Read_ordered_end(void *buffer, Status &status)
    {
        check(*this, MPI_File_read_ordered_end(handle, buffer, &status.status));
    }
    virtual void Read_ordered_end(void *buffer)
    {
        check(*this, MPI_File_read_ordered_end(handle, buffer, MPI_STATUS_IGNORE));
    }
    virtual void Seek_shared(Offset offset, int whence) { check(*this, MPI_File_seek_shared(handle, offset, whence)); }
    virtual void Read_ordered(void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_read_ordered(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Read_ordered(void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_ordered(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual Request Iread_shared(void *buffer, int count, const Datatype &datatype)
    {
        Request request;
        check(*this, MPI_File_iread_shared(handle, buffer, count, datatype.handle, &request.handle));
        return request;
    }
    virtual Info Get_info() const
    {
        Info info;
        check(*this, MPI_File_get_info(handle, &info.handle));
        return info;
    }
    virtual void Write_ordered_begin(const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_ordered_begin(handle, buffer, count, datatype.handle));
    }
    virtual void Set_info(const Info &info) { check(*this, MPI_File_set_info(handle, info.handle)); }
    virtual void Write_ordered(const void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_write_ordered(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Write_ordered(const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_ordered(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Sync() { check(*this, MPI_File_sync(handle)); }
    virtual void Read(void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_read(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Read(void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Write_all(const void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_write_all(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Write_all(const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_all(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual Offset Get_size() const
    {
        MPI_Offset size = 0;
        check(*this, MPI_File_get_size(handle, &size));
        return size;
    }
    virtual void Write_all_end(const void *buffer, Status &status)
    {
        check(*this, MPI_File_write_all_end(handle, buffer, &status.status));
    }
    virtual void Write_all_end(const void *buffer)
    {
        check(*this, MPI_File_write_all_end(handle, buffer, MPI_STATUS_IGNORE));
    }
    virtual void Read_ordered_begin(void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_ordered_begin(handle, buffer, count, datatype.handle));
    }
    virtual Request Iread_at(Offset offset, void *buffer, int count, const Datatype &datatype)
    {
        Request request;
        check(*this, MPI_File_iread_at(handle, offset, buffer, count, datatype.handle, &request.handle));
        return request;
    }
    virtual void Write_at_all_end(const void *buffer, Status &status)
    {
        check(*this, MPI_File_write_at_all_end(handle, buffer, &status.status));
    }
    virtual void Write_at_all_end(const void *buffer)
    {
        check(*this, MPI_File_write_at_all_end(handle, buffer, MPI_STATUS_IGNORE));
    }
    virtual Offset Get_position_shared() const
    {
        MPI_Offset position = 0;
        check(*this, MPI_File_get_position_shared(handle, &position));
        return position;
    }
    virtual void Write_shared(const void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_write_shared(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Write_shared(const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_shared(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual Request Iwrite_at(Offset offset, const void *buffer, int count, const Datatype &datatype)
    {
        Request request;
        check(*this, MPI_File_iwrite_at(handle, offset, buffer, count, datatype.handle, &request.handle));
        return request;
    }
    virtual void Get_view(Offset &displacement, Datatype &etype, Datatype &filetype, char *representation) const
    {
        MPI_Offset start = displacement;
        check(*this, MPI_File_get_view(handle, &start, &etype.handle, &filetype.handle, representation));
        displacement = start;
    }
    virtual void Write_all_begin(const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_all_begin(handle, buffer, count, datatype.handle));
    }
    virtual void Read_all_end(void *buffer, Status &status)
    {
        check(*this, MPI_File_read_all_end(handle, buffer, &status.status));
    }
    virtual void Read_all_end(void *buffer)
    {
        check(*this, MPI_File_read_all_end(handle, buffer, MPI_STATUS_IGNORE));
    }
    virtual Offset Get_byte_offset(Offset offset) const
    {
        MPI_Offset bytes = 0;
        check(*this, MPI_File_get_byte_offset(handle, offset, &bytes));
        return bytes;
    }
    virtual Request Iread(void *buffer, int count, const Datatype &datatype)
    {
        Request request;
        check(*this, MPI_File_iread(handle, buffer, count, datatype.handle, &request.handle));
        return request;
    }
    virtual void Read_at_all_end(void *buffer, Status &status)
    {
        check(*this, MPI_File_read_at_all_end(handle, buffer, &status.status));
    }
    virtual void Read_at_all_end(void *buffer)
    {
        check(*this, MPI_File_read_at_all_end(handle, buffer, MPI_STATUS_IGNORE));
    }
    virtual void Write_at(Offset offset, const void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_write_at(handle, offset, buffer, count, datatype.handle, &status.status));
    }
    virtual void Write_at(Offset offset, const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_at(handle, offset, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Write_at_all_begin(Offset offset, const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_at_all_begin(handle, offset, buffer, count, datatype.handle));
    }
    virtual Errhandler Get_errhandler() const
    {
        Errhandler errhandler;
        check(*this, MPI_File_get_errhandler(handle, &errhandler.handle));
        return errhandler;
    }
    virtual int Get_amode() const
    {
        int mode = 0;
        check(*this, MPI_File_get_amode(handle, &mode));
        return mode;
    }
    virtual void Set_atomicity(bool atomic) { check(*this, MPI_File_set_atomicity(handle, atomic)); }
    virtual Group Get_group() const
    {
        Group group;
        check(*this, MPI_File_get_group(handle, &group.handle));
        return group;
    }
    virtual Offset Get_position() const
    {
        MPI_Offset position = 0;
        check(*this, MPI_File_get_position(handle, &position));
        return position;
    }
    virtual void Seek(Offset offset, int whence) { check(*this, MPI_File_seek(handle, offset, whence)); }
    virtual void Read_all_begin(void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_all_begin(handle, buffer, count, datatype.handle));
    }
    virtual void Read_at_all_begin(Offset offset, void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_at_all_begin(handle, offset, buffer, count, datatype.handle));
    }
    virtual void Read_all(void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_read_all(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Read_all(void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_all(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Preallocate(Offset size) { check(*this, MPI_File_preallocate(handle, size)); }
    virtual void Read_at_all(Offset offset, void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_read_at_all(handle, offset, buffer, count, datatype.handle, &status.status));
    }
    virtual void Read_at_all(Offset offset, void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_at_all(handle, offset, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Read_shared(void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_read_shared(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Read_shared(void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_shared(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual Request Iwrite(const void *buffer, int count, const Datatype &datatype)
    {
        Request request;
        check(*this, MPI_File_iwrite(handle, buffer, count, datatype.handle, &request.handle));
        return request;
    }
    virtual Request Iwrite_shared(const void *buffer, int count, const Datatype &datatype)
    {
        Request request;
        check(*this, MPI_File_iwrite_shared(handle, buffer, count, datatype.handle, &request.handle));
        return request;
    }
    virtual void Set_errhandler(const Errhandler &errhandler)
    {
        check(*this, MPI_File_set_errhandler(handle, errhandler.handle));
    }
    virtual void Write_at_all(Offset offset, const void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_write_at_all(handle, offset, buffer, count, datatype.handle, &status.status));
    }
    virtual void Write_at_all(Offset offset, const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write_at_all(handle, offset, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Set_size(Offset size) { check(*this, MPI_File_set_size(handle, size)); }
    virtual void Set_view(Offset displacement, const Datatype &etype, Datatype filetype, const char *representation,
                          const Info &info)
    {
        check(*this, MPI_File_set_view(handle, displacement, etype.handle, filetype.handle, representation,
                                       info.handle));
    }
    virtual void Read_at(Offset offset, void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_read_at(handle, offset, buffer, count, datatype.handle, &status.status));
    }
    virtual void Read_at(Offset offset, void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_read_at(handle, offset, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual void Close() { check(*this, MPI_File_close(&handle)); }
    virtual void Write_ordered_end(const void *buffer, Status &status)
    {
        check(*this, MPI_File_write_ordered_end(handle, buffer, &status.status));
    }
    virtual void Write_ordered_end(const void *buffer)
    {
        check(*this, MPI_File_write_ordered_end(handle, buffer, MPI_STATUS_IGNORE));
    }
    virtual void Write(const void *buffer, int count, const Datatype &datatype, Status &status)
    {
        check(*this, MPI_File_write(handle, buffer, count, datatype.handle, &status.status));
    }
    virtual void Write(const void *buffer, int count, const Datatype &datatype)
    {
        check(*this, MPI_File_write(handle, buffer, count, datatype.handle, MPI_STATUS_IGNORE));
    }
    virtual bool Get_atomicity() const
    {
        int atomic = 0;
        check(*this, MPI_File_get_atomicity(handle, &atomic));
        return atomic != 0;
    }
    virtual void Call_errhandler(int code) const;
    static Errhandler Create_errhandler(Errhandler_function *function);
};

typedef int Datarep_extent_function(const Datatype &, Aint &, void *);
typedef int Datarep_conversion_function(void *, Datatype &, int, void *, Offset, void *);

} // namespace MPI

#endif
