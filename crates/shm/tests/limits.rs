//! Limits of the process, and signals: what the transport needs is checked and reported, and no signal ends
//! the program. The tests change what belongs to the whole process, so they run one after the other.

use hpvm_shm::{Mapping, Shm};
use hpvm_transport::{Head, Packets};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the soft limit of a resource until it is dropped.
struct Limit(libc::__rlimit_resource_t, libc::rlimit);

impl Limit {
    fn to(resource: libc::__rlimit_resource_t, soft: u64) -> Limit {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: valid memory for the result.
        assert_eq!(unsafe { libc::getrlimit(resource, &mut before) }, 0);
        let now = libc::rlimit { rlim_cur: soft, ..before };
        // SAFETY: a valid limit.
        assert_eq!(unsafe { libc::setrlimit(resource, &now) }, 0);
        Limit(resource, before)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::setrlimit(self.0, &self.1) };
    }
}

fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: valid memory for two descriptors.
    let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) };
    assert_eq!(made, 0);
    // SAFETY: both were just made and are nobody else's.
    unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) }
}

fn two() -> [Shm; 2] {
    let mapping = Arc::new(Mapping::create(2, [7, 8]).expect("a segment"));
    let mut ends = [0, 1].map(|rank| Shm::attach(mapping.clone(), rank).expect("a rank"));
    ends.iter_mut().for_each(Shm::settle);
    ends
}

fn send(from: &mut Shm, to: u32) {
    assert!(from.take_credits(to) > 0);
    from.send(to, Head::single(1, 0), 0, |_| ()).expect("room");
}

fn drain(end: &mut Shm) {
    while end.poll(usize::MAX, |_, _, _| ()).expect("clean packets") > 0 {}
}

#[test]
fn a_file_size_limit_below_the_segment_is_an_error_with_words() {
    let _guard = alone();
    let _limit = Limit::to(libc::RLIMIT_FSIZE, 1 << 20);
    let text = match Mapping::create(2, [1, 2]) {
        Ok(_) => panic!("a segment larger than the limit"),
        Err(error) => error.to_string(),
    };
    assert!(text.contains("RLIMIT_FSIZE") && text.contains("is 1048576"), "{text}");
    assert!(text.contains("2 ranks") && text.contains("ulimit -f"), "{text}");
}

#[test]
fn a_sleeper_that_died_ends_nobody() {
    let _guard = alone();
    // Tests of Rust ignore SIGPIPE; programs in C do not.
    // SAFETY: back to the default, for this process of tests only.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let [mut a, mut b] = two();
    let (mut reading, writing) = pipe();
    b.sleep_on(writing.as_raw_fd());
    assert!(b.arm());
    send(&mut a, 1);
    let mut byte = [0; 8];
    assert_eq!(reading.read(&mut byte).expect("it was rung"), 1);
    drain(&mut b);
    // The process is gone, and with it both ends of its pipe; its doorbell still says that it sleeps.
    assert!(b.arm());
    drop((reading, writing));
    send(&mut a, 1);
    // SAFETY: as above.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

#[test]
fn a_bell_that_could_not_be_opened_once_is_opened_later() {
    let _guard = alone();
    let [mut a, mut b] = two();
    let (mut reading, writing) = pipe();
    b.sleep_on(writing.as_raw_fd());
    assert!(b.arm());
    {
        let _limit = Limit::to(libc::RLIMIT_NOFILE, 0);
        send(&mut a, 1);
    }
    let mut byte = [0; 8];
    assert!(reading.read(&mut byte).is_err(), "there was no descriptor to ring with");
    drain(&mut b);
    assert!(b.arm());
    send(&mut a, 1);
    assert_eq!(reading.read(&mut byte).expect("it was rung"), 1);
}

/// What a peer says of its pipe is not believed: nothing is written to a plain file.
#[test]
fn a_pipe_that_is_none_is_not_written_to() {
    let _guard = alone();
    let [mut a, mut b] = two();
    let path = std::env::temp_dir().join(format!("hpvm-no-pipe-{}", std::process::id()));
    let file = File::options().create_new(true).read(true).write(true).open(&path).expect("a file");
    b.sleep_on(file.as_raw_fd());
    assert!(b.arm());
    send(&mut a, 1);
    let bytes = file.metadata().expect("open").len();
    std::fs::remove_file(&path).expect("it was there");
    assert_eq!(bytes, 0);
}

#[test]
fn nobody_can_shrink_the_segment() {
    let _guard = alone();
    let mapping = Mapping::create(2, [1, 2]).expect("a segment");
    let file = File::options().write(true).open(mapping.path()).expect("our own");
    assert!(file.set_len(4096).is_err(), "it was cut");
    assert!(Mapping::join(&mapping.path(), 2, [1, 2]).is_ok());
}

#[test]
fn a_segment_that_may_shrink_is_not_joined() {
    let _guard = alone();
    let mapping = Mapping::create(1, [1, 2]).expect("a segment");
    let whole = std::fs::read(mapping.path()).expect("readable");
    let path = std::env::temp_dir().join(format!("hpvm-unsealed-{}", std::process::id()));
    std::fs::write(&path, whole).expect("room for a copy");
    let joined = Mapping::join(path.to_str().expect("text"), 1, [1, 2]);
    std::fs::remove_file(&path).expect("it was there");
    let error = joined.err().expect("refused").to_string();
    assert!(error.contains("may shrink"), "{error}");
}
