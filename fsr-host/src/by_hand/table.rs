//! What a host file that is started by hand prints.

use fsr_protocol::{BufferInfo, CaseInfo, Comparison, DeviceFacts, EntryResources, RedzoneHit};

use super::Shown;

/// How a case went.
pub(crate) enum Verdict {
    Right,
    /// Why, in words.
    Wrong(String),
    /// The launch was refused.
    Refused(String),
}

/// One line of the table.
pub(crate) struct Row {
    name: String,
    buffers: Vec<BufferInfo>,
    work_bytes: u64,
    copy_bandwidth: f64,
    modelled: bool,
    pub(crate) verdict: Verdict,
    max_rel: f64,
    /// Timed launches.
    pub(crate) nanos: Vec<f64>,
}

impl Row {
    pub(crate) fn new(case: &CaseInfo, facts: &DeviceFacts) -> Self {
        Self {
            name: case.name.clone(),
            buffers: case.buffers.clone(),
            work_bytes: case.work_bytes,
            copy_bandwidth: facts.copy_bandwidth,
            modelled: facts.modelled,
            verdict: Verdict::Right,
            max_rel: 0.0,
            nanos: Vec::new(),
        }
    }

    /// Takes in what one launch showed.
    pub(crate) fn add(&mut self, Shown { redzone, comparison, .. }: &Shown) {
        for output in &comparison.outputs {
            self.max_rel = self.max_rel.max(output.max_rel);
        }
        if !matches!(self.verdict, Verdict::Right) {
            return;
        }
        if let Some(RedzoneHit { buffer, before, distance, .. }) = redzone {
            let side = if *before { "before" } else { "behind" };
            let why = format!("a write outside of buffer `{buffer}`, {distance} bytes {side} it");
            self.verdict = Verdict::Wrong(why);
        } else if !comparison.is_match() {
            self.verdict = Verdict::Wrong(self.what_is_wrong(comparison));
        }
    }

    fn what_is_wrong(&self, comparison: &Comparison) -> String {
        if let Some(input) = comparison.changed_inputs.first() {
            return format!("input `{input}` is changed");
        }
        let Some(output) = comparison.outputs.iter().find(|output| output.mismatches > 0) else {
            return "mismatch".to_owned();
        };
        let mut words = format!("`{}`: {} of {} elements", output.buffer, output.mismatches, output.elements);
        if !output.pattern.is_empty() {
            words.push_str(&format!(", {}", output.pattern));
        }
        if output.untouched > 0 {
            words.push_str(&format!(", {} never written", output.untouched));
        }
        if let Some(first) = output.first.first() {
            words.push_str(&format!(
                "; first at {:?}: {}, expected {}",
                first.index, first.got, first.expected
            ));
        }
        if let Some(buffer) = self.buffers.iter().find(|buffer| buffer.name == output.buffer) {
            words.push_str(&format!(" ({} of shape {:?})", buffer.dtype, buffer.shape));
        }
        words
    }

    fn line(&self) -> String {
        let verdict = match &self.verdict {
            Verdict::Right => "right".to_owned(),
            Verdict::Wrong(_) => "WRONG".to_owned(),
            Verdict::Refused(_) => "REFUSED".to_owned(),
        };
        let mut line = format!("{:<32} {verdict:<8} {:>9}", self.name, error(self.max_rel));
        if let Some((low, median, high)) = quartiles(&self.nanos) {
            let rate = self.work_bytes as f64 / median;
            let modelled = if self.modelled { " modelled" } else { "" };
            line.push_str(&format!(
                " {:>10.4} {:>8.4}..{:<8.4} {rate:>8.1}{modelled}",
                median / 1e6,
                low / 1e6,
                high / 1e6
            ));
            if self.copy_bandwidth > 0.0 {
                line.push_str(&format!(" {:>5.1} %", 100.0 * rate * 1e9 / self.copy_bandwidth));
            }
        }
        line
    }
}

fn error(relative: f64) -> String {
    if relative == f64::MAX { "-".to_owned() } else { format!("{relative:.1e}") }
}

/// Lower quartile, median and upper quartile.
fn quartiles(nanos: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = nanos.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (!sorted.is_empty()).then(|| (at(0.25), at(0.5), at(0.75)))
}

pub(crate) fn print_device(kernel: &str, facts: &DeviceFacts) {
    let (major, minor) = facts.compute_capability;
    let copies = facts.copy_bandwidth / 1e9;
    println!("{kernel} on {} (compute capability {major}.{minor}, copies at {copies:.0} GB/s)", facts.name);
}

pub(crate) fn print_resources(entries: &[EntryResources], writable_globals: &[String]) {
    for EntryResources { entry, registers, local_bytes, shared_bytes, max_threads } in entries {
        println!(
            "{entry}: {registers} registers, {local_bytes} bytes of local and {shared_bytes} of static shared memory, \
             blocks of up to {max_threads} threads"
        );
    }
    if !writable_globals.is_empty() {
        eprintln!(
            "warning: writable module variables, which `cargo fsr` refuses: {}",
            writable_globals.join(", ")
        );
    }
}

pub(crate) fn print_head() {
    println!(
        "\n{:<32} {:<8} {:>9} {:>10} {:>18} {:>8} of copies",
        "case", "verdict", "error", "median ms", "quartiles", "GB/s"
    );
}

pub(crate) fn print_row(row: &Row) {
    println!("{}", row.line());
    match &row.verdict {
        Verdict::Right => {}
        Verdict::Wrong(why) | Verdict::Refused(why) => println!("  {why}"),
    }
}

#[cfg(test)]
mod tests {
    use fsr_protocol::{BufferRole, Dtype, Mismatch, OutputComparison, Tolerance};

    use super::*;

    fn row() -> Row {
        let facts = DeviceFacts {
            name: "NVIDIA H200".into(),
            compute_capability: (9, 0),
            driver: 13000,
            multiprocessors: 132,
            memory_bytes: 0,
            l2_bytes: 0,
            shared_per_multiprocessor: 0,
            shared_per_block_optin: 0,
            registers_per_multiprocessor: 0,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: 2048,
            clock_khz: 0,
            memory_clock_khz: 0,
            bus_bits: 0,
            copy_bandwidth: 4e12,
            modelled: false,
        };
        let case = CaseInfo {
            name: "rows=8192 cols=8192".into(),
            dims: vec![("rows".into(), 8192), ("cols".into(), 8192)],
            timed: true,
            drawn: false,
            buffers: vec![BufferInfo {
                name: "output".into(),
                role: BufferRole::Output,
                dtype: Dtype::F32,
                shape: vec![8192, 8192],
            }],
            work_bytes: 2 * 4 * 8192 * 8192,
            work_flops: 0,
        };
        Row::new(&case, &facts)
    }

    fn shown(mismatches: u64) -> Shown {
        let comparison = Comparison {
            outputs: vec![OutputComparison {
                buffer: "output".into(),
                elements: 67_108_864,
                mismatches,
                untouched: mismatches,
                max_abs: 0.0,
                max_rel: if mismatches > 0 { f64::MAX } else { 2.5e-7 },
                tolerance: Tolerance { rtol: 3e-5, atol: 0.0 },
                expected_mean: 0.0,
                first: vec![Mismatch { index: vec![8190, 0], expected: "1.5".into(), got: "NaN".into() }],
                pattern: "exactly the last 2 rows".into(),
            }],
            changed_inputs: vec![],
        };
        Shown { nanos: 0.0, redzone: None, comparison }
    }

    #[test]
    fn a_right_case_shows_time_and_bandwidth() {
        let mut row = row();
        row.add(&shown(0));
        row.nanos = vec![150_000.0, 140_000.0, 141_000.0, 139_000.0, 142_000.0];
        insta::assert_snapshot!(row.line(), @"rows=8192 cols=8192              right       2.5e-7     0.1410   0.1400..0.1420     3807.6  95.2 %");
    }

    #[test]
    fn a_write_outside_comes_before_all_else() {
        let mut row = row();
        let hit = RedzoneHit { buffer: "output".into(), before: false, distance: 4, bytes: 4 };
        row.add(&Shown { redzone: Some(hit), ..shown(7) });
        let Verdict::Wrong(why) = &row.verdict else { panic!("must be wrong") };
        assert_eq!(why, "a write outside of buffer `output`, 4 bytes behind it");
    }

    #[test]
    fn a_wrong_case_says_where() {
        let mut row = row();
        row.add(&shown(16384));
        let Verdict::Wrong(why) = &row.verdict else { panic!("must be wrong") };
        insta::assert_snapshot!(why, @"`output`: 16384 of 67108864 elements, exactly the last 2 rows, 16384 never written; first at [8190, 0]: NaN, expected 1.5 (f32 of shape [8192, 8192])");
    }
}
