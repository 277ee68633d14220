//! Collective algorithms as schedules, one file each.
