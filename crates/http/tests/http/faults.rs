//! Servers that stall, cut, lie, redirect or compress.

use crate::playing::{patient, reference, show};
use crate::server::{Reply, Request, Server, Step, golden_bytes, pattern, serve};
use meshreel::raw::format::ReadAt;
use meshreel::{Error, Options, Player};
use meshreel_http::{HttpClient, HttpOptions};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

const LEN: usize = 20_000;

/// Options for servers that stall: short waits, and enough retries for a busy machine.
fn impatient() -> HttpOptions {
    blocks(patient())
        .with_timeout(Duration::from_millis(250))
        .with_retries(1000)
        .with_max_delay(Duration::from_millis(20))
}

fn blocks(options: HttpOptions) -> HttpOptions {
    options.with_block_bytes(1 << 10).with_max_request_bytes(8 << 10).with_cache_bytes(64 << 10)
}

/// Serves the pattern, except for requests that the fault applies to.
fn faulty(fault: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| fault(request, serve(&pattern(LEN), "\"a\"", request)))
}

/// Reads the whole pattern and returns the number of retries.
fn read_all(server: &Server, options: HttpOptions) -> Result<u64, std::io::Error> {
    let client = HttpClient::new(options).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    let mut out = vec![0; LEN];
    source.read_at(0, &mut out)?;
    assert!(out == pattern(LEN));
    Ok(client.statistics().retries)
}

/// Reads from a server that has the fault always: the error of the first request, and that of a later one.
fn errors(
    options: HttpOptions,
    fault: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static,
) -> [std::io::Error; 2] {
    let fault = Arc::new(fault);
    [0, 1].map(|healthy| {
        let fault = fault.clone();
        let server = faulty(move |request, reply| match request.number < healthy {
            true => reply,
            false => fault(request, reply),
        });
        let client = HttpClient::new(options.clone()).unwrap();
        let source = client.source(&server.url("a")).unwrap();
        if healthy == 0 {
            let error = source.connect().unwrap_err();
            assert!(error.to_string().contains(&server.url("a")), "{error}");
        } else {
            source.connect().unwrap();
        }
        source.read_at(3000, &mut vec![0; 10_000]).unwrap_err()
    })
}

#[test]
fn a_server_that_fails_now_and_then_is_asked_again() {
    for status in [500, 502, 503, 504, 429, 408] {
        let server = faulty(move |request, reply| match request.number % 2 {
            0 => Reply::new(status, b"not now").with("Retry-After", 0),
            _ => reply,
        });
        assert!(read_all(&server, blocks(patient())).unwrap() >= 3, "{status}");
    }
}

/// A server may ask for more patience than there is.
#[test]
fn the_delay_that_a_server_asks_for_has_a_limit() {
    let server = faulty(|request, reply| match request.number % 2 {
        0 => Reply::new(503, b"").with("Retry-After", u64::MAX),
        _ => reply,
    });
    assert!(
        read_all(&server, blocks(patient()).with_max_retry_after(Duration::from_millis(1))).unwrap() >= 3
    );
}

#[test]
fn a_server_that_never_serves_it_is_asked_a_bounded_number_of_times() {
    for (status, kind, requests) in [
        (503, ErrorKind::Other, 4),
        (404, ErrorKind::NotFound, 1),
        (410, ErrorKind::NotFound, 1),
        (401, ErrorKind::PermissionDenied, 1),
        (403, ErrorKind::PermissionDenied, 1),
        (400, ErrorKind::Other, 1),
        (204, ErrorKind::Other, 1),
        (304, ErrorKind::Other, 1),
        (416, ErrorKind::InvalidData, 4),
    ] {
        let server = faulty(move |_, _| match status {
            204 | 304 => Reply::new(status, b"").without("Content-Length"),
            _ => Reply::new(status, b"no"),
        });
        let error = read_all(&server, blocks(patient()).with_retries(3)).unwrap_err();
        assert_eq!(error.kind(), kind, "{status}: {error}");
        assert!(error.to_string().contains(&status.to_string()), "{status}: {error}");
        assert_eq!(server.requests().len(), requests, "{status}");
        for error in errors(blocks(patient()).with_retries(0), move |_, _| Reply::new(status, b"")) {
            assert_eq!(error.kind(), kind, "{status}: {error}");
        }
    }
}

/// The request was served before; where there was no server then, there is one now.
#[test]
fn what_failed_can_be_tried_again() {
    let server = faulty(|request, reply| if request.number < 2 { Reply::new(404, b"") } else { reply });
    let client = HttpClient::new(blocks(patient())).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    // The length that cannot be learned is reported by the read after it, once.
    assert_eq!(ReadAt::len(&*source), u64::MAX);
    assert_eq!(ReadAt::len(&*source), u64::MAX);
    assert_eq!(source.read_at(0, &mut [0]).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(server.requests().len(), 1);
    assert!(matches!(source.connect(), Err(Error::Io { .. })));
    assert_eq!(source.connect().unwrap(), LEN as u64);
    assert_eq!(server.requests().len(), 3);

    let port = {
        let gone = Server::good(Vec::new());
        gone.port()
    };
    let source = client.source(&format!("http://127.0.0.1:{port}/a")).unwrap();
    let error = source.connect().unwrap_err().to_string();
    assert!(error.contains("cannot be reached") && error.contains("5 attempts"), "{error}");
}

#[test]
fn a_server_that_stalls_is_asked_again() {
    // Before the answer, within its body, and between its headers and its body.
    let server = faulty(|request, reply| match request.number {
        0 => reply.steps(vec![Step::Stall]),
        2 => reply.interrupted(100, Step::Stall),
        4 => reply.interrupted(3000, Step::Stall),
        _ => reply,
    });
    assert!(read_all(&server, impatient()).unwrap() >= 3);
    // A server that never answers: not even headers come.
    let silent = Server::start_with(
        Box::new(|_| Reply::new(200, b"")),
        Box::new(|stream| {
            std::thread::sleep(Duration::from_millis(2000));
            Box::new(stream)
        }),
    );
    let client = HttpClient::new(impatient().with_retries(1)).unwrap();
    let error = client.source(&silent.url("a")).unwrap().connect().unwrap_err();
    let Error::Io { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.kind(), ErrorKind::TimedOut, "{error}");
    for error in errors(impatient().with_retries(1000), |request, reply| match request.number > 5 {
        true => Reply::new(404, b""),
        false => reply.steps(vec![Step::Stall]),
    }) {
        // It went on after the stalls.
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

#[test]
fn a_body_that_drips_counts_as_a_stall() {
    // A byte in time each, so that no single wait is too long.
    let server = faulty(|request, reply| match request.number {
        0 | 2 => {
            let body = reply.body();
            reply.steps(vec![Step::Drip(body, Duration::from_millis(10))])
        }
        _ => reply,
    });
    assert!(read_all(&server, impatient().with_min_rate(10 << 10)).unwrap() >= 2);
    // With another rate it is only slow.
    let slow = Server::start(|request| {
        let reply = serve(&pattern(40), "\"a\"", request);
        let body = reply.body();
        reply.steps(vec![Step::Drip(body, Duration::from_millis(10))])
    });
    let client = HttpClient::new(patient().with_min_rate(0)).unwrap();
    assert_eq!(client.source(&slow.url("a")).unwrap().connect().unwrap(), 40);
    assert_eq!(client.statistics().retries, 0);
}

/// A retry goes on after the blocks that arrived, and they do not count as failures.
#[test]
fn a_body_that_is_cut_is_continued() {
    let server = faulty(|_, reply| reply.interrupted(2500, Step::Close));
    let retries = read_all(&server, blocks(patient()).with_retries(1)).unwrap();
    // Of 20 blocks two arrive each time; the first is requested alone, and the last request is not cut.
    assert!(retries >= 5, "{retries}");
    let ranges: Vec<_> = server.requests().iter().map(|request| request.range().unwrap()).collect();
    assert_eq!(ranges[..3], [0..1024, 1024..9216, 3072..9216]);
    for error in errors(blocks(patient()).with_retries(2), |_, reply| reply.interrupted(100, Step::Close)) {
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
        assert!(error.to_string().contains("3 attempts"), "{error}");
    }
}

#[test]
fn a_server_that_lies_about_lengths_and_ranges_is_not_believed() {
    type Lie = fn(Reply) -> Reply;
    let lies: [(&str, Lie); 10] = [
        ("no range", |reply| reply.without("Content-Range")),
        ("no numbers", |reply| reply.with("Content-Range", "bytes a-b/c")),
        ("other range", |reply| reply.with("Content-Range", format!("bytes 7-1030/{LEN}"))),
        ("too little", |reply| reply.with("Content-Range", format!("bytes 0-0/{LEN}"))),
        ("beyond the end", |reply| reply.with("Content-Range", "bytes 0-1023/1000")),
        ("short length", |reply| reply.with("Content-Length", 5)),
        ("long length", |reply| reply.with("Content-Length", 1u64 << 40)),
        ("negative length", |reply| reply.with("Content-Length", -5)),
        ("no end", |reply| reply.without("Content-Length").interrupted(1 << 20, Step::Repeat(vec![1; 4096]))),
        ("several parts", |reply| {
            reply.without("Content-Range").with("Content-Type", "multipart/byteranges; boundary=x")
        }),
    ];
    for (name, lie) in lies {
        for error in errors(blocks(patient()).with_retries(1), move |_, reply| lie(reply)) {
            let kinds = [ErrorKind::InvalidData, ErrorKind::UnexpectedEof];
            assert!(kinds.contains(&error.kind()), "{name}: {error:?}");
            assert!(error.to_string().contains("2 attempts"), "{name}: {error}");
        }
        // A lie now and then is survived.
        let server = faulty(move |request, reply| if request.number == 1 { lie(reply) } else { reply });
        assert!(read_all(&server, blocks(patient())).unwrap() >= 1, "{name}");
    }
}

/// A size of exabytes allocates nothing, and is refused as soon as it is compared with anything.
#[test]
fn a_size_that_is_a_lie_allocates_nothing() {
    let server = faulty(|request, reply| match request.number {
        0 => reply.with("Content-Range", format!("bytes 0-1023/{}", u64::MAX)),
        _ => reply,
    });
    let client = HttpClient::new(blocks(patient())).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    assert_eq!(source.connect().unwrap(), u64::MAX);
    for offset in [1 << 40, u64::MAX - 10, 1 << 62] {
        let error = source.read_at(offset, &mut [0; 10]).unwrap_err();
        assert!(error.to_string().contains("changed"), "{error}");
    }
    assert!(client.statistics().peak_cached_bytes <= 64 << 10);
}

#[test]
fn another_version_on_the_server_is_an_error_and_never_mixed_with_the_old_one() {
    type Change = fn(&Request, Reply) -> Reply;
    let changes: [(&str, Change); 5] = [
        ("the precondition fails", |_, _| Reply::new(412, b"")),
        ("another tag", |_, reply| reply.with("ETag", "\"b\"")),
        ("another size", |request, _| serve(&pattern(LEN + 1), "\"a\"", request)),
        ("shorter than the range", |request, _| serve(&pattern(1500), "\"a\"", request)),
        ("the whole of another size", |_, _| Reply::new(200, &pattern(LEN + 1))),
    ];
    for (name, change) in changes {
        let server = faulty(move |request, reply| match request.number {
            0 => reply,
            _ => change(request, reply),
        });
        let error = read_all(&server, blocks(patient())).unwrap_err();
        assert!(error.to_string().contains("changed on the server"), "{name}: {error}");
        // It is final.
        assert_eq!(server.requests().len(), 2, "{name}");
        assert_eq!(server.requests()[0].header("if-match"), None);
        assert_eq!(server.requests()[1].header("if-match"), Some("\"a\""));
    }
    // Dates where there are no tags.
    let dated = |date: &'static str| move |reply: Reply| reply.without("ETag").with("Last-Modified", date);
    let (monday, tuesday) = (dated("Mon, 07 Nov 1994 08:49:37 GMT"), dated("Tue, 08 Nov 1994 08:49:37 GMT"));
    let server =
        faulty(move |request, reply| if request.number < 2 { monday(reply) } else { tuesday(reply) });
    let error = read_all(&server, blocks(patient())).unwrap_err();
    assert!(error.to_string().contains("changed on the server"), "{error}");
    let date = "Mon, 07 Nov 1994 08:49:37 GMT";
    assert_eq!(server.requests()[1].header("if-unmodified-since"), Some(date));
}

#[test]
fn a_server_without_ranges_sends_the_whole_file_once_if_there_is_memory_for_it() {
    let name = "flag_fast.reel";
    for has_length in [true, false] {
        let server = Server::start(move |_| {
            let bytes = golden_bytes(name);
            match has_length {
                true => Reply::new(200, &bytes),
                false => {
                    let reply = Reply::new(200, b"").without("Content-Length");
                    reply.steps(vec![Step::Send(bytes), Step::Close])
                }
            }
        });
        let size = golden_bytes(name).len() as u64;
        let client = HttpClient::new(blocks(patient()).with_whole_bytes(size + 100)).unwrap();
        let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
        let source = client.source(&server.url("a")).unwrap();
        let file = player.open_source(source.name(), source.clone());
        let own = player.add_instance(file).unwrap();
        let expected = reference(name);
        for frame in 0..expected.1.len() {
            show(&mut player, own, &expected, frame, false);
        }
        assert_eq!(source.serves_ranges(), Some(false));
        assert_eq!(server.requests().len(), 1);
        let statistics = client.statistics();
        assert_eq!(
            (statistics.whole_bytes, statistics.bytes_received, statistics.cached_bytes),
            (size, size, 0)
        );
        // A second one does not fit, whether or not the server says how long it is.
        let second = client.source(&server.url("b")).unwrap();
        let error = second.connect().unwrap_err();
        let Error::Limit { asked, allowed, .. } = error else { panic!("{error}") };
        assert!(asked > allowed && asked <= size && allowed >= 100, "{asked} {allowed}");
        assert!(second.read_at(0, &mut [0]).unwrap_err().to_string().contains("does not serve ranges"));
        assert_eq!(client.statistics().whole_bytes, size);
        drop((player, source, second));
        // The threads of the player may hold it a little longer.
        while client.statistics().whole_bytes > 0 {
            std::thread::yield_now();
        }
        assert!(client.source(&server.url("c")).unwrap().connect().is_ok());
    }
    // Without an end, and with a promise that is not true.
    let endless = Server::start(|_| {
        Reply::new(200, b"").without("Content-Length").steps(vec![Step::Repeat(vec![1; 4096])])
    });
    let client = HttpClient::new(blocks(patient()).with_whole_bytes(300 << 10)).unwrap();
    let error = client.source(&endless.url("a")).unwrap().connect().unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    assert!(client.statistics().bytes_received <= 400 << 10);
    let cut = Server::start(|request| {
        let reply = Reply::new(200, &pattern(5000));
        if request.number == 0 { reply.interrupted(3000, Step::Close) } else { reply }
    });
    let source = client.source(&cut.url("a")).unwrap();
    assert_eq!(source.connect().unwrap(), 5000);
    assert_eq!(client.statistics().whole_bytes, 5000);
}

#[test]
fn redirects_are_followed_and_headers_stay_with_their_server() {
    let target = faulty(|_, reply| reply);
    let url = target.url("deep/file.reel?sig=1");
    for status in [301, 302, 303, 307, 308] {
        let location = url.clone();
        let server = Server::start(move |request| match request.path.as_str() {
            "/a" => Reply::new(status, b"moved").with("Location", "b/c"),
            "/b/c" => Reply::new(status, b"").with("Location", "../d?e=f"),
            _ => Reply::new(status, b"").with("Location", &location),
        });
        let before = target.requests().len();
        let client = HttpClient::new(blocks(patient()).with_header("X-Key", "secret")).unwrap();
        let source = client.source(&server.url("a")).unwrap();
        let mut out = [0; 100];
        source.read_at(0, &mut out).unwrap();
        assert_eq!(out, pattern(100)[..]);
        assert_eq!((client.statistics().redirects, client.statistics().requests), (3, 4));
        let paths: Vec<_> = server.requests().iter().map(|request| request.path.clone()).collect();
        assert_eq!(paths, ["/a", "/b/c", "/d?e=f"]);
        assert!(server.requests().iter().all(|request| request.header("x-key") == Some("secret")));
        let last = target.requests()[before].clone();
        assert_eq!((last.path.as_str(), last.header("x-key")), ("/deep/file.reel?sig=1", None));
        assert_eq!(last.range(), Some(0..1024));
    }
}

#[test]
fn redirects_that_lead_nowhere_end() {
    for (location, requests) in [
        (Some("/a"), 4),
        (Some("ftp://127.0.0.1/a"), 1),
        (Some("http://me:pw@127.0.0.1/a"), 1),
        (Some("file:///etc/passwd"), 1),
        (None, 1),
    ] {
        let server = Server::start(move |_| match location {
            Some(location) => Reply::new(302, b"").with("Location", location),
            None => Reply::new(302, b""),
        });
        let error = read_all(&server, blocks(patient()).with_max_redirects(3)).unwrap_err();
        assert!(error.to_string().contains("redirects"), "{error}");
        assert_eq!(server.requests().len(), requests, "{location:?}");
    }
}

#[test]
fn what_is_compressed_is_refused_and_nothing_compressed_is_asked_for() {
    for [first, later] in [errors(blocks(patient()), |_, reply| reply.with("Content-Encoding", "gzip"))] {
        for error in [first, later] {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("compresses"), "{error}");
        }
    }
    let whole = Server::start(|_| Reply::new(200, &[0x1f, 0x8b, 8, 0]).with("Content-Encoding", "gzip"));
    let client = HttpClient::new(patient()).unwrap();
    let error = client.source(&whole.url("a")).unwrap().connect().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert_eq!(whole.requests()[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn headers_without_an_end_and_answers_that_are_not_http_are_refused() {
    let long = "x".repeat(40 << 10);
    for error in errors(blocks(patient()).with_retries(1), move |_, reply| reply.with("X-Long", &long)) {
        assert!(error.to_string().contains("headers"), "{error}");
    }
    let many = |_: &Request, mut reply: Reply| {
        reply.headers.extend((0..5000).map(|i| (format!("X-{i}"), "y".to_owned())));
        reply
    };
    for error in errors(blocks(patient()).with_retries(1), many) {
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    }
    let endless = |_: &Request, reply: Reply| reply.steps(vec![Step::EndlessHeaders]);
    for error in errors(blocks(patient()).with_retries(1), endless) {
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    }
    let noise = faulty(|_, _| Reply::new(206, b"").with("Content-Range", "\u{1}\u{2}"));
    assert!(read_all(&noise, blocks(patient()).with_retries(1)).is_err());
    let chunked = faulty(|request, reply| match request.number % 2 {
        0 => {
            let body = reply.body();
            let mut bytes = format!("{:x}\r\n", body.len()).into_bytes();
            bytes.extend(body);
            bytes.extend(b"\r\n0\r\n\r\n");
            reply
                .without("Content-Length")
                .with("Transfer-Encoding", "chunked")
                .steps(vec![Step::Send(bytes)])
        }
        _ => {
            let reply = reply.without("Content-Length").with("Transfer-Encoding", "chunked");
            reply.steps(vec![Step::Send(b"nonsense\r\n".to_vec()), Step::Close])
        }
    });
    assert!(read_all(&chunked, blocks(patient())).unwrap() >= 1);
}

/// A server that sends more than it promised does not disturb the next request of the connection.
#[test]
fn bytes_after_a_body_are_not_taken_for_the_next_answer() {
    let server = faulty(|_, reply| {
        let forged =
            "HTTP/1.1 206 OK\r\nContent-Range: bytes 1024-2047/20000\r\nContent-Length: 1024\r\n\r\n";
        let mut body = reply.body();
        body.extend(forged.as_bytes());
        body.extend([0; 1024]);
        reply.steps(vec![Step::Send(body)])
    });
    // Either it is noticed, or the right bytes come.
    if let Err(error) = read_all(&server, blocks(patient()).with_retries(1)) {
        assert!(matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::Other), "{error}");
    }
}
