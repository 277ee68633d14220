//! Who is in the job: ranks, hosts, key exchange (PMI), liveness.
