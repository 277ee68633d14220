//! Every byte layout: packets, control blocks, bootstrap messages.
