//! Opening, closing and deleting files (section 14.2).

use super::striped::{self, Ranks};
use super::{SharedPointer, background, on_file, on_no_file};
use crate::body::agree;
use crate::body::check::{out, text, wrong};
use crate::body::errh::{default_file_handler, raise_file};
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Extras};
use crate::object::errhandler::Handler;
use crate::object::file::{FileObject, Rhythm, State};
use crate::object::info::{self, Info};
use crate::runtime::enter;
use core::ffi::{c_char, c_int};
use hpvm_io::{Amode, File, Hints, View};
use hpvm_mpi::Class;
use hpvm_mpi::comm::build;
use hpvm_mpi::error::Result;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file name as a program gives it. Prefixes by which ROMIO's users choose a file system (`ufs:`,
/// `nfs:`) mean nothing here and are taken away.
///
/// # Safety
/// `name` is null or a string with a final zero byte.
unsafe fn path(name: *const c_char) -> Result<PathBuf> {
    // SAFETY: the caller's promise.
    unsafe { text("filename", name)? };
    // SAFETY: `text` has refused null.
    let bytes = unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes();
    let bare = ["ufs:", "nfs:", "unix:"].iter().find_map(|p| bytes.strip_prefix(p.as_bytes()));
    let bytes = bare.unwrap_or(bytes);
    if bytes.is_empty() {
        return Err(wrong(Class::BadFile, "the file name is empty"));
    }
    Ok(std::ffi::OsString::from_vec(bytes.to_vec()).into())
}

pub unsafe fn file_open(
    comm: MPI_Comm,
    filename: *const c_char,
    amode: c_int,
    info: MPI_Info,
    fh: *mut MPI_File,
) -> c_int {
    on_no_file("MPI_File_open", || {
        out("fh", fh)?;
        // SAFETY: checked above.
        unsafe { *fh = MPI_FILE_NULL };
        let private = Private::of(comm)?;
        // From here on all ranks take part in everything, whatever their own arguments are.
        let arguments = Amode::new(amode).and_then(|amode| {
            // SAFETY: the caller's promise.
            Ok((unsafe { path(filename)? }, amode, info::copy_or_empty(info)?))
        });
        let opened = open_together(&private, arguments, amode);
        match opened {
            Ok(file) => {
                let handle = enter()?.objects.add_file(Arc::new(file))?;
                // SAFETY: checked above.
                unsafe { *fh = handle };
                Ok(())
            }
            Err(error) => {
                private.free();
                Err(error)
            }
        }
    })
}

/// The communicator of a file that is being opened.
struct Private {
    object: Arc<CommObject>,
    handle: MPI_Comm,
    /// The host of each rank, by any number.
    hosts: Vec<u64>,
    /// All ranks are of one job and on one host.
    together: bool,
}

impl Private {
    /// A duplicate of a communicator that nothing else uses. All its ranks call this.
    fn of(comm: MPI_Comm) -> Result<Private> {
        let mut w = enter()?;
        let parent = w.objects.comm(comm)?.comm.clone();
        if parent.remote_group().is_some() {
            let text = "files are opened on intracommunicators, and this is an intercommunicator";
            return Err(wrong(Class::Comm, text));
        }
        let made = build::dup(&mut w, &parent)?;
        let group = made.group().clone();
        let extras = Extras { handler: Handler::Return, ..Extras::default() };
        let object = CommObject::with_extras(made, extras);
        let handle = w.objects.add_comm(object.clone())?;
        // The hosts of another job's processes are not known: then all count as one for gathering.
        let nodes = group.processes().map(|p| w.job.nodes.get(p as usize).copied());
        let nodes = nodes.collect::<Option<Vec<u32>>>();
        let together = nodes.as_ref().is_some_and(|nodes| nodes.windows(2).all(|w| w[0] == w[1]));
        let nodes = nodes.unwrap_or_else(|| vec![0; group.size() as usize]);
        let hosts = nodes.into_iter().map(u64::from).collect();
        Ok(Private { object, handle, hosts, together })
    }

    fn size(&self) -> usize {
        self.hosts.len()
    }

    fn rank(&self) -> usize {
        self.object.comm.rank() as usize
    }

    fn free(&self) {
        let mut handle = self.handle;
        // SAFETY: our own handle, which nobody else has.
        unsafe { crate::body::comm::comm_free(&mut handle) };
    }
}

/// Rank 0 makes the file where it is to be made, then the others open what is there.
fn open_together(
    private: &Private,
    arguments: Result<(PathBuf, Amode, Info)>,
    bits: c_int,
) -> Result<FileObject> {
    let (comm, size, rank) = (private.handle, private.size(), private.rank());
    agree::same_on(comm, size, Class::Amode, "the access mode", bits as u32 as u64)?;
    let (path, amode, info) = agree::together_on(comm, size, arguments)?;
    let ranks = Ranks { comm, size, rank };
    let (file, stripes) = match striped::open(ranks, &path, amode, &info)? {
        Some(stripes) => match agree::together_at(comm, size, &path, File::nowhere(&path, amode)) {
            Ok(file) => (file, Some(stripes)),
            Err(error) => {
                stripes.abandon(rank, &path);
                return Err(error);
            }
        },
        None => (open_plain(private, &path, amode)?, None),
    };
    let end = match &stripes {
        _ if !amode.appends() => Ok(0),
        Some(stripes) => Ok(stripes.size_at_open()),
        None => file.size(),
    };
    match start(private, end, &info) {
        Ok((shared, state)) => {
            let (object, hosts) = (private.object.clone(), private.hosts.clone());
            Ok(FileObject::new(file, object, comm, hosts, (shared, stripes.map(Arc::new)), state))
        }
        Err(error) => {
            if let Some(stripes) = stripes {
                stripes.abandon(rank, &path);
            }
            Err(error)
        }
    }
}

/// A file that all ranks have open.
fn open_plain(private: &Private, path: &Path, amode: Amode) -> Result<File> {
    let (comm, size) = (private.handle, private.size());
    let open = |creates| match File::open(path, amode, creates) {
        Ok(file) if !private.together => file.of_several_hosts(),
        opened => opened,
    };
    let first = if private.rank() == 0 { Some(open(true)) } else { None };
    let first = agree::together_at(comm, size, path, first.transpose())?;
    let file = match first {
        Some(file) => Ok(file),
        None => open(false),
    };
    let file = agree::together_at(comm, size, path, file)?;
    check_identity(private, &file)?;
    Ok(file)
}

/// The pointers and hints that a file begins with; `end` is where the pointers stand.
fn start(private: &Private, end: Result<u64>, info: &Info) -> Result<(SharedPointer, State)> {
    let (comm, size, rank) = (private.handle, private.size(), private.rank());
    let shared = agree::together_on(comm, size, shared_pointer(private)?)?;
    let set = end.and_then(|end| {
        if rank == 0 {
            shared.set(end)?;
        }
        Ok(end)
    });
    // Nobody uses the pointer before it has been set.
    let end = match agree::together_on(comm, size, set) {
        Ok(end) => end,
        Err(error) => {
            // All ranks are here: none has the file open, and the first error counts.
            let _ = shared.free();
            return Err(error);
        }
    };
    let mut hints = Hints::default();
    info.iter().for_each(|(key, value)| hints.set(key, value));
    let state = State {
        view: Arc::new(View::bytes()),
        position: end,
        hints,
        atomic: false,
        handler: default_file_handler(),
        split: None,
        rhythm: Rhythm::default(),
        stores: Default::default(),
    };
    Ok((shared, state))
}

/// A path may name another file on each host: then nobody opens it.
fn check_identity(private: &Private, file: &File) -> Result<()> {
    let (device, number) = file.identity()?;
    let all = agree::all_words(private.handle, private.size(), [device, number])?;
    // Devices have other numbers on each host.
    let same = |rank: usize| {
        all[rank][1] == all[0][1]
            && (private.hosts[rank] != private.hosts[0] || all[rank][0] == all[0][0])
    };
    match (0..all.len()).find(|rank| !same(*rank)) {
        None => Ok(()),
        Some(rank) => {
            let name = hpvm_io::error::shown(file.path());
            let text = format!("'{name}' is not the same file at rank 0 and at rank {rank}");
            Err(wrong(Class::BadFile, text))
        }
    }
}

/// The shared file pointer. The outer error is one of messages.
fn shared_pointer(private: &Private) -> Result<Result<SharedPointer>> {
    if !private.together {
        return Ok(SharedPointer::between_hosts(private.handle, private.rank(), private.size()));
    }
    let failed = |e: std::io::Error| wrong(Class::Other, format!("no shared file pointer: {e}"));
    let first = private.rank() == 0;
    let made = if first { hpvm_io::SharedPointer::create().map(Some) } else { Ok(None) };
    let made = made.map_err(failed);
    let name = match &made {
        Ok(Some(pointer)) => pointer.path().into_os_string().into_vec(),
        _ => Vec::new(),
    };
    let name = agree::bytes_of_first(private.handle, private.rank(), name)?;
    match made {
        Ok(Some(pointer)) => return Ok(Ok(SharedPointer::Memory(pointer))),
        Ok(None) => {}
        Err(error) => return Ok(Err(error)),
    }
    let name = PathBuf::from(std::ffi::OsString::from_vec(name));
    Ok(hpvm_io::SharedPointer::open(&name).map(SharedPointer::Memory).map_err(failed))
}

pub unsafe fn file_close(fh: *mut MPI_File) -> c_int {
    if let Err(error) = out("fh", fh) {
        return raise_file("MPI_File_close", MPI_FILE_NULL, error);
    }
    // SAFETY: checked above.
    let handle = unsafe { *fh };
    let code = on_file("MPI_File_close", handle, |file| {
        if let Some(split) = &file.state().split {
            let text = format!("a split collective call on this file waits for {}", split.end);
            return Err(wrong(Class::Other, text));
        }
        background::finish(&file.file)?;
        // Everybody is done with it.
        agree::barrier(file.comm)?;
        let ended = match &file.stripes {
            Some(striped) => striped.close(file),
            None => {
                let deletes = file.file.amode().deletes_on_close();
                agree::together(
                    file,
                    match deletes {
                        true if file.rank() == 0 => File::delete(file.file.path()),
                        true => Ok(()),
                        false => file.file.finish(),
                    },
                )
            }
        };
        let freed = file.shared.free();
        let mut comm = file.comm;
        // SAFETY: the file's own handle, which nobody else has.
        unsafe { crate::body::comm::comm_free(&mut comm) };
        enter()?.objects.files.remove(handle.0);
        ended.and(freed)
    });
    if code == MPI_SUCCESS {
        // SAFETY: as above.
        unsafe { *fh = MPI_FILE_NULL };
    }
    code
}

pub unsafe fn file_delete(filename: *const c_char, info: MPI_Info) -> c_int {
    on_no_file("MPI_File_delete", || {
        info::copy_or_empty(info)?;
        // SAFETY: the caller's promise.
        striped::delete_all(&unsafe { path(filename)? })
    })
}
