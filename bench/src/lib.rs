//! Benchmarks, the comparison with peers, the evaluation report.
