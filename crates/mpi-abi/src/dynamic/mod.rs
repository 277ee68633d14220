//! Dynamic processes (MPI 5.0, chapter 11): groups of processes of different jobs that become connected and part.
//!
//! Every job has its own `MPI_COMM_WORLD`, launcher and segment. Connecting two groups, by a port or by spawning,
//! makes a link ([`link`]): for the processes of both on each host a segment, and between hosts sockets with a key of the
//! link's ([`link_ends`]); in the engine of each process the others get numbers above those of its own job.

pub mod connected;
pub mod link;
pub mod link_ends;
pub mod name_server;
pub mod names;
pub mod port;
pub mod sites;
pub mod start;
pub mod talk;

use crate::generated::constants::*;
use crate::runtime::Entered;
use connected::Connected;
use hpvm_fm::Rank;
use hpvm_mpi::comm::dynamic;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error};
use link::{Role, Side};
use port::{Port, PortName};
use start::{Program, Spawned};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use talk::Talk;

/// What a process knows of ports, parents and children.
#[derive(Default)]
pub struct Dynamic {
    /// Of the tables of collectives, which connected groups have to share.
    pub tables: u64,
    /// Ports that the program has opened, by their names; `None` while a thread accepts on one.
    ports: BTreeMap<String, Option<Port>>,
    /// Names that the program has published.
    pub names: hpvm_job::names::Names,
    /// Where jobs that share no host with this one find them.
    pub name_server: name_server::NameServer,
    /// The communicator to those who have spawned this process.
    pub parent: Option<MPI_Comm>,
    /// Jobs that this process has spawned or met as a root, or that have spawned its job, and the numbers of their processes here.
    connected: Vec<(Vec<Rank>, Connected)>,
    /// As long as these are open gateways know of the links with these processes, of which this one is a root.
    spaces: Vec<(Vec<Rank>, UnixStream)>,
    /// The sites of processes of other jobs, of those that are at some.
    pub sites: BTreeMap<Rank, u16>,
    /// That of this process, once its job is connected with another by spawning.
    pub own_site: Option<u16>,
}

impl Dynamic {
    /// `tables`: equal in processes whose tables of collectives are.
    pub fn new(tables: u64) -> Dynamic {
        Dynamic { tables, ..Dynamic::default() }
    }

    /// The processes of the jobs all of whose processes are `unused` and that this process is connected with as a root.
    fn cut_by(&self, unused: impl Fn(&Rank) -> bool) -> Vec<Rank> {
        let cut = self.connected.iter().filter(|(ranks, _)| ranks.iter().all(&unused));
        cut.flat_map(|(ranks, _)| ranks.iter().copied()).collect()
    }
}

impl Entered {
    /// Opens a port and gives its name.
    pub fn open_port(&mut self) -> Result<String> {
        let port = self.open_for_all()?;
        let name = port.name.text();
        self.dynamic.ports.insert(name.clone(), Some(port));
        Ok(name)
    }

    /// A port that processes of all sites reach.
    fn open_for_all(&mut self) -> Result<Port> {
        self.prepare()?;
        let port = Port::open()?;
        let offer = self.offer(&port.name)?;
        Ok(port.offered(offer))
    }

    /// Closes one: who has connected to it and was not accepted gets an error.
    pub fn close_port(&mut self, name: &str) -> Result<()> {
        PortName::parse(name)?;
        match self.dynamic.ports.remove(name) {
            Some(_) => Ok(()),
            None => Err(not_open()),
        }
    }

    /// The next client of a port. Blocks until one comes or `failed` has an error.
    fn next_client(
        &mut self,
        port: &mut Port,
        mut failed: impl FnMut() -> Option<Error>,
    ) -> Result<Talk> {
        self.prepare()?;
        // Failure to watch costs time only.
        port.fds().for_each(|fd| drop(self.process.fm().transport().watch(fd)));
        let mut result = Ok(None);
        let waited = self.wait_for_kernel(|w| {
            let transport = w.process.fm().transport();
            result = port.accept(|fd| drop(transport.watch(fd)));
            if let (Ok(None), Some(error)) = (&result, failed()) {
                result = Err(error);
            }
            !matches!(result, Ok(None))
        });
        port.fds().for_each(|fd| self.process.fm().transport().unwatch(fd));
        waited?;
        result?.ok_or_else(|| Class::Intern.into())
    }

    /// Sockets of roots have to end sleeps from now on.
    fn prepare(&mut self) -> Result<()> {
        let prepared = self.process.fm_mut().transport_mut().prepare_links();
        self.objects.forget_bell();
        prepared.map_err(|e| Error::new(Class::Other, format!("connecting two groups: {e}")))
    }

    /// `MPI_Comm_accept`: `name` matters at the root.
    pub fn accept(&mut self, side: &Side, name: Result<&str>) -> Result<Arc<Comm>> {
        self.bring_together(side, Role::Accepts, |w| w.accept_root(name?))
    }

    /// Connects two groups whose jobs are watched over from then on. `meet` is the root's.
    fn bring_together(
        &mut self,
        side: &Side,
        role: Role,
        meet: impl FnOnce(&mut Entered) -> Result<Talk>,
    ) -> Result<Arc<Comm>> {
        let (linked, talk) = link::link(self, side, role, meet)?;
        self.watch_over(&linked, talk);
        linked.join(self, side)
    }

    /// From now on nothing else tells that the other side has failed.
    fn watch_over(&mut self, linked: &link::Linked, talk: Option<Talk>) {
        let others = linked.remote().iter().copied();
        let strangers: Vec<Rank> = others.filter(|process| *process >= self.job.size).collect();
        if let Some(talk) = talk.filter(|_| !strangers.is_empty()) {
            let connected = Connected::with_job(talk.into_stream());
            self.dynamic.connected.push((strangers, connected));
        }
    }

    /// Connects two groups whose roots have words for each other already (`pass`, at the roots): processes of different
    /// jobs that are to be members of one communicator. All members of both groups call it.
    pub fn connect_groups(
        &mut self,
        side: &Side,
        accepts: bool,
        mut pass: impl FnMut(&mut Entered, &[u64]) -> Result<Vec<u64>>,
    ) -> Result<()> {
        let role = if accepts { Role::Accepts } else { Role::Connects };
        let meet = |w: &mut Entered| match accepts {
            true => w.offer_port(&mut pass),
            false => w.take_port(side, &mut pass),
        };
        let (linked, talk) = link::link(self, side, role, meet)?;
        self.watch_over(&linked, talk);
        Ok(())
    }

    /// A connection by a port of our own, whose name the other root gets.
    fn offer_port(
        &mut self,
        pass: &mut impl FnMut(&mut Entered, &[u64]) -> Result<Vec<u64>>,
    ) -> Result<Talk> {
        let port = self.open_for_all();
        // Without one the other root hears of nothing, and says that it has not connected.
        let name = port.as_ref().map_or_else(|_| String::new(), |port| port.name.text());
        pass(self, &dynamic::words_of(name.as_bytes()))?;
        let connected = pass(self, &[])?;
        let mut port = port?;
        match connected.first() {
            Some(1) => self.next_client(&mut port, || None),
            _ => {
                Err(Error::new(Class::Other, "the other group's leader could not connect to ours"))
            }
        }
    }

    /// A connection by the port that the other root names.
    fn take_port(
        &mut self,
        side: &Side,
        pass: &mut impl FnMut(&mut Entered, &[u64]) -> Result<Vec<u64>>,
    ) -> Result<Talk> {
        let name = dynamic::text_of(&pass(self, &[])?);
        let talk = self
            .prepare()
            .and_then(|()| PortName::parse(&String::from_utf8_lossy(&name)))
            .and_then(|name| self.connect_port(side, &name));
        pass(self, &[u64::from(talk.is_ok())])?;
        talk
    }

    fn accept_root(&mut self, name: &str) -> Result<Talk> {
        PortName::parse(name)?;
        let place = self.dynamic.ports.get_mut(name).ok_or_else(not_open)?;
        let mut port = place.take().ok_or_else(|| {
            Error::new(Class::Port, "another thread accepts on this port at the same time")
        })?;
        let talk = self.next_client(&mut port, || None);
        // Unless it has been closed meanwhile.
        if let Some(place) = self.dynamic.ports.get_mut(name) {
            *place = Some(port);
        }
        talk
    }

    /// `MPI_Comm_connect`: `name` matters at the root.
    pub fn connect(&mut self, side: &Side, name: Result<&str>) -> Result<Arc<Comm>> {
        self.connect_to(side, name, false)
    }

    /// The same; `parents`: to those who have spawned this job.
    pub fn connect_to(
        &mut self,
        side: &Side,
        name: Result<&str>,
        parents: bool,
    ) -> Result<Arc<Comm>> {
        let meet = |w: &mut Entered| {
            let name = PortName::parse(name?)?;
            w.prepare()?;
            // Those who have spawned a job over several sites may be at another one.
            match sites::door().filter(|_| parents) {
                Some(door) => port::connect_by(&name, door.parents()?),
                None if parents => port::connect(&name),
                None => w.connect_port(side, &name),
            }
        };
        if !parents {
            return self.bring_together(side, Role::Connects, meet);
        }
        // Launchers watch over parents and children.
        let (linked, talk) = link::link(self, side, Role::Child, meet)?;
        if let Some(talk) = talk {
            let connected = Connected::with_parents(talk.into_stream());
            self.dynamic.connected.push((linked.remote().to_vec(), connected));
        }
        linked.join(self, side)
    }

    /// Connects to a port: by the launcher if the port is one of a job with our gateways, else directly.
    fn connect_port(&mut self, side: &Side, name: &PortName) -> Result<Talk> {
        if let Some(stream) = self.reach(name)? {
            return Ok(port::connect_by(name, stream)?.sharing_gateways(true));
        }
        match self.spans_sites(&side.comm) {
            true => Err(sites::strange(
                "the port is open no more, or not one of this job or of a job that shares its gateways",
            )),
            false => port::connect(name),
        }
    }

    /// `MPI_Comm_spawn_multiple`: `programs` matters at the root. All members get the number of processes.
    pub fn spawn(
        &mut self,
        side: &Side,
        programs: impl FnOnce() -> Result<Vec<Program>>,
    ) -> Result<(Arc<Comm>, usize)> {
        let (mut talk, mut spawned) = (None, None);
        // Told before anything else: errors of the programs keep their classes.
        side.tell(self, |w| {
            let (client, started) = w.start(&programs()?)?;
            (talk, spawned) = (Some(client), Some(started));
            Ok(Vec::new())
        })?;
        let linked =
            link::link(self, side, Role::Parent, |_| talk.ok_or_else(|| Class::Intern.into()));
        let (linked, talk) = linked.map_err(|error| Error::new(Class::Spawn, error.text))?;
        if let Some(spawned) = spawned {
            let children = linked.remote().to_vec();
            self.dynamic.connected.push((children, spawned.connected(talk)));
        }
        let count = linked.remote().len();
        Ok((linked.join(self, side)?, count))
    }

    fn start(&mut self, programs: &[Program]) -> Result<(Talk, Spawned)> {
        let mut port = Port::open()?;
        self.prepare()?;
        // A process without a launcher knows of nobody but itself.
        let universe = self.job.universe.filter(|_| self.job.manager.is_some());
        let mut spawned = Spawned::start(programs, &port.name.text(), universe)?;
        let fd = spawned.fd();
        let _ = self.process.fm().transport().watch(fd);
        let talk = self.next_client(&mut port, || spawned.failure());
        self.process.fm().transport().unwatch(fd);
        Ok((talk?, spawned))
    }

    /// Before a communicator is disconnected. When this returns no process of another job waits for ours any more, none of
    /// ours waits for one of theirs, and either job may end without the other. Until then a failure of one ends both.
    ///
    /// First all processes of different jobs have words from each other; no third process passes them on. A job whose
    /// processes all have them, and whose own words have been acknowledged, needs nobody else any more, so its roots say
    /// that it parts. Nobody leaves before both roots of each connection that ends have said so, and goes on acknowledging until
    /// then. Who fails earlier ends the other job, and that those that it is connected with, also if it has said that it parts;
    /// who fails later has been heard by everybody.
    pub fn part(&mut self, handle: MPI_Comm) -> Result<()> {
        let comm = self.objects.comm(handle)?.comm.clone();
        let first = self.job.size;
        if !comm.has_member(|process| process >= first) {
            return Ok(());
        }
        let used = self.linked_for(Some(handle));
        let unused = |rank: &Rank| !used.contains(rank);
        let parting = dynamic::Parting::new(self, &comm, |process| process < first)?;
        // Which of the connections that a root holds end with this communicator is known to that root alone.
        let cut = self.dynamic.cut_by(unused);
        let told = parting.swap(self, |peer| u64::from(cut.contains(&peer)))?;
        // Others, who may be in no call of MPI, are not waited for.
        let members = parting.members();
        let concerns = |rank: Rank| members.binary_search(&rank).is_ok();
        self.wait_until(|w| {
            let transport = w.process.fm().transport();
            !w.process.has_backlog_for(concerns) && transport.is_quiet_with(concerns)
        })?;
        parting.meet_ours(self)?;
        let both =
            |ranks: &[Rank]| told.iter().any(|(peer, cuts)| *cuts != 0 && ranks.contains(peer));
        let parted = self.take_connected(unused);
        let ends = || parted.iter().filter(|(ranks, _)| both(ranks)).map(|(_, other)| other);
        ends().for_each(Connected::say_parts);
        // Until all have answered a failure of any of them is ours.
        ends().try_for_each(|other| other.await_parts(self))?;
        parted.into_iter().for_each(|(_, other)| other.disconnect());
        parting.meet_ours(self)?;
        self.wait_until(|w| !w.process.has_backlog_for(concerns))
    }

    /// The processes of other jobs that a communicator needs, if it is not `except`.
    fn linked_for(&self, except: Option<MPI_Comm>) -> Vec<Rank> {
        let process = &self.process;
        let others = || self.objects.comms.iter().filter(|(h, _)| Some(MPI_Comm(*h)) != except);
        let mut linked = process.fm().transport().linked();
        linked.retain(|rank| {
            let is = |process: Rank| process == *rank;
            others().any(|(_, object)| object.comm.has_member(is)) || process.retired_has(is)
        });
        linked
    }

    /// The connections with jobs all of whose processes are `unused`, which are ours no longer.
    fn take_connected(&mut self, unused: impl Fn(&Rank) -> bool) -> Vec<(Vec<Rank>, Connected)> {
        let connected = &mut self.dynamic.connected;
        connected.extract_if(.., |(ranks, _)| ranks.iter().all(&unused)).collect()
    }

    /// Closes what no communicator needs any more.
    pub fn close_links(&mut self) {
        if self.process.has_backlog() || self.process.fm().transport().linked().is_empty() {
            return;
        }
        let used = self.linked_for(None);
        let gone = self.process.fm_mut().transport_mut().unlink(|rank| used.contains(&rank));
        self.process.forget_peers(&gone);
        self.dynamic.spaces.retain(|(ranks, _)| !ranks.iter().all(|rank| gone.contains(rank)));
        self.dynamic.sites.retain(|rank, _| !gone.contains(rank));
        let parted = self.take_connected(|rank| gone.contains(rank));
        parted.into_iter().for_each(|(_, other)| other.disconnect());
    }

    /// The world model ends: other jobs go on without us.
    pub fn leave_connected(&mut self) {
        let connected = std::mem::take(&mut self.dynamic.connected);
        connected.into_iter().for_each(|(_, connected)| connected.disconnect());
        self.dynamic.spaces.clear();
        self.dynamic.ports.clear();
        self.unpublish_all();
    }
}

fn not_open() -> Error {
    Error::new(
        Class::Port,
        "this process has no such port open; expected one of its own MPI_Open_port",
    )
}
