//! The C symbols.

use crate::body::{
    accumulate, domain, global, group, handle, memory, message, mutex, notify, order, reduce, rmw,
    start, strided, transfer, value, vector,
};
use crate::types::{Giov, Handle, MemInfo};
use core::convert::Infallible;
use core::ffi::{c_char, c_int, c_long, c_longlong, c_ulong, c_void};

/// Defines a function, which tells its name.
macro_rules! define {
    ($name:ident ($($argument:ident: $ty:ty),*) ($($result:ty)?) $call:path) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) $(-> $result)? {
            // SAFETY: the program's promises, by ARMCI's manual.
            unsafe { $call(concat!(stringify!($name), "\0").as_ptr().cast(), $($argument),*) }
        }
    };
}

/// Functions under one name.
macro_rules! entries {
    ($($name:ident ($($argument:ident: $ty:ty),*) $(-> $result:ty)? = $call:path;)*) => {
        $(define!($name ($($argument: $ty),*) ($($result)?) $call);)*
    };
}

/// Functions that have a second name, for profiling.
macro_rules! entries_twice {
    ($($name:ident $profiling:ident ($($argument:ident: $ty:ty),*) $(-> $result:ty)? = $call:path;)*) => {$(
        define!($name ($($argument: $ty),*) ($($result)?) $call);
        define!($profiling ($($argument: $ty),*) ($($result)?) $call);
    )*};
}

entries_twice! {
    ARMCI_Init PARMCI_Init() -> c_int = start::init;
    ARMCI_Init_args PARMCI_Init_args(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char
    ) -> c_int = start::init_args;
    ARMCI_Init_thread PARMCI_Init_thread(level: c_int) -> c_int = start::init_thread;
    ARMCI_Init_thread_comm PARMCI_Init_thread_comm(
        level: c_int,
        comm: usize
    ) -> c_int = start::init_thread_comm;
    ARMCI_Init_mpi_comm PARMCI_Init_mpi_comm(comm: usize) -> c_int = start::init_mpi_comm;
    ARMCI_Initialized PARMCI_Initialized() -> c_int = start::initialized;
    ARMCI_Finalize PARMCI_Finalize() -> c_int = start::finalize;
    ARMCI_Malloc PARMCI_Malloc(pointers: *mut *mut c_void, bytes: c_long) -> c_int = memory::malloc;
    ARMCI_Malloc_memdev PARMCI_Malloc_memdev(
        pointers: *mut *mut c_void,
        bytes: c_long,
        device: *const c_char
    ) -> c_int = memory::malloc_memdev;
    ARMCI_Malloc_group PARMCI_Malloc_group(
        pointers: *mut *mut c_void,
        bytes: c_long,
        group: *mut c_void
    ) -> c_int = memory::malloc_group;
    ARMCI_Malloc_group_memdev PARMCI_Malloc_group_memdev(
        pointers: *mut *mut c_void,
        bytes: c_long,
        group: *mut c_void,
        device: *const c_char
    ) -> c_int = memory::malloc_group_memdev;
    ARMCI_Free PARMCI_Free(memory: *mut c_void) -> c_int = memory::free;
    ARMCI_Free_memdev PARMCI_Free_memdev(memory: *mut c_void) -> c_int = memory::free;
    ARMCI_Free_group PARMCI_Free_group(
        memory: *mut c_void,
        group: *mut c_void
    ) -> c_int = memory::free_group;
    ARMCI_Malloc_local PARMCI_Malloc_local(bytes: c_long) -> *mut c_void = memory::malloc_local;
    ARMCI_Free_local PARMCI_Free_local(memory: *mut c_void) -> c_int = memory::free_local;
    ARMCI_Barrier PARMCI_Barrier() = order::barrier;
    ARMCI_Fence PARMCI_Fence(process: c_int) = order::fence;
    ARMCI_AllFence PARMCI_AllFence() = order::all_fence;
    ARMCI_GroupFence PARMCI_GroupFence(group: *mut c_void) = order::group_fence;
    ARMCI_Access_begin PARMCI_Access_begin(memory: *mut c_void) = order::access_begin;
    ARMCI_Access_end PARMCI_Access_end(memory: *mut c_void) = order::access_end;
    ARMCI_Put PARMCI_Put(
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        process: c_int
    ) -> c_int = transfer::put;
    ARMCI_Get PARMCI_Get(
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        process: c_int
    ) -> c_int = transfer::get;
    ARMCI_NbPut PARMCI_NbPut(
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = transfer::nb_put;
    ARMCI_NbGet PARMCI_NbGet(
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = transfer::nb_get;
    ARMCI_Put_flag PARMCI_Put_flag(
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        flag: *mut c_int,
        value: c_int,
        process: c_int
    ) -> c_int = transfer::put_flag;
    ARMCI_Acc PARMCI_Acc(
        kind: c_int,
        scale: *const c_void,
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        process: c_int
    ) -> c_int = accumulate::accumulate;
    ARMCI_NbAcc PARMCI_NbAcc(
        kind: c_int,
        scale: *const c_void,
        source: *mut c_void,
        dest: *mut c_void,
        bytes: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = accumulate::nb_accumulate;
    ARMCI_PutS PARMCI_PutS(
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        process: c_int
    ) -> c_int = strided::put;
    ARMCI_GetS PARMCI_GetS(
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        process: c_int
    ) -> c_int = strided::get;
    ARMCI_AccS PARMCI_AccS(
        kind: c_int,
        scale: *const c_void,
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        process: c_int
    ) -> c_int = strided::accumulate;
    ARMCI_NbPutS PARMCI_NbPutS(
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = strided::nb_put;
    ARMCI_NbGetS PARMCI_NbGetS(
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = strided::nb_get;
    ARMCI_NbAccS PARMCI_NbAccS(
        kind: c_int,
        scale: *const c_void,
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = strided::nb_accumulate;
    ARMCI_PutS_flag PARMCI_PutS_flag(
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        flag: *mut c_int,
        value: c_int,
        process: c_int
    ) -> c_int = strided::put_flag;
    ARMCI_PutS_flag_dir PARMCI_PutS_flag_dir(
        source: *mut c_void,
        source_strides: *const c_int,
        dest: *mut c_void,
        dest_strides: *const c_int,
        count: *const c_int,
        levels: c_int,
        flag: *mut c_int,
        value: c_int,
        process: c_int
    ) -> c_int = strided::put_flag;
    ARMCI_PutV PARMCI_PutV(vectors: *mut Giov, count: c_int, process: c_int) -> c_int = vector::put;
    ARMCI_GetV PARMCI_GetV(vectors: *mut Giov, count: c_int, process: c_int) -> c_int = vector::get;
    ARMCI_AccV PARMCI_AccV(
        kind: c_int,
        scale: *const c_void,
        vectors: *mut Giov,
        count: c_int,
        process: c_int
    ) -> c_int = vector::accumulate;
    ARMCI_NbPutV PARMCI_NbPutV(
        vectors: *mut Giov,
        count: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = vector::nb_put;
    ARMCI_NbGetV PARMCI_NbGetV(
        vectors: *mut Giov,
        count: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = vector::nb_get;
    ARMCI_NbAccV PARMCI_NbAccV(
        kind: c_int,
        scale: *const c_void,
        vectors: *mut Giov,
        count: c_int,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = vector::nb_accumulate;
    ARMCI_Wait PARMCI_Wait(handle: *mut Handle) -> c_int = handle::wait;
    ARMCI_Test PARMCI_Test(handle: *mut Handle) -> c_int = handle::test;
    ARMCI_WaitAll PARMCI_WaitAll() -> c_int = handle::wait_all;
    ARMCI_WaitProc PARMCI_WaitProc(process: c_int) -> c_int = handle::wait_process;
    ARMCI_Create_mutexes PARMCI_Create_mutexes(count: c_int) -> c_int = mutex::create;
    ARMCI_Destroy_mutexes PARMCI_Destroy_mutexes() -> c_int = mutex::destroy;
    ARMCI_Lock PARMCI_Lock(mutex: c_int, process: c_int) = mutex::lock;
    ARMCI_Unlock PARMCI_Unlock(mutex: c_int, process: c_int) = mutex::unlock;
    ARMCI_Rmw PARMCI_Rmw(
        op: c_int,
        local: *mut c_void,
        remote: *mut c_void,
        value: c_int,
        process: c_int
    ) -> c_int = rmw::rmw;
    ARMCI_Memget PARMCI_Memget(bytes: usize, info: *mut MemInfo, flags: c_int) = global::get;
    ARMCI_Memat PARMCI_Memat(info: *mut MemInfo, offset: c_long) -> *mut c_void = global::at;
    ARMCI_Memdt PARMCI_Memdt(info: *mut MemInfo, offset: c_long) = global::detach;
    ARMCI_Memctl PARMCI_Memctl(info: *mut MemInfo) = global::free;
    ARMCI_PutValueInt PARMCI_PutValueInt(
        value: c_int,
        dest: *mut c_void,
        process: c_int
    ) -> c_int = value::put;
    ARMCI_NbPutValueInt PARMCI_NbPutValueInt(
        value: c_int,
        dest: *mut c_void,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = value::nb_put;
    ARMCI_GetValueInt PARMCI_GetValueInt(source: *mut c_void, process: c_int) -> c_int = value::get;
    ARMCI_PutValueLong PARMCI_PutValueLong(
        value: c_long,
        dest: *mut c_void,
        process: c_int
    ) -> c_int = value::put;
    ARMCI_NbPutValueLong PARMCI_NbPutValueLong(
        value: c_long,
        dest: *mut c_void,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = value::nb_put;
    ARMCI_GetValueLong PARMCI_GetValueLong(
        source: *mut c_void,
        process: c_int
    ) -> c_long = value::get;
    ARMCI_PutValueFloat PARMCI_PutValueFloat(
        value: f32,
        dest: *mut c_void,
        process: c_int
    ) -> c_int = value::put;
    ARMCI_NbPutValueFloat PARMCI_NbPutValueFloat(
        value: f32,
        dest: *mut c_void,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = value::nb_put;
    ARMCI_GetValueFloat PARMCI_GetValueFloat(
        source: *mut c_void,
        process: c_int
    ) -> f32 = value::get;
    ARMCI_PutValueDouble PARMCI_PutValueDouble(
        value: f64,
        dest: *mut c_void,
        process: c_int
    ) -> c_int = value::put;
    ARMCI_NbPutValueDouble PARMCI_NbPutValueDouble(
        value: f64,
        dest: *mut c_void,
        process: c_int,
        handle: *mut Handle
    ) -> c_int = value::nb_put;
    ARMCI_GetValueDouble PARMCI_GetValueDouble(
        source: *mut c_void,
        process: c_int
    ) -> f64 = value::get;
}

entries! {
    ARMCI_Cleanup() = start::cleanup;
    ARMCI_Error(message: *const c_char, code: c_int) -> Infallible = start::error;
    ARMCI_Copy(source: *mut c_void, dest: *mut c_void, bytes: c_int) = transfer::copy_local;
    ARMCI_Set_shm_limit(bytes: c_ulong) = start::set_shm_limit;
    ARMCI_Uses_shm() -> c_int = start::uses_shm;
    ARMCI_Uses_shm_grp(group: *mut c_void) -> c_int = start::uses_shm_group;
    ARMCI_Same_node(process: c_int) -> c_int = domain::same_node;
    armci_sameclusnode(process: c_int) -> c_int = domain::same_node;
    ARMCI_INIT_HANDLE(handle: *mut Handle) = handle::init;
    ARMCI_SET_AGGREGATE_HANDLE(handle: *mut Handle) = handle::set_aggregate;
    ARMCI_UNSET_AGGREGATE_HANDLE(handle: *mut Handle) = handle::unset_aggregate;
    ARMCIX_Progress() = order::progress;
    ARMCI_Group_create(size: c_int, list: *const c_int, out: *mut c_void) = group::create;
    ARMCI_Group_create_child(
        size: c_int,
        list: *const c_int,
        out: *mut c_void,
        parent: *mut c_void
    ) = group::create_child;
    ARMCI_Group_free(group: *mut c_void) = group::free;
    ARMCI_Group_rank(group: *mut c_void, rank: *mut c_int) -> c_int = group::rank;
    ARMCI_Group_size(group: *mut c_void, size: *mut c_int) = group::size;
    ARMCI_Group_set_default(group: *mut c_void) = group::set_default;
    ARMCI_Group_get_default(out: *mut c_void) = group::get_default;
    ARMCI_Group_get_world(out: *mut c_void) = group::get_world;
    ARMCI_Absolute_id(group: *mut c_void, rank: c_int) -> c_int = group::absolute_id;
    armci_group_comm(group: *mut c_void) -> usize = group::comm;
    armci_write_strided(
        memory: *mut c_void,
        levels: c_int,
        strides: *const c_int,
        count: *const c_int,
        buffer: *mut c_char
    ) = strided::write_strided;
    armci_read_strided(
        memory: *mut c_void,
        levels: c_int,
        strides: *const c_int,
        count: *const c_int,
        buffer: *mut c_char
    ) = strided::read_strided;
    armci_notify(process: c_int) -> c_int = notify::notify;
    armci_notify_wait(process: c_int, count: *mut c_int) -> c_int = notify::wait;
    armci_domain_nprocs(domain: c_int, id: c_int) -> c_int = domain::processes;
    armci_domain_id(domain: c_int, process: c_int) -> c_int = domain::of_process;
    armci_domain_glob_proc_id(domain: c_int, id: c_int, number: c_int) -> c_int = domain::process;
    armci_domain_my_id(domain: c_int) -> c_int = domain::mine;
    armci_domain_count(domain: c_int) -> c_int = domain::count;
    armci_domain_same_id(domain: c_int, process: c_int) -> c_int = domain::is_mine;
    armci_timer() -> f64 = message::timer;
    armci_msg_me() -> c_int = message::me;
    armci_msg_nproc() -> c_int = message::processes;
    armci_msg_abort(code: c_int) -> Infallible = start::abort;
    armci_msg_snd(tag: c_int, buffer: *mut c_void, bytes: c_int, to: c_int) = message::send;
    armci_msg_rcv(
        tag: c_int,
        buffer: *mut c_void,
        bytes: c_int,
        got: *mut c_int,
        from: c_int
    ) = message::recv;
    armci_msg_rcvany(
        tag: c_int,
        buffer: *mut c_void,
        bytes: c_int,
        got: *mut c_int
    ) -> c_int = message::recv_any;
    armci_msg_barrier() = message::barrier;
    parmci_msg_barrier() = message::barrier;
    armci_msg_group_barrier(group: *mut c_void) = message::group_barrier;
    parmci_msg_group_barrier(group: *mut c_void) = message::group_barrier;
    armci_msg_bintree(
        scope: c_int,
        root: *mut c_int,
        up: *mut c_int,
        left: *mut c_int,
        right: *mut c_int
    ) = message::binary_tree;
    armci_msg_bcast(buffer: *mut c_void, bytes: c_int, root: c_int) = message::broadcast;
    armci_msg_brdcst(buffer: *mut c_void, bytes: c_int, root: c_int) = message::broadcast;
    armci_msg_bcast_scope(
        scope: c_int,
        buffer: *mut c_void,
        bytes: c_int,
        root: c_int
    ) = message::broadcast_scope;
    armci_msg_group_bcast_scope(
        scope: c_int,
        buffer: *mut c_void,
        bytes: c_int,
        root: c_int,
        group: *mut c_void
    ) = message::group_broadcast_scope;
    armci_msg_clus_brdcst(buffer: *mut c_void, bytes: c_int) = message::host_broadcast;
    armci_grp_clus_brdcst(
        buffer: *mut c_void,
        bytes: c_int,
        master: c_int,
        members: c_int,
        group: *mut c_void
    ) = message::group_host_broadcast;
    armci_msg_reduce(x: *mut c_void, n: c_int, op: *const c_char, kind: c_int) = reduce::all;
    armci_msg_reduce_scope(
        scope: c_int,
        x: *mut c_void,
        n: c_int,
        op: *const c_char,
        kind: c_int
    ) = reduce::scope;
    armci_msg_gop_scope(
        scope: c_int,
        x: *mut c_void,
        n: c_int,
        op: *const c_char,
        kind: c_int
    ) = reduce::scope;
    armci_msg_group_gop_scope(
        scope: c_int,
        x: *mut c_void,
        n: c_int,
        op: *const c_char,
        kind: c_int,
        group: *mut c_void
    ) = reduce::group_scope;
    armci_msg_sel(
        x: *mut c_void,
        bytes: c_int,
        op: *const c_char,
        kind: c_int,
        contributes: c_int
    ) = reduce::select;
    armci_msg_sel_scope(
        scope: c_int,
        x: *mut c_void,
        bytes: c_int,
        op: *const c_char,
        kind: c_int,
        contributes: c_int
    ) = reduce::select_scope;
    armci_exchange_address(pointers: *mut *mut c_void, n: c_int) = reduce::exchange;
    armci_exchange_address_grp(
        pointers: *mut *mut c_void,
        n: c_int,
        group: *mut c_void
    ) = reduce::group_exchange;
    armci_msg_igop(x: *mut c_int, n: c_int, op: *const c_char) = reduce::ints;
    armci_msg_group_igop(
        x: *mut c_int,
        n: c_int,
        op: *const c_char,
        group: *mut c_void
    ) = reduce::group_ints;
    armci_msg_clus_igop(x: *mut c_int, n: c_int, op: *const c_char) = reduce::host_ints;
    armci_msg_lgop(x: *mut c_long, n: c_int, op: *const c_char) = reduce::longs;
    armci_msg_group_lgop(
        x: *mut c_long,
        n: c_int,
        op: *const c_char,
        group: *mut c_void
    ) = reduce::group_longs;
    armci_msg_clus_lgop(x: *mut c_long, n: c_int, op: *const c_char) = reduce::host_longs;
    armci_msg_llgop(x: *mut c_longlong, n: c_int, op: *const c_char) = reduce::long_longs;
    armci_msg_group_llgop(
        x: *mut c_longlong,
        n: c_int,
        op: *const c_char,
        group: *mut c_void
    ) = reduce::group_long_longs;
    armci_msg_clus_llgop(x: *mut c_longlong, n: c_int, op: *const c_char) = reduce::host_long_longs;
    armci_msg_fgop(x: *mut f32, n: c_int, op: *const c_char) = reduce::floats;
    armci_msg_group_fgop(
        x: *mut f32,
        n: c_int,
        op: *const c_char,
        group: *mut c_void
    ) = reduce::group_floats;
    armci_msg_clus_fgop(x: *mut f32, n: c_int, op: *const c_char) = reduce::host_floats;
    armci_msg_dgop(x: *mut f64, n: c_int, op: *const c_char) = reduce::doubles;
    armci_msg_group_dgop(
        x: *mut f64,
        n: c_int,
        op: *const c_char,
        group: *mut c_void
    ) = reduce::group_doubles;
    armci_msg_clus_dgop(x: *mut f64, n: c_int, op: *const c_char) = reduce::host_doubles;
}
