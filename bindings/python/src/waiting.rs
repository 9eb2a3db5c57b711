//! Runs long work on a thread of its own. Meanwhile the calling thread releases the interpreter's lock,
//! checks for signals, and passes progress on. So Ctrl-C takes effect quickly however long a step of the work
//! takes, and callbacks run on the thread that passed them in.

use meshreel_commands::failure::{Class, Failure};
use meshreel_compile::Cancellation;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The interval at which signals are checked, and the shortest interval between two reports of one phase.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Stack size of the working thread: that of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// A message from the working thread to the waiting one.
enum Message {
    /// A phase, the amounts done and in total, and a channel whose closing says that the report was handled.
    Step(String, u64, u64, Sender<()>),
    End,
}

/// Reports progress; may be called from several threads.
pub struct ProgressSender {
    /// `false` without a callback.
    listened: bool,
    send: Sender<Message>,
    last: Mutex<LastStep>,
    cancellation: Cancellation,
}

/// The step that was reported last, and when.
#[derive(Default)]
struct LastStep {
    phase: String,
    done: u64,
    total: u64,
    at: Option<Instant>,
}

/// The panic that unwinds a thread whose work was cancelled.
struct CancelledUnwind;

impl ProgressSender {
    /// Reports `done` of `total` of a phase. Waits until the callback has returned, so that work that it
    /// cancels does not go on; meanwhile other threads report nothing, except the end of a phase, which waits
    /// for its turn.
    pub fn step(&self, phase: &str, done: u64, total: u64) {
        if !self.listened {
            return;
        }
        // The end of a phase is never skipped: it waits for the report of another thread.
        let ends = done == total && total > 0;
        let last = if ends { self.last.lock().ok() } else { self.last.try_lock().ok() };
        let Some(mut last) = last else {
            return;
        };
        let soon = last.at.is_some_and(|at| at.elapsed() < POLL_INTERVAL);
        if soon && last.phase == phase && !ends {
            return;
        }
        self.tell(phase, done, total);
        *last = LastStep { phase: phase.into(), done, total, at: Some(Instant::now()) };
    }

    /// As `step`, for work that does not check for cancellation: its stack is unwound from here.
    pub fn step_or_unwind(&self, phase: &str, done: u64, total: u64) {
        self.step(phase, done, total);
        if self.cancellation.is_cancelled() {
            resume_unwind(Box::new(CancelledUnwind));
        }
    }

    /// Reports that all of the last phase is done, if the last report says less: a slower thread may report
    /// after the end of the phase.
    fn finish(&self) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.done < last.total {
            self.tell(&last.phase, last.total, last.total);
        }
    }

    /// Sends a report, and waits until it was handled.
    fn tell(&self, phase: &str, done: u64, total: u64) {
        let (heard, hears) = channel();
        if self.send.send(Message::Step(phase.into(), done, total, heard)).is_ok() {
            // The receiver drops the channel without an answer, so this ends with an error in any case.
            let _ = hears.recv();
        }
    }
}

/// Runs `work` and returns its result. `progress(phase, done, total)` is called now and then; if it returns
/// False or raises, or a signal's handler raises, `cancellation` is cancelled. An exception is raised again
/// after the work has ended; after False, the error of the work itself is raised.
pub fn wait_for<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    cancellation: &Cancellation,
    work: impl FnOnce(&ProgressSender) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let (send, receive) = channel();
    let teller = ProgressSender {
        listened: progress.is_some(),
        send: send.clone(),
        last: Mutex::default(),
        cancellation: cancellation.clone(),
    };
    let receive = Mutex::new(receive);
    std::thread::scope(|scope| {
        let work = || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&teller).inspect(|_| teller.finish())));
            let _ = send.send(Message::End);
            outcome
        };
        let worker =
            Builder::new().name("meshreel".into()).stack_size(STACK_BYTES).spawn_scoped(scope, work)?;
        let raised = wait_for_end(py, progress, cancellation, &receive);
        let outcome = py.detach(|| join(worker));
        match (raised, outcome) {
            (Some(error), _) => Err(error),
            (None, Ok(Ok(value))) => Ok(value),
            (None, Ok(Err(failure))) => Err(crate::errors::exception(py, &failure)),
            (None, Err(panic)) => Err(crate::errors::exception(py, &unwind_failure(&*panic))),
        }
    })
}

/// Handles signals and progress until the work has ended. Returns the first exception.
fn wait_for_end(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    cancellation: &Cancellation,
    receive: &Mutex<Receiver<Message>>,
) -> Option<PyErr> {
    let mut raised = None;
    loop {
        let message =
            py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL_INTERVAL));
        let mut outcome = py.check_signals();
        match message {
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return raised.or(outcome.err()),
            Ok(Message::Step(phase, done, total, _heard)) if !cancellation.is_cancelled() => {
                outcome = outcome.and_then(|()| {
                    if call_progress(py, progress, (&phase, done, total))? {
                        cancellation.cancel();
                    }
                    Ok(())
                });
            }
            Ok(Message::Step(..)) | Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = outcome {
            cancellation.cancel();
            raised.get_or_insert(error);
        }
    }
}

/// Calls the callback; returns `true` if it wants to cancel the work.
fn call_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, step: (&str, u64, u64)) -> PyResult<bool> {
    let Some(progress) = progress else {
        return Ok(false);
    };
    let answer = progress.bind(py).call1(step)?;
    Ok(answer.extract::<bool>().is_ok_and(|go_on| !go_on))
}

type Outcome<T> = Result<Result<T, Failure>, Box<dyn Any + Send>>;

fn join<T>(worker: ScopedJoinHandle<'_, Outcome<T>>) -> Outcome<T> {
    worker.join().and_then(|outcome| outcome)
}

/// Returns the failure for the panic that unwound the work's stack.
fn unwind_failure(panic: &(dyn Any + Send)) -> Failure {
    if panic.is::<CancelledUnwind>() {
        return Failure::new(Class::Cancelled, "cancelled", None);
    }
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    let what = format!("this is a defect of meshreel, please report it with the file: {text}");
    Failure::new(Class::Defect, what, None)
}
