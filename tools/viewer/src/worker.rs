//! Answers questions on a thread of its own, so that the window never waits.

use std::sync::mpsc::{Receiver, Sender, channel};

/// Answers one question at a time; of those that arrive meanwhile, only the last. Dropping it stops the
/// thread.
pub struct Worker<Question, Answer> {
    question_sender: Sender<Question>,
    answer_receiver: Receiver<Answer>,
}

impl<Question: Send + 'static, Answer: Send + 'static> Worker<Question, Answer> {
    /// Starts the thread; `done` is called after each answer.
    pub fn start(
        mut answer: impl FnMut(Question) -> Answer + Send + 'static,
        done: impl Fn() + Send + 'static,
    ) -> Worker<Question, Answer> {
        let ((asked, questions), (tell, told)) = (channel(), channel());
        std::thread::spawn(move || {
            while let Ok(first) = questions.recv() {
                let question = questions.try_iter().last().unwrap_or(first);
                if tell.send(answer(question)).is_err() {
                    return;
                }
                done();
            }
        });
        Worker { question_sender: asked, answer_receiver: told }
    }

    pub fn ask(&self, question: Question) {
        // If the thread has ended, it has reported the reason.
        let _ = self.question_sender.send(question);
    }

    /// Returns the latest answer since the last call.
    pub fn poll(&self) -> Option<Answer> {
        self.answer_receiver.try_iter().last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_question_is_answered() {
        let (tell, told) = channel();
        let worker = Worker::start(|n: u32| n + 1, move || _ = tell.send(()));
        (0..1000).for_each(|n| worker.ask(n));
        let mut answers = Vec::new();
        while answers.last() != Some(&1000) {
            told.recv().unwrap();
            answers.extend(worker.poll());
        }
        assert!(answers.is_sorted());
    }
}
