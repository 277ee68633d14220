//! The file that says which hosts a virtual machine has, and what a line of it says: that of PVM's daemon (`pvmd3(1)`).
//!
//! `pvm_addhosts` takes the same lines.

use crate::protocol::Start;

/// What may stand behind a host's name. `None`: nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `lo=`: by which name one logs in there.
    pub login: Option<String>,
    /// `ip=`: by which name the host is reached.
    pub address: Option<String>,
    /// `ep=`: where programs are searched before all other folders, separated by colons.
    pub folders: Option<String>,
    /// `wd=`: where tasks work.
    pub working: Option<String>,
    /// `sp=`: what `pvm_config` says of its speed.
    pub speed: Option<i32>,
}

/// A host, as a line says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `*` for all hosts of which nothing else was said.
    pub name: String,
    pub options: Options,
}

/// A hostfile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hostfile {
    /// Hosts that are to be added.
    pub hosts: Vec<Line>,
    /// Those that only options are known of (`&`), and the last of the lines for all others (`*`).
    pub known: Vec<Line>,
}

/// PVM's words of a speed.
const SPEEDS: std::ops::RangeInclusive<i32> = 1..=1_000_000;

/// For all hosts.
pub const ALL: &str = "*";

/// Whether the name is that of whoever says it.
pub fn is_here(name: &str) -> bool {
    matches!(name, "." | "localhost")
}

impl Options {
    /// # Errors
    /// An option that there is not, or that cannot be had, with a reason.
    fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Result<Options, String> {
        let mut options = Options::default();
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let text = || {
                let text = Some(value.to_owned()).filter(|text| !text.is_empty());
                text.ok_or_else(|| format!("'{word}': expected {name}=VALUE"))
            };
            match name {
                "lo" => options.login = Some(text()?),
                "ip" => options.address = Some(text()?),
                "ep" => options.folders = Some(text()?),
                "wd" => options.working = Some(text()?),
                "sp" => {
                    let speed = value.parse().ok().filter(|speed| SPEEDS.contains(speed));
                    options.speed = Some(speed.ok_or_else(|| {
                        format!("'{word}': expected a number from 1 to {}", SPEEDS.end())
                    })?);
                }
                // PVM's daemon, its debugger, and the name of the virtual machine there: nothing of them is here.
                "dx" | "bx" | "id" => drop(text()?),
                "so" => {
                    return Err(format!(
                        "'{word}': hosts are reached as ssh reaches them without a password, not otherwise"
                    ));
                }
                _ => {
                    return Err(format!(
                        "'{word}': expected an option of a hostfile (lo, ip, ep, wd, sp, dx, bx or id, and =VALUE)"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Where nothing is said, what `others` say.
    pub fn or(self, others: &Options) -> Options {
        Options {
            login: self.login.or_else(|| others.login.clone()),
            address: self.address.or_else(|| others.address.clone()),
            folders: self.folders.or_else(|| others.folders.clone()),
            working: self.working.or_else(|| others.working.clone()),
            speed: self.speed.or(others.speed),
        }
    }

    /// How the host of the name is reached: a word of ssh's command.
    pub fn reached(&self, name: &str) -> String {
        let address = self.address.as_deref().unwrap_or(name);
        match &self.login {
            Some(login) => format!("{login}@{address}"),
            None => address.to_owned(),
        }
    }

    /// A task of this host.
    pub fn apply(&self, start: &mut Start) {
        if let Some(folders) = &self.folders {
            let own = folders.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned);
            start.host_folders = own.collect();
        }
        start.working = self.working.clone().unwrap_or_default();
    }
}

impl Line {
    /// A name, and options behind it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Line, String> {
        let mut words = text.split_ascii_whitespace();
        let name = words.next().ok_or("expected the name of a host")?.to_owned();
        Ok(Line { name, options: Options::parse(words)? })
    }

    /// The line as it is written.
    pub fn text(&self) -> String {
        let Options { login, address, folders, working, speed } = &self.options;
        let speed = speed.map(|speed| speed.to_string());
        let values =
            [("lo", login), ("ip", address), ("ep", folders), ("wd", working), ("sp", &speed)];
        values.iter().fold(self.name.clone(), |line, (name, value)| match value {
            Some(value) => format!("{line} {name}={value}"),
            None => line,
        })
    }
}

impl Hostfile {
    /// # Errors
    /// What is wrong, with the number of the line.
    pub fn parse(text: &str) -> Result<Hostfile, String> {
        let mut file = Hostfile::default();
        let mut all = Options::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |cause| format!("line {number}: {cause}");
            if let Some(options) = line.strip_prefix(ALL) {
                all = Options::parse(options.split_ascii_whitespace()).map_err(wrong)?;
                continue;
            }
            let (line, add) = match line.strip_prefix('&') {
                Some(rest) => (rest, false),
                None => (line, true),
            };
            let Line { name, options } = Line::parse(line).map_err(wrong)?;
            let line = Line { name, options: options.or(&all) };
            if add { &mut file.hosts } else { &mut file.known }.push(line);
        }
        if all != Options::default() {
            file.known.push(Line { name: ALL.to_owned(), options: all });
        }
        Ok(file)
    }

    /// The lines of which only the options are new where hosts of these names are, the lines of hosts to be added, each as it is written.
    pub fn split(self, there: &[String]) -> (Vec<String>, Vec<String>) {
        let known = self.known.iter().map(Line::text);
        let (old, new): (Vec<_>, Vec<_>) =
            self.hosts.iter().partition(|line| is_here(&line.name) || there.contains(&line.name));
        let old = old.into_iter().map(Line::text);
        (known.chain(old).collect(), new.into_iter().map(Line::text).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_pvms_daemon() {
        let text = "# comment\n\n  thud\nfred lo=me ep=/a:$HOME/b wd=/w sp=2000 dx=/usr/pvmd bx=/d id=x\n* ep=/all lo=you\n\
                    wilma wd=/v\n&barney ip=barney-fast\n";
        let file = Hostfile::parse(text).expect("right");
        let lines: Vec<_> = file.hosts.iter().map(Line::text).collect();
        let fred = "fred lo=me ep=/a:$HOME/b wd=/w sp=2000";
        assert_eq!(lines, ["thud", fred, "wilma lo=you ep=/all wd=/v"]);
        let known: Vec<_> = file.known.iter().map(Line::text).collect();
        assert_eq!(known, ["barney lo=you ip=barney-fast ep=/all", "* lo=you ep=/all"]);
        assert_eq!(file.hosts[1].options.reached("fred"), "me@fred");
        let options = &file.known[0].options;
        assert_eq!(options.reached("barney"), "you@barney-fast");
        let (known, new) = file.split(&["wilma".to_owned()]);
        assert_eq!(known.len(), 3);
        assert_eq!(new, ["thud", fred]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["a", "a lo=b ip=c ep=d:e wd=f sp=7", "* sp=1"] {
            assert_eq!(Line::parse(text).map(|line| line.text()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("a\nb so=pw", "line 2: 'so=pw': hosts are reached"),
            ("a sp=0", "line 1: 'sp=0': expected a number from 1 to 1000000"),
            ("a ep=", "line 1: 'ep=': expected ep=VALUE"),
            ("a\n\n* xx=1", "line 3: 'xx=1': expected an option"),
            ("a b", "line 1: 'b': expected an option"),
            ("&", "line 1: expected the name"),
        ] {
            let wrong = Hostfile::parse(text).expect_err(text);
            assert!(wrong.starts_with(says), "{wrong}");
        }
    }

    #[test]
    fn a_task_is_searched_and_works_where_its_host_says() {
        let mut start = Start { folders: vec!["/bin".into()], ..Start::default() };
        let line = Line::parse("a ep=/x:$HOME/y wd=/w").expect("right");
        line.options.apply(&mut start);
        assert_eq!(start.host_folders, ["/x", "$HOME/y"]);
        assert_eq!(start.folders, ["/bin"]);
        assert_eq!(start.working, "/w");
    }
}
