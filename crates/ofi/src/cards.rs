//! Cards that speak to other hosts without the kernel: InfiniBand, RoCE and iWARP, EFA and Omni-Path, which the kernel lists
//! as `infiniband`, and Slingshot, which it lists as `cxi`.

use std::fs;
use std::path::Path;

/// Providers that drive such cards, the preferred first: those of one maker's cards before what drives most of them.
pub(crate) const PROVIDERS: &[&str] = &["efa", "cxi", "psm2", "opx", "verbs;ofi_rxm"];
/// The provider that drives a card of any maker; its domains have the cards' names.
const OF_ANY_MAKER: &str = "verbs;ofi_rxm";

/// The names of this host's cards with a port that is up. Devices that are made of software (Soft-RoCE, `siw`) are none: they
/// send by the kernel's network, which is faster when it is used directly.
pub fn cards() -> Vec<String> {
    cards_below(Path::new("/sys/class"))
}

fn cards_below(class: &Path) -> Vec<String> {
    let list = |kind: &str| {
        let entries = fs::read_dir(class.join(kind)).into_iter().flatten().flatten();
        // Only what hangs on a bus has this.
        entries.map(|entry| entry.path()).filter(|card| card.join("device").exists())
    };
    let is_up = |card: &std::path::PathBuf| {
        let ports = fs::read_dir(card.join("ports")).into_iter().flatten().flatten();
        let mut states = ports.filter_map(|p| fs::read_to_string(p.path().join("state")).ok());
        // `4: ACTIVE`, as `ibv_port_state` has it.
        states.any(|state| state.starts_with("4:"))
    };
    let found = list("infiniband").filter(is_up).chain(list("cxi"));
    let mut names: Vec<_> =
        found.filter_map(|card| Some(card.file_name()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// The rank of a provider among those that drive one of these cards, the best first; `None`: it drives none of them.
pub(crate) fn preference(cards: &[String], provider: &str, domain: &str) -> Option<usize> {
    if cards.is_empty() {
        return None;
    }
    let is_card = || cards.iter().any(|card| card == domain);
    let place = PROVIDERS.iter().position(|known| *known == provider)?;
    (provider != OF_ANY_MAKER || is_card()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn cards_hang_on_a_bus_and_have_a_port_that_is_up() {
        let class = std::env::temp_dir().join(format!("hpvm-ofi-cards-{}", std::process::id()));
        assert!(cards_below(&class).is_empty());
        for (card, bus, state) in [
            ("infiniband/mlx5_0", true, "4: ACTIVE\n"),
            ("infiniband/mlx5_1", true, "1: DOWN\n"),
            ("infiniband/rxe0", false, "4: ACTIVE\n"),
            ("cxi/cxi0", true, ""),
        ] {
            file(&class.join(card).join("ports/1/state"), state);
            if bus {
                file(&class.join(card).join("device/vendor"), "0x15b3\n");
            }
        }
        let found = cards_below(&class);
        fs::remove_dir_all(&class).expect("our folder");
        assert_eq!(found, ["cxi0", "mlx5_0"]);
    }

    #[test]
    fn the_makers_own_provider_comes_first() {
        let cards = ["mlx5_0".to_owned()];
        let verbs = preference(&cards, "verbs;ofi_rxm", "mlx5_0").expect("its card");
        assert!(preference(&cards, "efa", "efa_0-rdm").expect("a card's provider") < verbs);
        assert_eq!(preference(&cards, "verbs;ofi_rxm", "rxe0"), None);
        assert_eq!(preference(&cards, "tcp;ofi_rxm", "mlx5_0"), None);
        assert_eq!(preference(&[], "verbs;ofi_rxm", "mlx5_0"), None);
        assert_eq!(preference(&[], "efa", "efa_0-rdm"), None);
    }
}
