//! Which processes may read this one's memory, where the kernel wants that declared.
//!
//! Cross-memory attach is allowed to whoever may trace a process. Where Yama restricts tracing
//! (`kernel.yama.ptrace_scope` is 1, the default of some distributions), a process may be traced by its
//! ancestors, and by one further process that it names, with the descendants of that one. The ranks of a host
//! are siblings, so each names the closest ancestor that all of them have in common: as a rule the launcher or
//! its agent. Only between attaching and settling, while the ranks do not know each other yet, any
//! process of the user may. Where Yama restricts nothing or forbids all tracing, nothing is declared, and
//! neither is it by a rank that has nobody to be read by.

/// `PR_SET_PTRACER` of prctl: 0 for nobody, all ones for any process.
const SET_PTRACER: libc::c_int = 0x5961_6d61;
/// Ancestors that are looked at; more are taken for a circle.
const MAX_ANCESTORS: usize = 1000;

/// Yama asks for a declaration.
pub(crate) fn is_needed() -> bool {
    std::fs::read("/proc/sys/kernel/yama/ptrace_scope")
        .is_ok_and(|scope| scope.trim_ascii() == b"1")
}

/// Any process of the user may trace us: until the ranks know each other.
pub(crate) fn allow_any() {
    declare(libc::c_ulong::MAX);
}

/// Nobody may trace us but our ancestors.
pub(crate) fn allow_nobody() {
    declare(0);
}

/// The `ranks` (processes) of our host may trace us, and what else descends from their closest common
/// ancestor. Where the kernel can't be told that, because they have none but the first process, any may.
pub(crate) fn allow_ranks(ranks: impl Iterator<Item = u32>) {
    let ancestor = common_ancestor(std::process::id(), ranks, hpvm_os::process::parent);
    declare(ancestor.map_or(libc::c_ulong::MAX, libc::c_ulong::from));
}

fn declare(who: libc::c_ulong) {
    // SAFETY: prctl with integers only. A failure leaves cross-memory attach refused, which is noticed when it
    // is tried.
    unsafe { libc::prctl(SET_PTRACER, who, 0, 0, 0) };
}

/// The closest process that `me` and all `others` descend from, or are; `None` for the first of all.
fn common_ancestor(
    me: u32,
    others: impl Iterator<Item = u32>,
    parent: impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    let line =
        |of: u32| core::iter::successors(Some(of), |child| parent(*child)).take(MAX_ANCESTORS);
    let ours: Vec<u32> = line(me).collect();
    let mut shared = 0;
    for other in others {
        let met = line(other).find_map(|ancestor| ours.iter().position(|own| *own == ancestor))?;
        shared = shared.max(met);
    }
    ours.get(shared).copied().filter(|pid| *pid > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 is the parent of 10 and 20; 10 is the launcher of 11, 12 and a shell, 13, with a rank, 14.
    fn tree(pid: u32) -> Option<u32> {
        [(10, 1), (20, 1), (11, 10), (12, 10), (13, 10), (14, 13)]
            .into_iter()
            .find_map(|(child, parent)| (child == pid).then_some(parent))
    }

    #[test]
    fn the_closest_common_ancestor_is_named() {
        let ancestor = |me, others: &[u32]| common_ancestor(me, others.iter().copied(), tree);
        assert_eq!(ancestor(11, &[11, 12]), Some(10));
        assert_eq!(ancestor(14, &[11, 14]), Some(10));
        assert_eq!(ancestor(11, &[14]), Some(10));
        assert_eq!(ancestor(13, &[14]), Some(13), "one started the other");
        assert_eq!(ancestor(14, &[13]), Some(13));
        assert_eq!(ancestor(11, &[20]), None, "nothing in common but the first process");
        assert_eq!(ancestor(11, &[99]), None, "of another namespace");
        assert_eq!(ancestor(11, &[]), Some(11));
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let circle = |pid| Some(if pid == 5 { 6 } else { 5 });
        assert_eq!(common_ancestor(7, [9].into_iter(), circle), Some(5));
        let apart = |pid| Some(if pid < 10 { 5 } else { 15 });
        assert_eq!(common_ancestor(7, [17].into_iter(), apart), None);
    }

    #[test]
    fn the_kernel_tells_parents() {
        assert_eq!(
            hpvm_os::process::parent(std::process::id()),
            Some(std::os::unix::process::parent_id())
        );
        assert_eq!(hpvm_os::process::parent(u32::MAX), None);
    }
}
