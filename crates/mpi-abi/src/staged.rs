//! Copies that stand for buffers of collective operations, where a library for another language cannot hand on the
//! program's own: array sections of Fortran in calls that return before the operation ends.

use crate::body::check::wrong;
use crate::generated::constants::MPI_Request;
use crate::object::request::{CollectivePlan, Named, RequestObject, Template, bad_request};
use crate::raise::on_world;
use core::ffi::c_int;
use hpvm_abi::extra::Staging;
use hpvm_mpi::Class;
use hpvm_mpi::coll::Staged;
use std::sync::Arc;

/// The copy of another library.
#[derive(Debug)]
struct Copy {
    state: usize,
    fill: Staging,
    empty: Staging,
    release: Staging,
}

impl Staged for Copy {
    fn fill(&self) {
        // SAFETY: the library gave functions for this state, which is there until `release`.
        unsafe { (self.fill)(self.state) }
    }

    fn empty(&self) {
        // SAFETY: as above.
        unsafe { (self.empty)(self.state) }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: as above; nothing uses the copy any more.
        unsafe { (self.release)(self.state) }
    }
}

/// [`hpvm_abi::Extra::stage`].
pub(crate) unsafe extern "C" fn stage(
    request: MPI_Request,
    state: usize,
    fill: Staging,
    empty: Staging,
    release: Staging,
) -> c_int {
    let copy: Arc<dyn Staged> = Arc::new(Copy { state, fill, empty, release });
    on_world("a call with an array section", |w| {
        let staged = match w.name_request(request)? {
            Named::Plain(id) => w.process.stage(id, copy),
            Named::Object(n) => match w.objects.requests.get_mut(n) {
                Some(RequestObject::Persistent {
                    template: Template::Collective { plan: CollectivePlan(plan), .. },
                    ..
                }) => {
                    plan.staged.add(copy);
                    true
                }
                _ => false,
            },
            _ => return Err(bad_request(request)),
        };
        match staged {
            true => Ok(()),
            false => Err(wrong(Class::Intern, "the request is of no collective operation")),
        }
    })
}
