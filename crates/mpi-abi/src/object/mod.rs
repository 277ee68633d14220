//! Objects behind handles: what the C interface adds to the engine's own (names, attributes, error
//! handlers, info), and the tables that find them.
//!
//! Objects that may be used before `MPI_Init` (info, error handlers, keys) have tables of their
//! own behind locks; all others live in the `World`.

pub mod attributes;
pub mod comm;
pub mod datatype;
pub mod errhandler;
pub mod file;
pub mod info;
pub mod op;
pub mod request;
pub mod session;
pub mod table;
pub mod topology;
pub mod win;

use crate::generated::constants::*;
use comm::CommObject;
use datatype::TypeObject;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::{Pattern, Unexpected};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error, Group, Process};
use hpvm_mux::Mux;
use hpvm_transport::{Doorbell, Packets};
use op::OpObject;
use request::RequestObject;
use session::SessionObject;
use std::rc::Rc;
use std::sync::Arc;
use table::{Kind, Table};

/// The tables of the world.
pub struct Objects {
    world: Option<Arc<CommObject>>,
    own: Option<Arc<CommObject>>,
    pub comms: Table<Arc<CommObject>>,
    pub groups: Table<Arc<Group>>,
    pub types: Table<Arc<TypeObject>>,
    /// The predefined types again, where one load finds them.
    named: Box<[Option<Arc<Datatype>>]>,
    pub ops: Table<Arc<OpObject>>,
    pub requests: Table<RequestObject>,
    pub sessions: Table<SessionObject>,
    pub files: Table<Arc<file::FileObject>>,
    pub windows: Table<Rc<win::WinObject>>,
    /// Notices of windows that this process has not finished making.
    pub early_notices: Vec<hpvm_mpi::rma::notice::Arrived>,
    /// Messages that a matched probe took, with the communicator they came on.
    pub messages: Table<(Arc<CommObject>, Unexpected)>,
    /// Communicators that `MPI_Comm_idup` is making.
    pub unfinished: Vec<comm::Unfinished>,
    /// Memory of `MPI_Alloc_mem`.
    pub allocated: crate::body::env::Allocated,
    /// Buffer of `MPI_Buffer_attach`.
    pub buffer: crate::body::buffer::Attached,
    /// Requests that progress has to look at.
    pub watched: Vec<crate::body::watch::Watched>,
    pub recent_update: crate::body::rma::Recent,
    /// Stripes of files that this process has and others ask for.
    pub stripe_owners: Vec<std::sync::Arc<crate::body::io::Owner>>,
    /// Calls that are compared with those of others (`HPVM_CHECK`).
    pub comparisons: crate::audit::Comparisons,
    /// Tag of the next partition that is sent.
    pub partition_tag: i32,
    /// What a blocking probe waits for.
    pub probe: Option<(Arc<Comm>, Pattern)>,
    /// The collective through shared memory that a thread sleeps in.
    pub meeting: Option<Meeting>,
    /// The call on a window that waits.
    pub window_wait: Option<WindowWait>,
    /// Models whose libraries wait for packets, and those that were told to return, as bits.
    pub models_waiting: u32,
    pub models_woken: u32,
    pub model_service: crate::models::Service,
    bell: Option<Arc<dyn Doorbell>>,
}

/// A collective through shared memory: its function, the context of its communicator, and the processes
/// whose slots are not there yet.
pub struct Meeting {
    pub call: &'static str,
    pub context: u32,
    pub awaits: Vec<hpvm_fm::Rank>,
}

/// A call on a window that waits for other ranks of the window.
pub struct WindowWait {
    pub call: &'static str,
    pub window: Rc<win::WinObject>,
    /// Ranks without which it can't go on, where they are known.
    pub awaits: fn(&win::WinObject) -> Vec<u32>,
}

impl Default for Objects {
    fn default() -> Self {
        Objects {
            world: None,
            own: None,
            comms: Table::new(Kind::Comm),
            groups: Table::new(Kind::Group),
            types: Table::new(Kind::Datatype),
            named: datatype::named_types(),
            ops: Table::new(Kind::Op),
            requests: Table::new(Kind::Request),
            sessions: Table::new(Kind::Session),
            files: Table::new(Kind::File),
            windows: Table::new(Kind::Window),
            early_notices: Vec::new(),
            messages: Table::new(Kind::Message),
            unfinished: Vec::new(),
            allocated: Default::default(),
            buffer: Default::default(),
            watched: Vec::new(),
            recent_update: Default::default(),
            stripe_owners: Vec::new(),
            comparisons: Default::default(),
            partition_tag: i32::MIN,
            probe: None,
            meeting: None,
            window_wait: None,
            models_waiting: 0,
            models_woken: 0,
            model_service: Default::default(),
            bell: None,
        }
    }
}

impl Objects {
    /// Whether there is anything that few programs have, and that every turn has to look at.
    #[inline(always)]
    pub fn has_rarities(&self) -> bool {
        self.unfinished.len() | self.comparisons.len() | self.watched.len() != 0
    }
}

/// The error of a table that is full.
pub fn too_many(what: &str) -> Error {
    let text = format!("{} {what} live already; free those that are not needed", table::CAPACITY);
    Error::new(Class::NoMem, text)
}

#[cold]
fn bad_handle(class: Class, what: &str, null: bool, value: usize) -> Error {
    let found = match null {
        true => format!("MPI_{}_NULL", what.to_uppercase()),
        false => format!("{value:#x}, which is not or no longer one"),
    };
    let article = if what.starts_with(['e', 'i', 'o']) { "an" } else { "a" };
    Error::new(class, format!("expected {article} {what} handle, found {found}"))
}

/// The error of a handle that is no communicator.
#[cold]
fn bad_comm(handle: MPI_Comm) -> Error {
    let name = match handle {
        MPI_COMM_WORLD => "MPI_COMM_WORLD",
        MPI_COMM_SELF => "MPI_COMM_SELF",
        _ => return bad_handle(Class::Comm, "comm", handle == MPI_COMM_NULL, handle.0),
    };
    let text = format!(
        "{name} exists from MPI_Init to MPI_Finalize only; in a program of sessions make a communicator \
         by MPI_Group_from_session_pset and MPI_Comm_create_from_group"
    );
    Error::new(Class::Comm, text)
}

impl Objects {
    /// `MPI_Init` makes `MPI_COMM_WORLD` and `MPI_COMM_SELF`; programs of sessions alone have neither.
    pub fn add_predefined_comms(&mut self, world: Arc<Comm>, own: Arc<Comm>) {
        self.world = Some(CommObject::new(world, "MPI_COMM_WORLD"));
        self.own = Some(CommObject::new(own, "MPI_COMM_SELF"));
        for comm in self.world.iter().chain(&self.own) {
            comm.extras().handler = crate::body::errh::initial_handler();
        }
    }

    /// `MPI_Finalize` ends both, although sessions may go on.
    pub fn remove_predefined_comms(&mut self) {
        (self.world, self.own) = (None, None);
    }

    /// The communicator of a handle.
    #[inline(always)]
    pub fn comm(&self, handle: MPI_Comm) -> Result<&Arc<CommObject>> {
        let found = match handle {
            MPI_COMM_WORLD => self.world.as_ref(),
            MPI_COMM_SELF => self.own.as_ref(),
            other => self.comms.get(other.0),
        };
        found.ok_or_else(|| bad_comm(handle))
    }

    /// Keeps a communicator and returns its handle.
    pub fn add_comm(&mut self, comm: Arc<CommObject>) -> Result<MPI_Comm> {
        self.comms.insert(comm).map(MPI_Comm).ok_or_else(|| too_many("communicators"))
    }

    /// The group of a handle.
    pub fn group(&self, handle: MPI_Group) -> Result<Arc<Group>> {
        match handle {
            MPI_GROUP_EMPTY => Ok(Group::empty()),
            other => self.groups.get(other.0).cloned().ok_or_else(|| {
                bad_handle(Class::Group, "group", handle == MPI_GROUP_NULL, handle.0)
            }),
        }
    }

    /// A handle for `group`; the empty group has a constant one.
    pub fn add_group(&mut self, group: Arc<Group>) -> Result<MPI_Group> {
        if group.size() == 0 {
            return Ok(MPI_GROUP_EMPTY);
        }
        self.groups.insert(group).map(MPI_Group).ok_or_else(|| too_many("groups"))
    }

    /// The transport has a new bell.
    pub fn forget_bell(&mut self) {
        self.bell = None;
    }

    /// The bell of this process.
    pub fn bell(&mut self, process: &Process<Mux>) -> Arc<dyn Doorbell> {
        self.bell.get_or_insert_with(|| process.fm().transport().doorbell()).clone()
    }
}
