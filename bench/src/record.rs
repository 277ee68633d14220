//! The lines that `hpvmbench` and `hpvmfloor` print.

use serde::{Deserialize, Serialize};

/// One point of one curve, as rank 0 printed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The measurement: `latency`, `bandwidth`, `barrier`...
    pub mode: String,
    /// Ranks in the job; 1 where the program has no notion of it.
    #[serde(default = "one")]
    pub ranks: u32,
    /// Bytes of a message; for `wakeup` the pause in microseconds.
    pub size: u64,
    /// `us`, `MB/s` (10^6 bytes) or `M/s` (10^6 messages).
    pub unit: String,
    /// Over the batches of one run.
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Repetitions in a batch, and batches.
    pub iters: u64,
    pub batches: u32,
    /// `wakeup`: the share of a processor that the waiting rank used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// `datatype`: what was done (`pack`, `unpack`, `to contiguous`, `to typed`) to which type. `rma`: the operation, and
    /// how the window was made (`allocate`, `create`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// `datatype`: throughput as a fraction of that of memcpy of as many bytes in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memcpy_share: Option<f64>,
    /// Every batch, where the program was asked for them (`--raw`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

/// The first line of a run: which library answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub library: String,
    pub standard: String,
    pub ranks: u32,
    pub host: String,
    pub window: u32,
}

/// A line of output, understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    Header(Header),
    Point(Record),
}

fn one() -> u32 {
    1
}

/// Reads one line; the error says what is wrong with it.
pub fn parse(line: &str) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct Mode {
        mode: String,
    }
    let text = |e: serde_json::Error| e.to_string();
    let Mode { mode } = serde_json::from_str(line).map_err(text)?;
    if mode == "header" {
        return Ok(Line::Header(serde_json::from_str(line).map_err(text)?));
    }
    let record: Record = serde_json::from_str(line).map_err(text)?;
    let values = [record.median, record.min, record.max];
    if record.samples.iter().chain(&values).any(|v| !v.is_finite()) || record.min > record.max {
        return Err("median, min and max contradict each other".into());
    }
    Ok(Line::Point(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_point_and_a_header() {
        let line = r#"{"mode":"latency","ranks":2,"size":8,"unit":"us","median":0.2,"min":0.1,"max":1,"iters":5,"batches":7}"#;
        let Ok(Line::Point(p)) = parse(line) else { panic!("not a point") };
        assert_eq!((p.mode.as_str(), p.size, p.median, p.batches), ("latency", 8, 0.2, 7));
        assert_eq!(p.cpu_share, None);
        let line = r#"{"mode":"header","library":"X 1","standard":"5.0","ranks":2,"host":"h","window":64}"#;
        assert!(matches!(parse(line), Ok(Line::Header(h)) if h.library == "X 1"));
    }

    #[test]
    fn ranks_default_to_one() {
        let line = r#"{"mode":"flag","size":8,"unit":"us","median":0.2,"min":0.1,"max":1,"iters":5,"batches":7}"#;
        assert!(matches!(parse(line), Ok(Line::Point(p)) if p.ranks == 1));
    }

    #[test]
    fn refuses_what_is_no_result() {
        assert!(parse("Warning: something").is_err());
        assert!(parse(r#"{"mode":"latency"}"#).is_err());
        let upside_down = r#"{"mode":"latency","ranks":2,"size":8,"unit":"us","median":0.2,"min":2,"max":1,"iters":5,"batches":7}"#;
        assert!(parse(upside_down).is_err());
    }
}
