//! Chores of a page: handed to one program beside it, one after another; done here, between frames, where there can be none.

use super::chore::Chore;
use super::far::{Down, decoded, encoded};
use crate::base::peer::{Peer, PeerState};
use crate::base::task;
use crate::error::{Error, Result};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Takes what came of a chore, as bytes or as an error.
type Answer = Box<dyn FnOnce(Result<Vec<u8>>)>;

struct Errand {
    message: Vec<u8>,
    paths: Vec<PathBuf>,
    answer: Answer,
    /// The work itself, where nobody else does it.
    here: Box<dyn FnOnce()>,
}

#[derive(Default)]
struct Office {
    peer: Option<Peer>,
    /// Not yet sent.
    waiting: VecDeque<Errand>,
    /// Sent, in this order.
    sent: VecDeque<Answer>,
}

thread_local! {
    static OFFICE: RefCell<Office> = RefCell::default();
}

/// Sends the result, then calls `wake`.
pub fn hand_over<C: Chore>(chore: C, send: SyncSender<Result<C::Done>>, wake: impl Fn() + Send + Sync + 'static) {
    let wake = Arc::new(wake);
    let message =
        encoded(&chore).and_then(|bytes| encoded(&Down::Chore { name: C::NAME.into(), bytes })).unwrap_or_default();
    let paths = chore.paths();
    // Nobody may be waiting any more.
    let (to, then) = (send.clone(), wake.clone());
    let answer = move |bytes: Result<Vec<u8>>| {
        let _ = to.send(bytes.and_then(|bytes| decoded::<Result<C::Done>>(&bytes)?));
        then();
    };
    let here = move || {
        let work = move || {
            let _ = send.send(chore.work());
            wake();
        };
        // Without a timer the sender is dropped, which the caller notices.
        let _ = task::soon(C::NAME, work);
    };
    let errand = Errand { message, paths, answer: Box::new(answer), here: Box::new(here) };
    OFFICE.with_borrow_mut(|office| office.waiting.push_back(errand));
    go_on();
}

/// Sends what waits and hands out what has come; whenever the other program has something to say.
fn go_on() {
    let mut answers: Vec<Box<dyn FnOnce()>> = vec![];
    OFFICE.with_borrow_mut(|office| office.turn(&mut answers));
    // They may hand over the next chore.
    answers.into_iter().for_each(|answer| answer());
}

impl Office {
    fn turn(&mut self, answers: &mut Vec<Box<dyn FnOnce()>>) {
        let peer = self.peer.get_or_insert_with(|| Peer::start("vifo chores", go_on));
        match peer.state() {
            PeerState::Starting => {}
            PeerState::Unable => answers.extend(self.waiting.drain(..).map(|errand| errand.here)),
            PeerState::Ready => {
                for errand in self.waiting.drain(..) {
                    peer.post(&errand.message, &errand.paths);
                    self.sent.push_back(errand.answer);
                }
                while let Some(bytes) = peer.take() {
                    let Some(answer) = self.sent.pop_front() else { break };
                    answers.push(Box::new(move || answer(Ok(bytes))));
                }
            }
            PeerState::Ended(why) => {
                self.peer = None;
                for answer in self.sent.drain(..) {
                    let help = "try again, with less where memory ran out; else please report it as a bug of vifo";
                    let error = Error::run("the work beside the page", why.clone(), help);
                    answers.push(Box::new(move || answer(Err(error))));
                }
                if !self.waiting.is_empty() {
                    self.turn(answers);
                }
            }
        }
    }
}
