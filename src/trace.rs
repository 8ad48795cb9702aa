//! A run's phases as Chrome trace events, for <https://ui.perfetto.dev> or `chrome://tracing`.
//!
//! In: the records of the report. Out: the JSON object of the "Trace Event Format": complete events
//! (`ph` X) with times in microseconds, a process for the CPU and one for the GPU, and as many
//! lanes (threads) in each as phases overlap without one holding the other.

use serde_json::{Value, json};

use crate::progress::Device;
use crate::progress::console::describe;
use crate::progress::timeline::PhaseRecord;

/// Ends that differ by less than this, in milliseconds, are the same: times are rounded.
const ROUNDING_MS: f64 = 0.002;

/// The trace of `records`.
pub fn trace(records: &[PhaseRecord]) -> Value {
    let processes = [(Device::Cpu, "CPU"), (Device::Gpu, "GPU")];
    let mut events: Vec<Value> = processes
        .map(|(device, name)| name_event("process_name", process(device), None, name))
        .into();
    for device in [Device::Cpu, Device::Gpu] {
        let mut phases: Vec<&PhaseRecord> =
            records.iter().filter(|record| record.device == device).collect();
        // Outer phases before those that they hold.
        phases.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms).then(b.ms.total_cmp(&a.ms)));
        let mut lanes: Vec<Lane> = Vec::new();
        for phase in phases {
            let free = lanes.iter_mut().position(|lane| lane.take(phase));
            let lane = free.unwrap_or_else(|| {
                let mut lane = Lane::default();
                lane.take(phase);
                lanes.push(lane);
                lanes.len() - 1
            });
            events.push(event(phase, lane));
        }
        for lane in 0..lanes.len() {
            let name = format!("{device} lane {lane}");
            events.push(name_event("thread_name", process(device), Some(lane), &name));
        }
    }
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}

/// Phases drawn under one another: each holds the next.
#[derive(Default)]
struct Lane {
    /// Ends of the phases that are open, outermost first.
    ends_ms: Vec<f64>,
}

impl Lane {
    /// Takes `phase` in, unless it would cross an open one.
    fn take(&mut self, phase: &PhaseRecord) -> bool {
        let end_ms = phase.start_ms + phase.ms;
        while self.ends_ms.last().is_some_and(|end| *end <= phase.start_ms + ROUNDING_MS) {
            self.ends_ms.pop();
        }
        let fits = self.ends_ms.last().is_none_or(|end| end_ms <= end + ROUNDING_MS);
        if fits {
            self.ends_ms.push(end_ms);
        }
        fits
    }
}

fn process(device: Device) -> u32 {
    match device {
        Device::Cpu => 1,
        Device::Gpu => 2,
    }
}

fn event(phase: &PhaseRecord, lane: usize) -> Value {
    json!({
        "name": describe(phase.name, phase.partition),
        "cat": phase.name,
        "ph": "X",
        "ts": phase.start_ms * 1000.0,
        "dur": phase.ms * 1000.0,
        "pid": process(phase.device),
        "tid": lane,
        "args": { "partition": phase.partition, "bytes": phase.bytes },
    })
}

fn name_event(kind: &str, pid: u32, tid: Option<usize>, name: &str) -> Value {
    json!({ "name": kind, "ph": "M", "pid": pid, "tid": tid.unwrap_or(0), "args": { "name": name } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &'static str, start_ms: f64, ms: f64, device: Device) -> PhaseRecord {
        PhaseRecord { name, partition: None, start_ms, ms, bytes: 3, device }
    }

    /// (name, process, lane, start, end) of the complete events.
    fn spans(trace: &Value) -> Vec<(String, u64, u64, f64, f64)> {
        let events = trace["traceEvents"].as_array().expect("events");
        let number = |value: &Value| value.as_f64().expect("a number");
        events
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let name = event["name"].as_str().expect("a name").to_owned();
                let id = |key: &str| event[key].as_u64().expect("an id");
                let start = number(&event["ts"]);
                (name, id("pid"), id("tid"), start, start + number(&event["dur"]))
            })
            .collect()
    }

    #[test]
    fn nested_phases_share_a_lane_and_crossing_ones_do_not() {
        let records = [
            phase("inner", 2.0, 3.0, Device::Cpu),
            phase("outer", 0.0, 10.0, Device::Cpu),
            phase("crossing", 8.0, 4.0, Device::Cpu),
            phase("after", 10.0, 1.0, Device::Cpu),
            phase("kernel", 1.0, 20.0, Device::Gpu),
        ];
        let trace = trace(&records);
        let spans = spans(&trace);
        let of = |name: &str| spans.iter().find(|span| span.0 == name).expect("present").clone();
        assert_eq!(spans.len(), records.len());
        assert_eq!(of("outer"), ("outer".into(), 1, 0, 0.0, 10_000.0));
        assert_eq!((of("inner").2, of("crossing").2, of("after").2), (0, 1, 0));
        assert_eq!((of("kernel").1, of("kernel").2), (2, 0));
        assert_eq!(trace["traceEvents"][1]["args"]["name"], "GPU");
    }

    #[test]
    fn no_two_phases_of_a_lane_cross() {
        // Starts and lengths of a fixed pseudo-random sequence.
        let mut state = 12_345_u64;
        let mut next = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % bound) as f64
        };
        let records: Vec<PhaseRecord> =
            (0..300).map(|_| phase("p", next(1000), next(100), Device::Cpu)).collect();
        let spans = spans(&trace(&records));
        assert_eq!(spans.len(), 300);
        for (i, a) in spans.iter().enumerate() {
            for b in &spans[..i] {
                let apart = a.2 != b.2 || a.4 <= b.3 + 2.0 || b.4 <= a.3 + 2.0;
                let holds = |x: &(_, _, _, f64, f64), y: &(_, _, _, f64, f64)| {
                    x.3 <= y.3 + 2.0 && y.4 <= x.4 + 2.0
                };
                assert!(apart || holds(a, b) || holds(b, a), "{a:?} crosses {b:?}");
            }
        }
    }
}
