//! A server for tests on a port of this machine: a function decides the answer to each request, byte by byte
//! if need be.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two looks at whether the server is to stop.
const POLL: Duration = Duration::from_millis(20);

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The number of requests before it.
    pub number: usize,
    pub method: String,
    pub path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Returns the range that it asks for.
    pub fn range(&self) -> Option<Range<usize>> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some(first.parse().ok()?..last.parse::<usize>().ok()? + 1)
    }
}

/// What a server does after the headers.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// Sends byte after byte, with a pause before each.
    Drip(Vec<u8>, Duration),
    /// Sends the same bytes until the client has enough.
    Repeat(Vec<u8>),
    /// As a first step: sends headers until the client has enough.
    EndlessHeaders,
    /// Does nothing until the client goes.
    Stall,
    /// Waits until this is set.
    Await(Arc<AtomicBool>),
    Close,
}

/// An answer: a head and steps.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub steps: Vec<Step>,
}

impl Reply {
    /// An answer with a body, and its length.
    pub fn new(status: u16, body: &[u8]) -> Reply {
        let reply = Reply { status, headers: Vec::new(), steps: vec![Step::Send(body.to_vec())] };
        reply.with("Content-Length", body.len())
    }

    /// Sets a header.
    pub fn with(mut self, name: &str, value: impl ToString) -> Reply {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub fn without(mut self, name: &str) -> Reply {
        self.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        self
    }

    pub fn steps(self, steps: Vec<Step>) -> Reply {
        Reply { steps, ..self }
    }

    /// Returns the bytes of the body.
    pub fn body(&self) -> Vec<u8> {
        let sent = self.steps.iter().filter_map(|step| match step {
            Step::Send(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        sent.flatten().copied().collect()
    }

    /// Sends the first part of the body, and then does something else.
    pub fn interrupted(self, sent: usize, next: Step) -> Reply {
        let body = self.body();
        self.steps(vec![Step::Send(body[..sent.min(body.len())].to_vec()), next])
    }
}

/// Answers as a good server does.
pub fn serve(bytes: &[u8], tag: &str, request: &Request) -> Reply {
    if request.header("if-match").is_some_and(|wanted| wanted != tag) {
        return Reply::new(412, b"");
    }
    let Some(range) = request.range() else {
        return Reply::new(200, bytes).with("ETag", tag);
    };
    if range.start >= bytes.len() {
        return Reply::new(416, b"").with("Content-Range", format!("bytes */{}", bytes.len()));
    }
    let end = range.end.min(bytes.len());
    let content = format!("bytes {}-{}/{}", range.start, end - 1, bytes.len());
    Reply::new(206, &bytes[range.start..end]).with("Content-Range", content).with("ETag", tag)
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// A connection, encrypted or not.
pub trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}
type Accept = dyn Fn(TcpStream) -> Box<dyn Connection> + Send + Sync;

struct State {
    stop: AtomicBool,
    requests: Mutex<Vec<Request>>,
    handler: Box<Handler>,
    accept: Box<Accept>,
}

/// A server, until it is dropped.
pub struct Server {
    port: u16,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::start_with(Box::new(handler), Box::new(|stream| Box::new(stream)))
    }

    /// Serves one file as a good server does.
    pub fn good(bytes: Vec<u8>) -> Server {
        Server::start(move |request| serve(&bytes, "\"a\"", request))
    }

    pub fn start_with(handler: Box<Handler>, accept: Box<Accept>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stop = AtomicBool::new(false);
        let state = Arc::new(State { stop, requests: Mutex::default(), handler, accept });
        let own = state.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if own.stop.load(Ordering::SeqCst) {
                    return;
                }
                let own = own.clone();
                std::thread::spawn(move || own.answer_all(stream));
            }
        });
        Server { port, state, thread: Some(thread) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    fn answer_all(&self, stream: TcpStream) {
        stream.set_read_timeout(Some(POLL)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut stream = (self.accept)(stream);
        while let Some(request) = self.read_request(&mut *stream) {
            let reply = (self.handler)(&request);
            if self.send(&mut *stream, reply).is_none() {
                let _ = stream.flush();
                return;
            }
        }
    }

    /// Reads a request; `None` if the client or the server ends.
    fn read_request(&self, stream: &mut dyn Connection) -> Option<Request> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.read_byte(stream)?);
        }
        let head = String::from_utf8(head).ok()?;
        let mut lines = head.lines();
        let (method, path) = lines.next()?.split_once(' ')?;
        let (method, path) = (method.to_owned(), path.split(' ').next()?.to_owned());
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut requests = self.requests.lock().unwrap();
        let request = Request { number: requests.len(), method, path, headers };
        requests.push(request.clone());
        Some(request)
    }

    fn read_byte(&self, stream: &mut dyn Connection) -> Option<u8> {
        let mut byte = [0];
        while !self.stop.load(Ordering::SeqCst) {
            match stream.read(&mut byte) {
                Ok(1) => return Some(byte[0]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                _ => return None,
            }
        }
        None
    }

    /// Sends a reply; `None` if the connection is to be closed.
    fn send(&self, stream: &mut dyn Connection, reply: Reply) -> Option<()> {
        let mut head = format!("HTTP/1.1 {} Text\r\n", reply.status);
        for (name, value) in &reply.headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(head.as_bytes()).ok()?;
        if matches!(reply.steps.first(), Some(Step::EndlessHeaders)) {
            return self.repeat(stream, b"X-More: y\r\n");
        }
        stream.write_all(b"\r\n").ok()?;
        for step in reply.steps {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes).ok()?,
                Step::Drip(bytes, pause) => {
                    for byte in bytes {
                        std::thread::sleep(pause);
                        (!self.stop.load(Ordering::SeqCst)).then_some(())?;
                        stream.write_all(&[byte]).and_then(|()| stream.flush()).ok()?;
                    }
                }
                Step::Repeat(bytes) => return self.repeat(stream, &bytes),
                Step::EndlessHeaders => {}
                Step::Stall => {
                    stream.flush().ok()?;
                    self.read_byte(stream);
                    return None;
                }
                Step::Await(gate) => {
                    stream.flush().ok()?;
                    while !gate.load(Ordering::SeqCst) && !self.stop.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                Step::Close => return None,
            }
        }
        stream.flush().ok()
    }

    /// Sends the same bytes until the client goes.
    fn repeat(&self, stream: &mut dyn Connection, bytes: &[u8]) -> Option<()> {
        while !self.stop.load(Ordering::SeqCst) {
            stream.write_all(bytes).ok()?;
        }
        None
    }
}

/// Returns the path of a golden file.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0").join(name)
}

/// Returns the bytes of a golden file.
pub fn golden_bytes(name: &str) -> Vec<u8> {
    std::fs::read(golden(name)).unwrap()
}

/// Bytes that differ from place to place.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
