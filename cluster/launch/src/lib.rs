//! Starts ranks on hosts, forwards signals and output, cleans up.
