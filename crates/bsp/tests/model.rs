//! Random programs on virtual processes, beside a sequential model of what supersteps mean.

mod machine;
mod script;

use machine::run;
use proptest::prelude::*;
use script::{Model, Step, program};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// After every superstep all memory, all queues and all sizes of tags are as in the model.
    #[test]
    fn as_the_model(
        processes in 1usize..5,
        large in 1usize..40,
        in_place in any::<bool>(),
        steps in program(),
    ) {
        let steps: Vec<Step> = steps;
        let model = Model::new(processes).run(&steps);
        let machine = run(processes, large, in_place, &steps);
        for (superstep, (found, expected)) in machine.iter().zip(&model).enumerate() {
            prop_assert_eq!(found, expected, "superstep {}", superstep);
        }
        prop_assert_eq!(machine.len(), model.len());
    }
}

/// `HPVM_SEEDS` as for the other model tests.
fn cases() -> u32 {
    std::env::var("HPVM_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}
