//! What a benchmark prints at its end.

/// Of the closing lines, what is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub seconds: f64,
    pub mops: f64,
    pub verified: bool,
}

/// Reads "Time in seconds = ", "Mop/s total = " and "Verification = "; the error says which is missing.
pub fn read(text: &str) -> Result<Found, String> {
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let number = |name: &str| {
        let value = field(name).ok_or_else(|| format!("no line '{name} ='"))?;
        value.parse::<f64>().map_err(|_| format!("'{value}' is no number after '{name} ='"))
    };
    let verification = field("Verification").ok_or("no line 'Verification ='")?;
    Ok(Found {
        seconds: number("Time in seconds")?,
        mops: number("Mop/s total")?,
        verified: verification == "SUCCESSFUL",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = " EP Benchmark Completed.\n Class           =                        S\n \
        Time in seconds =                     0.54\n Total processes =                        2\n \
        Mop/s total     =                    62.13\n Mop/s/process   =                    31.07\n \
        Verification    =               SUCCESSFUL\n";

    #[test]
    fn the_closing_lines_are_read() {
        assert_eq!(read(END), Ok(Found { seconds: 0.54, mops: 62.13, verified: true }));
        let wrong = END.replace("SUCCESSFUL", "UNSUCCESSFUL");
        assert!(!read(&wrong).unwrap().verified);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(read("").unwrap_err().contains("Verification"));
        assert!(read(&END.replace("Mop/s total", "x")).unwrap_err().contains("Mop/s total"));
        assert!(read(&END.replace("0.54", "****")).unwrap_err().contains("****"));
    }
}
