//! Which rank is at which site, as text that the launcher tells all ranks.

/// The key of that text in the process manager's key space.
pub const SITES_KEY: &str = "hpvm-sites";
/// The key under which the card of a site's gateway stands, followed by the number of the site.
pub const GATEWAY_KEY: &str = "hpvm-gateway-";
/// The key under which a rank tells where it can be reached, followed by its number.
pub const CARD_KEY: &str = "hpvm-net-";

/// The variable that tells a rank the name of its host's door to the launcher and what the host is called in the job, `DOOR,HOST`.
pub const DOOR: &str = "HPVM_DOOR";

/// The socket of the door of this name, in the kernel's abstract name space.
pub fn door_socket(name: &str) -> String {
    format!("hpvm-door-{name}")
}

/// Longest name of a site.
const NAME: usize = 32;
/// More sites are a mistake.
const MAX_SITES: usize = 1024;
/// More ranks no launcher starts.
const RANKS: usize = 4_194_304;

/// The sites of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    pub names: Vec<String>,
    /// For each rank the number of its site.
    pub ranks: Vec<u16>,
}

/// Whether a word can be the name of a site.
pub fn is_name(word: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NAME).contains(&word.len()) && word.bytes().all(fits)
}

impl Sites {
    /// `NAME,NAME;SITExRANKS,SITExRANKS`: ranks in order, each run at one site.
    pub fn text(&self) -> String {
        let runs: Vec<String> = self
            .ranks
            .chunk_by(|a, b| a == b)
            .map(|run| format!("{}x{}", run[0], run.len()))
            .collect();
        format!("{};{}", self.names.join(","), runs.join(","))
    }

    /// Reads what [`Sites::text`] has written, for a job of `size` ranks.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(text: &str, size: usize) -> Result<Sites, String> {
        let bad = |what: &str| {
            format!("{what} in the list of sites {:?}", text.chars().take(80).collect::<String>())
        };
        let (names, runs) = text.split_once(';').ok_or_else(|| bad("no ';'"))?;
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        if names.len() > MAX_SITES || !names.iter().all(|name| is_name(name)) {
            return Err(bad("something else than names"));
        }
        let mut ranks = Vec::new();
        for run in runs.split(',') {
            let parsed = run
                .split_once('x')
                .and_then(|(site, count)| Some((site.parse().ok()?, count.parse().ok()?)));
            let (site, count): (u16, usize) =
                parsed.ok_or_else(|| bad("something else than SITExRANKS"))?;
            if usize::from(site) >= names.len() || count > RANKS || ranks.len() + count > size {
                return Err(bad("a number that is too large"));
            }
            ranks.resize(ranks.len() + count, site);
        }
        if ranks.len() != size {
            return Err(bad(&format!("{} ranks of {size}", ranks.len())));
        }
        Ok(Sites { names, ranks })
    }

    /// The site of a rank; none for a rank that there is not.
    pub fn of(&self, rank: u32) -> Option<u16> {
        self.ranks.get(rank as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        let sites = Sites { names: vec!["A".into(), "b-2".into()], ranks: vec![0, 0, 1, 1, 1, 0] };
        assert_eq!(sites.text(), "A,b-2;0x2,1x3,0x1");
        assert_eq!(Sites::parse(&sites.text(), 6), Ok(sites));
    }

    #[test]
    fn garbage_is_named() {
        for text in [
            "",
            "A",
            "A;",
            "A;0",
            "A;1x2",
            "A;0x1",
            "A;0x3",
            "A;0x99999999999",
            "a b;0x2",
            ",;0x2",
            "A;0x-2",
        ] {
            assert!(Sites::parse(text, 2).unwrap_err().contains("list of sites"), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "[A-C,;x0-9]{0,24}") {
            if let Ok(sites) = Sites::parse(&text, 5) {
                assert_eq!(Sites::parse(&sites.text(), 5), Ok(sites));
            }
        }
    }
}
