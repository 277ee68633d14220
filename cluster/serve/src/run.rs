//! From options to a server that runs until it is told to end.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{broadcast, watch};
use tokio_rustls::rustls::server::ResolvesServerCert;

use crate::api::types::Host;
use crate::app::{App, CHANNEL, Parts};
use crate::auth::Peer;
use crate::idle::IdleTimeout;
use crate::moderation::Moderation;
use crate::secret;
use crate::starter;
use crate::tls::given::Given;
use crate::tls::listen::TlsListener;
use crate::tls::own::{self, Own};
use hpvm_queue::driver::{Settings, marks_of, turn_of};
use hpvm_queue::manager::{Config, Publish, Queue};
use hpvm_queue::node::Version;
use hpvm_queue::policy::Resources;
use hpvm_queue::processors::Processors;
use hpvm_queue::slurm::Slurm;
use hpvm_queue::store::audit::Actor;
use hpvm_queue::store::list::Keep;
use hpvm_queue::store::outbox::Happened;
use hpvm_queue::time::Stamp;

/// The port that is tried first.
pub const PORT: u16 = 8421;
/// How long a one-time link can be used: as long as it takes to open a browser.
pub const LINK_SECONDS: u64 = 3600;
/// How long answers that are under way may take when the server ends.
const DRAIN: Duration = Duration::from_secs(3);

/// What `hpvm serve` was told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data folder; an absolute path.
    pub data: PathBuf,
    /// Where to listen for browsers; `None`: on loopback, port 8421 or any that is free.
    pub listen: Option<SocketAddr>,
    /// Whose queue is served.
    pub queue: Which,
    /// Files of a certificate and its key, in PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// More names of this machine for a certificate of the server's own.
    pub names: Vec<String>,
    /// The `hpvm` program.
    pub program: PathBuf,
    pub home: PathBuf,
    /// Jobs run as the users of this system who have submitted them; we have to be root.
    pub system: bool,
    /// After so many seconds without a report the jobs of a host are given up.
    pub node_limit_seconds: u64,
    /// How long records of jobs are kept.
    pub keep: Keep,
    /// Hosts that the server starts itself.
    pub hosts: starter::Hosts,
    /// The server's own variables, which jobs get.
    pub env: BTreeMap<String, String>,
    /// Say nothing but the link.
    pub quiet: bool,
}

/// Whose queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Slurm's where there is one, else our own.
    Auto,
    Embedded,
    Slurm,
}

/// Whether this machine says where a Slurm is.
pub fn slurm_is_configured() -> bool {
    std::env::var_os("SLURM_CONF").is_some()
        || ["/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf"]
            .iter()
            .any(|p| Path::new(p).exists())
}

/// The Slurm that is to be served, if one is.
fn find_slurm(which: Which) -> Result<Option<Slurm>, String> {
    match which {
        Which::Embedded => Ok(None),
        Which::Auto if !slurm_is_configured() => Ok(None),
        _ => Slurm::find()
            .map(Some)
            .map_err(|text| format!("{text}; hpvm serve --queue embedded has a queue of its own")),
    }
}

/// The socket for commands in a data folder.
pub fn socket(data: &Path) -> PathBuf {
    data.join("server.sock")
}

/// Serves until SIGTERM or SIGINT. Jobs go on afterwards.
pub fn run(options: &Options) -> Result<(), String> {
    let moderation = Arc::new(Moderation::new(Instant::now()));
    let worker = moderation.clone();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // One: a second one is woken for each of the thousand reports of a second and finds nothing to do.
    // What takes long has threads of its own ([`blocking`](crate::app::blocking)).
    builder.worker_threads(1).on_thread_park(move || worker.before_park());
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
    runtime.block_on(serve(options, moderation))
}

async fn serve(options: &Options, moderation: Arc<Moderation>) -> Result<(), String> {
    // SAFETY: the call has no arguments and cannot fail.
    let uid = unsafe { libc::getuid() };
    let owner = user_name(uid);
    let place = Settings {
        data: options.data.clone(),
        program: options.program.clone(),
        host: hpvm_launch::hosts::local_name(),
        env: options.env.clone(),
        home: options.home.clone(),
        marks: marks_of(&options.data),
        system: options.system,
    };
    let capacity = Resources::from(hpvm_queue::node::Capacity::of_this_machine());
    let processors = Processors::of_this_machine(None, turn_of(&options.data));
    let (events, _) = broadcast::channel::<Arc<Happened>>(CHANNEL);
    let versions = watch::Sender::new(BTreeMap::new());
    let publish = publish(events.clone(), versions.clone());
    let slurm = find_slurm(options.queue)?;
    check_system(options, uid, slurm.is_some())?;
    let config = Config {
        place: place.clone(),
        capacity,
        processors: Arc::new(processors),
        mirror: slurm.is_some(),
        node_limit_seconds: options.node_limit_seconds,
        keep: options.keep,
    };
    let (queue, thread) = Queue::start(config, publish)?;
    tell_restored(&queue, &owner)?;
    let (local, tcp) = (listen_local(options)?, listen(options.listen).await?);
    let address = tcp.local_addr().map_err(|error| error.to_string())?;
    let (end, ending) = watch::channel(false);
    let hosts = vec![Host::up(&place.host, capacity)];
    let secure = secure(options, address)?;
    let url = url(address, secure.is_some());
    let parts = Parts {
        queue: queue.clone(),
        place,
        capacity,
        owner: owner.clone(),
        uid,
        events,
        ending,
        hosts,
        versions,
        url: url.clone(),
        slurm: slurm.clone(),
        moderation,
    };
    let app = App::new(parts)?;
    crate::sampling::start(app.clone())?;
    crate::spare::start(app.clone())?;
    if let Some(slurm) = slurm {
        crate::slurm::start(app.clone(), slurm)?;
    }
    // Before anybody knows of us: a signal that comes at once is heard.
    let told = |error: std::io::Error| format!("cannot listen for signals: {error}");
    let signals = (
        signal(SignalKind::terminate()).map_err(told)?,
        signal(SignalKind::interrupt()).map_err(told)?,
    );
    let link = first_link(&queue, &owner)?;
    let fingerprint = secure.as_ref().map(|(_, fingerprint)| fingerprint.as_str());
    let started = starter::start(&app, &options.hosts, fingerprint)?;
    announce(options, &url, &link, fingerprint)?;
    run_until_told(app, local, (tcp, secure.map(|(who, _)| who)), signals, end).await?;
    // They have been told, and end within seconds.
    started.into_iter().for_each(|thread| drop(thread.join()));
    let _ = std::fs::remove_file(socket(&options.data));
    queue.call(|manager| manager.stop()).map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the queue's thread failed".to_string())
}

/// What the queue tells: events to streams, and to hosts that there are newer orders.
fn publish(
    events: broadcast::Sender<Arc<Happened>>,
    versions: watch::Sender<BTreeMap<String, Version>>,
) -> Publish {
    Publish {
        events: Box::new(move |rows: Vec<Happened>| {
            for row in rows {
                // Without a stream there is nobody to tell.
                let _ = events.send(Arc::new(row));
            }
        }),
        orders: Box::new(move |news| {
            versions.send_modify(|versions| {
                for (name, version) in news {
                    match version {
                        Some(version) => versions.insert(name, version),
                        None => versions.remove(&name),
                    };
                }
            });
        }),
    }
}

/// Whether `--system` makes sense where it is given.
fn check_system(options: &Options, uid: u32, slurm: bool) -> Result<(), String> {
    match (options.system, slurm) {
        (true, true) => {
            Err("--system is for the queue of its own; Slurm's jobs have their users anyway".into())
        }
        (true, false) if uid != 0 => {
            Err("--system: only root can run jobs as their submitters".into())
        }
        _ => Ok(()),
    }
}

type Certificates = Arc<dyn ResolvesServerCert>;

/// The certificate and its fingerprint; nothing on loopback, unless one is given.
fn secure(
    options: &Options,
    address: SocketAddr,
) -> Result<Option<(Certificates, String)>, String> {
    if let Some((certificate, key)) = &options.certificate {
        let given = Given::open(certificate.clone(), key.clone())?;
        let fingerprint = given.fingerprint();
        return Ok(Some((Arc::new(given), fingerprint)));
    }
    if address.ip().is_loopback() {
        return Ok(None);
    }
    let own = Own::open(&options.data, own::names(&options.names))?;
    let fingerprint = own.fingerprint();
    Ok(Some((Arc::new(own), fingerprint)))
}

/// Where a browser finds it.
fn url(address: SocketAddr, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    match address.ip().is_unspecified() {
        true => format!("{scheme}://{}:{}/", hpvm_launch::hosts::local_name(), address.port()),
        false => format!("{scheme}://{address}/"),
    }
}

/// Serves both listeners until a signal, ends streams first, and waits a little for the rest.
async fn run_until_told(
    app: App,
    local: UnixListener,
    (tcp, secure): (TcpListener, Option<Certificates>),
    (mut terminate, mut interrupt): (Signal, Signal),
    end: watch::Sender<bool>,
) -> Result<(), String> {
    let ended = |mut ending: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which is an end too.
        let _ = ending.wait_for(|ending| *ending).await;
    };
    let service = || crate::router(app.clone()).into_make_service_with_connect_info::<Peer>();
    let until = ended(app.ending.clone());
    let one = match secure {
        None => {
            let served = axum::serve(IdleTimeout(tcp), service());
            tokio::spawn(served.with_graceful_shutdown(until).into_future())
        }
        Some(who) => {
            let served = axum::serve(IdleTimeout(TlsListener::start(tcp, who)?), service());
            tokio::spawn(served.with_graceful_shutdown(until).into_future())
        }
    };
    let other = axum::serve(IdleTimeout(local), service());
    let other = other.with_graceful_shutdown(ended(app.ending.clone()));
    let other = tokio::spawn(other.into_future());
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    // All receivers may be gone.
    let _ = end.send(true);
    let drained = async {
        let _ = one.await;
        let _ = other.await;
    };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    Ok(())
}

async fn listen(address: Option<SocketAddr>) -> Result<TcpListener, String> {
    let told = |address: SocketAddr, error: std::io::Error| {
        format!("cannot listen on {address}: {error}; choose another with --listen")
    };
    if let Some(address) = address {
        return TcpListener::bind(address).await.map_err(|error| told(address, error));
    }
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(listener) = TcpListener::bind((loopback, PORT)).await {
        return Ok(listener);
    }
    let any = SocketAddr::new(loopback, 0);
    TcpListener::bind(any).await.map_err(|error| told(any, error))
}

fn listen_local(options: &Options) -> Result<UnixListener, String> {
    let path = socket(&options.data);
    let told = |error: std::io::Error| format!("cannot listen on {}: {error}", path.display());
    // The data folder is ours alone, so nobody listens on one that is there.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        _ => {}
    }
    let listener = UnixListener::bind(crate::client::short(&path).map_err(told)?).map_err(told)?;
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(told)
    };
    // In system mode everybody may connect: the kernel says who it is.
    set(&path, if options.system { 0o666 } else { 0o600 })?;
    if options.system {
        set(&options.data, 0o711)?;
    }
    Ok(listener)
}

/// Says that a spare has taken the place of the store, there and in the audit log.
fn tell_restored(queue: &Queue, owner: &str) -> Result<(), String> {
    let failed = |error: hpvm_queue::store::StoreError| error.to_string();
    let Some(text) = queue.call(|manager| manager.restored()).map_err(failed)? else {
        return Ok(());
    };
    // If standard error is closed, the log still has it.
    let _ = writeln!(std::io::stderr(), "hpvm: {text}");
    let actor = Actor { user: owner.to_string(), origin: "server".into() };
    let logged = queue.call(move |manager| manager.store().audit(&actor, "restore", &text));
    logged.and_then(|done| done).map_err(failed)
}

/// The administrator with a link to come in by.
fn first_link(queue: &Queue, owner: &str) -> Result<String, String> {
    let token = secret::token()?;
    let (hash, owner) = (secret::hash_token(&token), owner.to_string());
    let made = queue.call(move |manager| {
        manager.store().ensure_user(&owner, &["admin", "user"])?;
        manager.store().put_link(&hash, &owner, Stamp::now(), LINK_SECONDS)
    });
    made.and_then(|done| done).map_err(|error| error.to_string())?;
    Ok(token)
}

fn announce(
    options: &Options,
    url: &str,
    link: &str,
    fingerprint: Option<&str>,
) -> Result<(), String> {
    let mut text = format!("{url}#link={link}\n");
    if !options.quiet {
        let from_here = match fingerprint {
            None => String::new(),
            Some(shown) => format!("Certificate: {shown}\nElsewhere: hpvm login {url}\n"),
        };
        text = format!(
            "hpvm serves {}\nOpen once, within an hour: {text}{from_here}\
             Submit: hpvm submit -n 4 ./program\n",
            options.data.display()
        );
    }
    let mut out = std::io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("standard output: {error}"))
}

/// The name of a user, or the number when there is none.
pub fn user_name(uid: u32) -> String {
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; 16 << 10];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are to writable memory of the sizes that are said.
    let done = unsafe {
        libc::getpwuid_r(uid, entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &mut found)
    };
    if done != 0 || found.is_null() {
        return uid.to_string();
    }
    // SAFETY: the call has filled the entry, whose name is a string in the buffer.
    let name = unsafe { std::ffi::CStr::from_ptr((*found).pw_name) };
    name.to_string_lossy().into_owned()
}
