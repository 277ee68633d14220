//! The model of a machine: what a message costs inside a host and between hosts (LogGP: Alexandrov and others,
//! 1995), and the text form of it.

use crate::error::Error;
use crate::time::{MS, NS, SECOND, Time, US, shown};

/// What a message pays on one kind of way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// From the moment the sender has done its part until the receiver can see the message.
    pub latency: Time,
    /// Time of the sender's processor for a packet.
    pub send: Time,
    /// Time of the receiver's processor for a packet.
    pub receive: Time,
    /// Between two packets of one host.
    pub gap: Time,
    /// Of 1024 bytes.
    pub kib: Time,
}

/// A cluster of equal hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Between hosts.
    pub network: Way,
    /// Inside a host. `kib` is the time of one copy, which sender and receiver each pay.
    pub host: Way,
    /// From the post of a collective slot until another rank of the host can see it.
    pub slot: Time,
    /// Time of a processor to post a slot, or to read one.
    pub slot_work: Time,
    /// Whether a receiver may read a sender's memory inside a host.
    pub single_copy: bool,
    /// Processors of a host; 0: as many as it has ranks.
    pub processors: u32,
    /// What a processor loses when it turns to another rank.
    pub switch: Time,
    /// For how long a rank that waits keeps its processor from others: it polls.
    pub spin: Time,
    /// What a packet waits in each switch, where a fabric is given.
    pub hop: Time,
}

impl Default for Machine {
    /// Two ordinary servers of today: 25 Gbit/s Ethernet through the kernel, shared memory at the cost of cache lines.
    fn default() -> Machine {
        Machine {
            network: Way {
                latency: 10 * US,
                send: 2 * US,
                receive: 2 * US,
                gap: 500 * NS,
                kib: kib_of(25e9 / 8.0),
            },
            host: Way {
                latency: 60 * NS,
                send: 40 * NS,
                receive: 40 * NS,
                gap: 0,
                kib: kib_of(12e9),
            },
            slot: 60 * NS,
            slot_work: 15 * NS,
            single_copy: true,
            processors: 0,
            switch: 2 * US,
            spin: 500 * NS,
            hop: 300 * NS,
        }
    }
}

/// The time of 1024 bytes at so many bytes a second.
pub fn kib_of(bytes_per_second: f64) -> Time {
    (1024.0 * SECOND as f64 / bytes_per_second).round().max(0.0) as Time
}

impl Way {
    /// The time of so many bytes.
    pub fn bytes(&self, bytes: usize) -> Time {
        bytes as Time * self.kib / 1024
    }

    /// Bytes a second; infinite where bytes cost nothing.
    pub fn bandwidth(&self) -> f64 {
        1024.0 * SECOND as f64 / self.kib as f64
    }
}

/// A number of a machine.
enum Field<'a> {
    Time(&'a mut Time),
    /// As the time of 1024 bytes.
    Bandwidth(&'a mut Time),
    Count(&'a mut u32),
    Flag(&'a mut bool),
}

/// A number's name, what it says, and where it is.
struct Entry {
    name: &'static str,
    what: &'static str,
    field: fn(&mut Machine) -> Field<'_>,
}

macro_rules! entry {
    ($name:literal, $what:literal, $kind:ident, $($path:ident).+) => {
        Entry { name: $name, what: $what, field: |m| Field::$kind(&mut m.$($path).+) }
    };
}

const ENTRIES: [Entry; 17] = [
    entry!("network.latency", "from sent to there, between hosts", Time, network.latency),
    entry!("network.send", "the sender's processor, per packet", Time, network.send),
    entry!("network.receive", "the receiver's processor, per packet", Time, network.receive),
    entry!("network.gap", "between two packets of a host", Time, network.gap),
    entry!("network.bandwidth", "of a host, in each direction", Bandwidth, network.kib),
    entry!("host.latency", "from sent to there, inside a host", Time, host.latency),
    entry!("host.send", "the sender's processor, per packet", Time, host.send),
    entry!("host.receive", "the receiver's processor, per packet", Time, host.receive),
    entry!("host.bandwidth", "of one copy", Bandwidth, host.kib),
    entry!("host.slot", "from a collective slot's post to its sight", Time, slot),
    entry!("host.slot-work", "a processor, to post or read a slot", Time, slot_work),
    entry!("host.single-copy", "receivers may read senders' memory", Flag, single_copy),
    entry!("host.processors", "0: one for each rank", Count, processors),
    entry!("host.switch", "a processor turns to another rank", Time, switch),
    entry!("host.spin", "a waiting rank keeps its processor", Time, spin),
    entry!("fabric.hop", "a packet in each switch", Time, hop),
    entry!("host.gap", "between two packets of a rank", Time, host.gap),
];

impl Machine {
    /// Reads the text form: a name and a value on each line, `#` begins a comment. What is not named is as in
    /// [`Machine::default`].
    pub fn read(text: &str) -> Result<Machine, Error> {
        let mut machine = Machine::default();
        let mut seen = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(name) = words.next() else { continue };
            let wrong = |why: String| Error::new(format!("line {number}: {why}"));
            let (Some(value), None) = (words.next(), words.next()) else {
                return Err(wrong(format!("expected a name and a value, found '{}'", line.trim())));
            };
            if seen.contains(&name) {
                return Err(wrong(format!("'{name}' is there already")));
            }
            seen.push(name);
            machine.set(name, value).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(machine)
    }

    /// Gives the number of that name a value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) else {
            let names: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
            let names = names.join(", ");
            return Err(Error::new(format!(
                "'{name}' is no number of a machine; expected one of {names}"
            )));
        };
        match (entry.field)(self) {
            Field::Time(time) => *time = read_time(value)?,
            Field::Bandwidth(kib) => *kib = kib_of(read_bandwidth(value)?),
            Field::Count(count) => {
                *count = value.parse().map_err(|_| {
                    Error::new(format!("'{value}' for {name}: expected a number from 0 on"))
                })?;
            }
            Field::Flag(flag) => {
                *flag = match value {
                    "yes" => true,
                    "no" => false,
                    _ => {
                        return Err(Error::new(format!(
                            "'{value}' for {name}: expected yes or no"
                        )));
                    }
                };
            }
        }
        Ok(())
    }

    /// The text form.
    pub fn write(&self) -> String {
        let mut machine = self.clone();
        let mut text = String::new();
        for entry in &ENTRIES {
            let value = match (entry.field)(&mut machine) {
                Field::Time(time) => shown(*time).replace(' ', ""),
                Field::Bandwidth(kib) => {
                    let gigabits = 8192.0 * SECOND as f64 / (*kib).max(1) as f64 / 1e9;
                    format!("{gigabits:.4}Gbit/s")
                }
                Field::Count(count) => count.to_string(),
                Field::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            };
            text += &format!("{:18} {value:14} # {}\n", entry.name, entry.what);
        }
        text
    }
}

/// A number and its unit.
fn split(word: &str) -> Option<(f64, &str)> {
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let number: f64 = word[..end].parse().ok()?;
    Some((number, &word[end..]))
}

/// The longest time of a model: an hour. Sums of many of them still fit.
const MAX_TIME: f64 = 3600.0 * SECOND as f64;

/// A time with its unit, as `1.5us`.
pub fn read_time(word: &str) -> Result<Time, Error> {
    let expected = || {
        Error::new(format!(
            "'{word}': expected a time with its unit (ns, us, ms or s), as 1.5us, of at most an hour"
        ))
    };
    let (number, unit) = split(word).ok_or_else(expected)?;
    let unit = match unit {
        "ps" => 1,
        "ns" => NS,
        "us" | "µs" => US,
        "ms" => MS,
        "s" => SECOND,
        _ => return Err(expected()),
    };
    let time = number * unit as f64;
    if time > MAX_TIME { Err(expected()) } else { Ok(time.round() as Time) }
}

/// A bandwidth with its unit, as `25Gbit/s`: bytes a second.
pub fn read_bandwidth(word: &str) -> Result<f64, Error> {
    let expected = || {
        Error::new(format!(
            "'{word}': expected a bandwidth from 1kB/s to 100TB/s with its unit (Mbit/s, Gbit/s, MB/s or GB/s), as 25Gbit/s"
        ))
    };
    let (number, unit) = split(word).ok_or_else(expected)?;
    let unit = match unit {
        "kbit/s" => 1e3 / 8.0,
        "Mbit/s" => 1e6 / 8.0,
        "Gbit/s" => 1e9 / 8.0,
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        "TB/s" => 1e12,
        _ => return Err(expected()),
    };
    let bandwidth = number * unit;
    if (1e3..=1e14).contains(&bandwidth) { Ok(bandwidth) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_written_is_read_again() {
        let mut machine = Machine::default();
        machine.set("network.latency", "13.25us").expect("a time");
        machine.set("host.single-copy", "no").expect("a flag");
        machine.set("host.processors", "2").expect("a count");
        let read = Machine::read(&machine.write()).expect("its own form");
        assert_eq!(read.network.latency, 13_250 * NS);
        assert_eq!((read.single_copy, read.processors), (false, 2));
        assert_eq!(read.write(), machine.write());
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, expected) in [
            ("latency 5us", "line 1: 'latency' is no number of a machine"),
            ("\nnetwork.latency 5", "line 2: '5': expected a time with its unit"),
            ("network.latency 5 us", "expected a name and a value"),
            ("network.latency -5us", "'-5us': expected a time"),
            ("network.latency 2e9s", "expected a time"),
            ("network.latency 99999s", "of at most an hour"),
            ("network.bandwidth 0Gbit/s", "expected a bandwidth"),
            ("network.bandwidth 5parsec", "expected a bandwidth"),
            ("host.processors many", "expected a number from 0 on"),
            ("host.single-copy maybe", "expected yes or no"),
            ("host.gap 1ns\nhost.gap 2ns", "line 2: 'host.gap' is there already"),
        ] {
            let error = Machine::read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn bandwidths_become_times() {
        let kib = kib_of(read_bandwidth("8Gbit/s").expect("one"));
        assert_eq!(Way { kib, ..Machine::default().network }.bytes(1_000_000), MS);
    }
}
