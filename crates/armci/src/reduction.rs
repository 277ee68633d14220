//! The operations of `armci_msg_*gop`, which programs name by text.

/// What becomes of the elements of all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Sum,
    Product,
    Min,
    Max,
    /// The least of the absolute values.
    AbsMin,
    /// The greatest of the absolute values.
    AbsMax,
    BitOr,
    BitAnd,
    LogicalOr,
    LogicalAnd,
}

/// Names, and what they mean.
const NAMES: [(&str, Reduction); 15] = [
    ("+", Reduction::Sum),
    ("*", Reduction::Product),
    ("min", Reduction::Min),
    ("max", Reduction::Max),
    ("absmin", Reduction::AbsMin),
    ("absmax", Reduction::AbsMax),
    ("or", Reduction::BitOr),
    ("|", Reduction::BitOr),
    ("bor", Reduction::BitOr),
    ("&", Reduction::BitAnd),
    ("band", Reduction::BitAnd),
    ("||", Reduction::LogicalOr),
    ("lor", Reduction::LogicalOr),
    ("&&", Reduction::LogicalAnd),
    ("land", Reduction::LogicalAnd),
];

impl Reduction {
    /// By its name, which programs of Fortran leave blanks behind.
    ///
    /// # Errors
    /// Has the name and what was expected.
    pub fn from_name(name: &str) -> Result<Reduction, String> {
        let wanted = name.trim_end();
        let found = NAMES.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, reduction)| *reduction).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("operation '{name}'; expected one of {}", names.join(" "))
        })
    }

    /// Whether numbers with a fraction have the operation.
    pub fn is_for_fractions(self) -> bool {
        use Reduction::*;
        matches!(self, Sum | Product | Min | Max | AbsMin | AbsMax)
    }
}

#[cfg(test)]
mod tests {
    use super::Reduction;

    #[test]
    fn names() {
        assert_eq!(Reduction::from_name("+"), Ok(Reduction::Sum));
        assert_eq!(Reduction::from_name("absmax "), Ok(Reduction::AbsMax));
        assert_eq!(Reduction::from_name("&&"), Ok(Reduction::LogicalAnd));
        let error = Reduction::from_name("maximum").expect_err("unknown");
        assert!(error.contains("operation 'maximum'; expected one of + * min"), "{error}");
        assert!(!Reduction::BitOr.is_for_fractions() && Reduction::AbsMin.is_for_fractions());
    }
}
