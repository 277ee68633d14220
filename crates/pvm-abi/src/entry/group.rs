//! Groups.

use super::message::send_to;
use super::task::{ask, ask_code};
use crate::library::{Until, enrolled, finish, lock, string, wait};
use core::ffi::{c_char, c_int, c_void};
use hpvm_pvm::body::Encoding;
use hpvm_pvm::buffers::Pattern;
use hpvm_pvm::element::Element;
use hpvm_pvm::protocol::{Answer, GROUP_CONTEXT, Request};
use hpvm_pvm::{Code, Tid};

/// The name of a group.
unsafe fn name(group: *const c_char) -> Result<String, Code> {
    // SAFETY: the caller's promise.
    unsafe { string(group) }.filter(|name| !name.is_empty()).ok_or(Code::NullGroup)
}

unsafe fn group_call(
    function: &str,
    group: *const c_char,
    request: impl FnOnce(String) -> Request,
) -> c_int {
    // SAFETY: the caller's promise.
    let name = unsafe { name(group) };
    finish(function, name.and_then(|group| ask_code(&request(group))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_joingroup(group: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { group_call("pvm_joingroup", group, |group| Request::Join { group }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_lvgroup(group: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { group_call("pvm_lvgroup", group, |group| Request::Leave { group }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_barrier(group: *const c_char, count: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { group_call("pvm_barrier", group, |group| Request::Barrier { group, count }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_getinst(group: *const c_char, tid: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { group_call("pvm_getinst", group, |group| Request::Instance { group, tid }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_gettid(group: *const c_char, instance: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { group_call("pvm_gettid", group, |group| Request::Member { group, instance }) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_freezegroup(group: *const c_char, size: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { group_call("pvm_freezegroup", group, |group| Request::Freeze { group, size }) }
}

/// By instance; 0 where nobody has it.
unsafe fn members(group: *const c_char) -> Result<Vec<Tid>, Code> {
    // SAFETY: the caller's promise.
    let group = unsafe { name(group) }?;
    match ask(&mut *enrolled()?, &Request::Members { group })? {
        // The first number says whether the group is frozen.
        Answer::Tids { mut tids } if !tids.is_empty() => {
            tids.remove(0);
            Ok(tids)
        }
        _ => Err(Code::BadMsg),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_gsize(group: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let members = unsafe { members(group) };
    finish(
        "pvm_gsize",
        members.map(|members| members.iter().filter(|tid| **tid != 0).count() as c_int),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_bcast(group: *const c_char, tag: c_int) -> c_int {
    let cast = || {
        if tag < 0 {
            return Err(Code::BadParam);
        }
        // SAFETY: the caller's promise.
        let mut to = unsafe { members(group) }?;
        let mut library = enrolled()?;
        let mine = library.enroll()?.tid();
        to.retain(|tid| *tid != 0 && *tid != mine);
        if to.is_empty() {
            return Err(Code::NoInst);
        }
        let (number, context) = (library.buffers().send_buffer(), library.context);
        send_to(&mut library, number, &to, tag, context).map(|()| 0)
    };
    finish("pvm_bcast", cast())
}

/// A group as a collective call sees it.
pub struct Members {
    tids: Vec<Tid>,
    pub mine: usize,
    pub root: usize,
}

impl Members {
    /// # Errors
    /// We are not in the group, nobody has the root's instance, or a member is missing.
    ///
    /// # Safety
    /// The name is a string of C, or null.
    pub unsafe fn of(group: *const c_char, root: c_int) -> Result<Members, Code> {
        // SAFETY: the caller's promise.
        let tids = unsafe { members(group) }?;
        let own = enrolled()?.enroll()?.tid();
        let mine = tids.iter().position(|tid| *tid == own).ok_or(Code::NotInGroup)?;
        let root =
            usize::try_from(root).ok().filter(|root| tids.get(*root).is_some_and(|tid| *tid != 0));
        let root = root.ok_or(Code::NoInst)?;
        if tids.contains(&0) {
            return Err(Code::NoInst);
        }
        Ok(Members { tids, mine, root })
    }

    pub fn count(&self) -> usize {
        self.tids.len()
    }

    pub fn is_root(&self) -> bool {
        self.mine == self.root
    }

    /// Sends elements to a member.
    ///
    /// # Safety
    /// They can be read.
    pub unsafe fn send(
        &self,
        to: usize,
        tag: c_int,
        of: Element,
        from: *const u8,
        count: c_int,
    ) -> Result<(), Code> {
        let mut library = enrolled()?;
        let number = library.buffers().make(Encoding::InPlace);
        let packed = match library.buffers().get(number) {
            // SAFETY: the caller's promise; they are sent before this returns.
            Some(message) => unsafe { message.body.pack(of, from, count, 1, true) },
            None => Err(Code::NoMem),
        };
        let sent = packed
            .and_then(|()| send_to(&mut library, number, &[self.tids[to]], tag, GROUP_CONTEXT));
        let _ = library.buffers().remove(number);
        sent
    }

    /// Receives elements from a member.
    ///
    /// # Safety
    /// They can be written.
    pub unsafe fn receive(
        &self,
        from: usize,
        tag: c_int,
        of: Element,
        to: *mut u8,
        count: c_int,
    ) -> Result<(), Code> {
        let pattern = Pattern { source: self.tids[from], tag, context: GROUP_CONTEXT };
        let number = wait(pattern, Until::Ever)?.ok_or(Code::SysErr)?.number();
        let mut library = lock();
        library.buffers().unqueue(number);
        let message = library.buffers().get(number).ok_or(Code::NoSuchBuf)?;
        // SAFETY: the caller's promise.
        let unpacked = unsafe { message.body.unpack(of, to, count, 1) };
        let _ = library.buffers().remove(number);
        // A member that says another number than we do.
        unpacked.map_err(|_| Code::Mismatch)
    }
}

/// The type and number of a collective call.
pub fn checked(
    data: *const c_void,
    count: c_int,
    kind: c_int,
    tag: c_int,
) -> Result<Element, Code> {
    let element = Element::from_number(kind).filter(|element| *element != Element::Str);
    if count < 0 || tag < 0 || (data.is_null() && count > 0) {
        return Err(Code::BadParam);
    }
    element.ok_or(Code::BadParam)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_scatter(
    result: *mut c_void,
    data: *const c_void,
    count: c_int,
    kind: c_int,
    tag: c_int,
    group: *const c_char,
    root: c_int,
) -> c_int {
    let scatter = || {
        let element = checked(result, count, kind, tag)?;
        // SAFETY: the caller's promises: the root has as many elements as all members together get.
        unsafe {
            let members = Members::of(group, root)?;
            if !members.is_root() {
                return members
                    .receive(members.root, tag, element, result.cast(), count)
                    .map(|()| 0);
            }
            if data.is_null() && count > 0 {
                return Err(Code::BadParam);
            }
            let len = count as usize * element.size();
            for to in 0..members.count() {
                let part = data.cast::<u8>().add(to * len);
                if to == members.mine {
                    part.copy_to(result.cast(), len);
                } else {
                    members.send(to, tag, element, part, count)?;
                }
            }
            Ok(0)
        }
    };
    finish("pvm_scatter", scatter())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_gather(
    result: *mut c_void,
    data: *const c_void,
    count: c_int,
    kind: c_int,
    tag: c_int,
    group: *const c_char,
    root: c_int,
) -> c_int {
    let gather = || {
        let element = checked(data, count, kind, tag)?;
        // SAFETY: the caller's promises: the root has room for the elements of all members.
        unsafe {
            let members = Members::of(group, root)?;
            if !members.is_root() {
                return members.send(members.root, tag, element, data.cast(), count).map(|()| 0);
            }
            if result.is_null() && count > 0 {
                return Err(Code::BadParam);
            }
            let len = count as usize * element.size();
            for from in 0..members.count() {
                let part = result.cast::<u8>().add(from * len);
                if from == members.mine {
                    part.copy_from(data.cast(), len);
                } else {
                    members.receive(from, tag, element, part, count)?;
                }
            }
            Ok(0)
        }
    };
    finish("pvm_gather", gather())
}
