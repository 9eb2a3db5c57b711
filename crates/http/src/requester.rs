//! Sends one request for a range and reads its body: redirects, timeouts, and the least rate of a body. What
//! comes back is checked by `answer`.

use crate::address::Address;
use crate::answer::{Answer, FileFacts, check_answer};
use crate::encryption;
use crate::failure::Failure;
use crate::options::HttpOptions;
use crate::statistics::{Counters, count};
use meshreel::Error;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use ureq::http::{HeaderName, HeaderValue, Response, header};
use ureq::{Agent, Body, BodyReader, Proxy, Timeout};

/// Bytes of headers of an answer; longer ones are refused.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// Bytes of the body of a redirect that are read, so that its connection can be used again.
const MAX_REDIRECT_BODY_BYTES: u64 = 16 << 10;
/// Bytes that a connection buffers in each direction.
const INPUT_BUFFER_BYTES: usize = 64 << 10;
const OUTPUT_BUFFER_BYTES: usize = 16 << 10;
/// The time between two checks of whether the result of a waiting request is wanted.
const WANTED_CHECK: Duration = Duration::from_millis(50);

/// Sends requests, for any number of threads.
pub(crate) struct Requester {
    agent: Agent,
    pub options: HttpOptions,
    pub counters: Counters,
    headers: Vec<(HeaderName, HeaderValue)>,
    closed: AtomicBool,
    /// For those who wait before a retry: they are woken when the client is closed.
    pauses: Mutex<()>,
    woken: Condvar,
}

/// An answer that was checked, and its body.
pub(crate) struct CheckedAnswer<'a> {
    pub answer: Answer,
    pub body: BodyStream<'a>,
}

/// A body that is being received.
pub(crate) struct BodyStream<'a> {
    requester: &'a Requester,
    reader: BodyReader<'static>,
    began: Instant,
    received: u64,
}

impl Requester {
    pub fn new(options: HttpOptions) -> Result<Requester, Error> {
        options.check()?;
        let timeout = Some(options.timeout);
        let proxy = match &options.proxy {
            Some(proxy) => {
                let wrong = |_| Error::misuse("the proxy is no address such as http://proxy:8080");
                Some(Proxy::new(proxy).map_err(wrong)?)
            }
            None => None,
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .user_agent(concat!("meshreel-http/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .max_response_header_size(MAX_HEADER_BYTES)
            .input_buffer_size(INPUT_BUFFER_BYTES)
            .output_buffer_size(OUTPUT_BUFFER_BYTES)
            .max_idle_connections_per_host(options.max_requests)
            .timeout_resolve(timeout)
            .timeout_connect(timeout)
            .timeout_send_request(timeout)
            .timeout_recv_response(timeout)
            .timeout_per_read(timeout)
            .timeout_per_write(timeout);
        let config = encryption::configure(config, options.authorities.as_deref())?;
        let mut headers = Vec::new();
        for (name, value) in &options.headers {
            let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
                return Err(Error::misuse("a header has characters that headers cannot have"));
            };
            value.set_sensitive(true);
            headers.push((name, value));
        }
        Ok(Requester {
            agent: config.build().new_agent(),
            options,
            counters: Counters::default(),
            headers,
            closed: AtomicBool::new(false),
            pauses: Mutex::new(()),
            woken: Condvar::new(),
        })
    }

    /// Requests a range of a file and checks the answer. `known` describes the file as it was when it was
    /// opened.
    pub fn request(
        &self,
        address: &Address,
        range: &Range<u64>,
        known: Option<&FileFacts>,
    ) -> Result<CheckedAnswer<'_>, Failure> {
        let mut target = address.clone();
        for _ in 0..=self.options.max_redirects {
            let response = self.send(&target, target.has_origin_of(address), range, known)?;
            match response.status().as_u16() {
                301 | 302 | 303 | 307 | 308 => {
                    let next = redirect_target(&target, &response)?;
                    count(&self.counters.redirects, 1);
                    self.drain(response);
                    target = next;
                }
                _ => {
                    let answer = check_answer(response.status(), response.headers(), range, known)?;
                    return Ok(CheckedAnswer { answer, body: self.stream(response) });
                }
            }
        }
        let what = format!("the server redirects more than {} times", self.options.max_redirects);
        Err(Failure::permanent(ErrorKind::Other, what))
    }

    fn send(
        &self,
        target: &Address,
        is_own_server: bool,
        range: &Range<u64>,
        known: Option<&FileFacts>,
    ) -> Result<Response<Body>, Failure> {
        if self.is_closed() {
            return Err(Failure::cancelled());
        }
        count(&self.counters.requests, 1);
        let mut request = self.agent.get(target.uri().clone());
        let last = range.end.saturating_sub(1);
        request = request.header(header::RANGE, format!("bytes={}-{last}", range.start));
        if let Some((name, value)) = known.and_then(|known| known.validator.precondition()) {
            request = request.header(name, value);
        }
        for (name, value) in self.headers.iter().filter(|_| is_own_server) {
            request = request.header(name, value);
        }
        request.call().map_err(|error| self.request_failure(&error))
    }

    fn stream(&self, response: Response<Body>) -> BodyStream<'_> {
        let reader = response.into_body().into_reader();
        BodyStream { requester: self, reader, began: Instant::now(), received: 0 }
    }

    /// Reads the body of a redirect if it is short; an error does not matter.
    fn drain(&self, response: Response<Body>) {
        let length = response.body().content_length();
        if length.is_none_or(|length| length > MAX_REDIRECT_BODY_BYTES) {
            return;
        }
        let mut body = self.stream(response);
        let mut room = [0; 1 << 10];
        while matches!(body.read_some(&mut room), Ok(1..)) {}
    }

    /// Waits before a retry; `false` if the result is no longer wanted.
    pub fn pause(&self, delay: Duration, is_wanted: &dyn Fn() -> bool) -> bool {
        let end = Instant::now() + delay;
        loop {
            if !is_wanted() {
                return false;
            }
            let pauses = self.lock();
            if self.is_closed() {
                return false;
            }
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return true;
            }
            let wait = self.woken.wait_timeout(pauses, rest.min(WANTED_CHECK));
            drop(wait.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Ends all requests, those under way and later ones.
    pub fn close(&self) {
        let pauses = self.lock();
        self.closed.store(true, Ordering::Relaxed);
        drop(pauses);
        self.woken.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Describes an error before the body. Texts of the client crate are left out if they may contain
    /// addresses or headers.
    fn request_failure(&self, error: &ureq::Error) -> Failure {
        use ureq::Error as E;
        match error {
            E::Timeout(phase) => self.timed_out(*phase),
            // That is how a handshake fails; the certificate will be the same next time.
            E::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Failure::permanent(ErrorKind::Other, format!("there is no secure connection: {error}"))
            }
            E::Io(error) if error.kind() == ErrorKind::TimedOut => self.timed_out(Timeout::Connect),
            E::Io(error) => {
                Failure::temporary(error.kind(), format!("the server cannot be reached: {error}"))
            }
            E::HostNotFound => Failure::temporary(ErrorKind::NotFound, "there is no server of that name"),
            E::Protocol(_) => Failure::wrong_answer("the server's answer is not HTTP"),
            E::LargeResponseHeader(..) => {
                let what =
                    format!("the headers of the server's answer are longer than {MAX_HEADER_BYTES} bytes");
                Failure::permanent(ErrorKind::InvalidData, what)
            }
            E::ConnectProxyFailed(_) => {
                Failure::temporary(ErrorKind::Other, "the proxy does not reach the server")
            }
            E::Tls(_) | E::TlsRequired => {
                Failure::permanent(ErrorKind::Other, "there is no secure connection to the server")
            }
            E::BadUri(_) | E::Http(_) => {
                Failure::permanent(ErrorKind::InvalidInput, "the request cannot be sent: check the address")
            }
            other => encryption::failure(other)
                .unwrap_or_else(|| Failure::temporary(ErrorKind::Other, "the request to the server failed")),
        }
    }

    fn timed_out(&self, phase: Timeout) -> Failure {
        let what = match phase {
            Timeout::Resolve => "the server's name was not resolved",
            Timeout::Connect => "the server was not reached",
            Timeout::RecvBody | Timeout::PerRead => "the server sent nothing more",
            _ => "the server did not answer",
        };
        let seconds = self.options.timeout.as_secs_f64();
        Failure::temporary(ErrorKind::TimedOut, format!("{what} within {seconds} s"))
    }
}

/// Returns the address that a redirect leads to. Nothing is sent without encryption that would have been
/// encrypted.
fn redirect_target(from: &Address, response: &Response<Body>) -> Result<Address, Failure> {
    let wrong = |what: &str| Failure::permanent(ErrorKind::InvalidData, what);
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| wrong("the server redirects and does not say where to"))?;
    let target = from.resolve(location).map_err(|_| wrong("the server redirects to what is no address"))?;
    if from.is_secure() && !target.is_secure() {
        return Err(wrong("the server redirects from https:// to http://, which is not followed"));
    }
    encryption::check_scheme(&target)?;
    Ok(target)
}

impl BodyStream<'_> {
    /// Reads some bytes; 0 at the end of the body.
    pub fn read_some(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        if self.requester.is_closed() {
            return Err(Failure::cancelled());
        }
        let filled = self.reader.read(out).map_err(|error| self.failure(error))?;
        self.received += filled as u64;
        count(&self.requester.counters.bytes_received, filled as u64);
        let options = &self.requester.options;
        let late = self.began.elapsed().saturating_sub(options.timeout);
        let due = late.as_secs_f64() * options.min_rate as f64;
        if filled > 0 && (self.received as f64) < due {
            let what = format!("the server sends less than {} bytes per second", options.min_rate);
            return Err(Failure::temporary(ErrorKind::TimedOut, what));
        }
        Ok(filled)
    }

    /// Fills a buffer; a body that ends before is a temporary failure.
    pub fn read_exact(&mut self, out: &mut [u8]) -> Result<(), Failure> {
        let mut filled = 0;
        while filled < out.len() {
            match self.read_some(&mut out[filled..])? {
                0 => return Err(cut_off()),
                more => filled += more,
            }
        }
        Ok(())
    }

    /// Checks that the body ends here; a longer one contradicts its headers.
    pub fn check_end(&mut self) -> Result<(), Failure> {
        match self.read_some(&mut [0])? {
            0 => Ok(()),
            _ => Err(Failure::wrong_answer("the server sent more bytes than it promised")),
        }
    }

    fn failure(&self, error: std::io::Error) -> Failure {
        match ureq::Error::from(error) {
            ureq::Error::Timeout(_) => self.requester.timed_out(Timeout::RecvBody),
            ureq::Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => cut_off(),
            ureq::Error::Io(error) => {
                Failure::temporary(error.kind(), format!("the connection broke off: {error}"))
            }
            _ => Failure::wrong_answer("the body of the server's answer is not HTTP"),
        }
    }
}

fn cut_off() -> Failure {
    Failure::temporary(ErrorKind::UnexpectedEof, "the server's answer ended before its promised length")
}
