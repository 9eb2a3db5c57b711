//! The options and handles of a client, and what becomes of its secrets.

use crate::playing::patient;
use crate::server::{Reply, Server, Step, golden_bytes, pattern, serve};
use meshreel::raw::format::ReadAt;
use meshreel::{Error, Event, Options, Player};
use meshreel_http::{HttpClient, HttpOptions};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn is_misuse(options: HttpOptions) -> bool {
    HttpClient::new(options).is_err_and(|error| matches!(error, Error::Misuse { .. }))
}

#[test]
fn options_that_cannot_work_are_refused() {
    let valid = HttpOptions::default;
    assert!(HttpClient::new(valid()).is_ok());
    for options in [
        valid().with_max_requests(0),
        valid().with_max_requests(65),
        valid().with_block_bytes(0),
        valid().with_block_bytes(1 << 40),
        valid().with_max_request_bytes(1 << 10),
        valid().with_cache_bytes(1 << 10),
        valid().with_timeout(Duration::ZERO),
        valid().with_timeout(Duration::MAX),
        valid().with_first_delay(Duration::MAX),
        valid().with_max_delay(Duration::MAX),
        valid().with_max_retry_after(Duration::MAX),
        valid().with_header("Range", "bytes=0-1"),
        valid().with_header("If-MATCH", "a"),
        valid().with_header("a b", "c"),
        valid().with_header("a", "b\r\nc: d"),
        valid().with_proxy("no proxy"),
        valid().with_authorities("no certificate"),
    ] {
        assert!(is_misuse(options.clone()), "{options:?}");
    }
    let edge = valid().with_cache_bytes(1 << 10).with_block_bytes(1 << 10).with_max_request_bytes(1 << 10);
    assert!(HttpClient::new(edge.with_max_requests(64).with_min_rate(0).with_retries(0)).is_ok());
}

#[test]
fn addresses_that_are_none_are_refused_and_not_shown() {
    let client = HttpClient::new(patient()).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    for address in
        ["", "secret", "ftp://secret/a", "http://me:secret@host/a", "http://host/sec ret", "http://"]
    {
        let error = client.source(address).map(drop).unwrap_err();
        assert!(matches!(error, Error::Misuse { .. }), "{error}");
        assert!(!error.to_string().contains("sec"), "{error}");
        assert!(client.open(&mut player, address).is_err());
    }
}

/// A build without encryption says so, and opens what is not encrypted.
#[cfg(not(feature = "https"))]
#[test]
fn without_the_feature_encrypted_addresses_are_refused() {
    let client = HttpClient::new(patient()).unwrap();
    let error = client.source("https://localhost/a?secret").map(drop).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }));
    assert!(
        error.to_string().contains("feature 'https'") && !error.to_string().contains("secret"),
        "{error}"
    );
    let server = Server::start(|_| Reply::new(302, b"").with("Location", "https://localhost/a"));
    let error = client.source(&server.url("a")).unwrap().connect().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn secrets_are_sent_and_never_shown() {
    let server = Server::start(|request| {
        if request.header("authorization") == Some("Bearer secret") && request.path.ends_with("?sig=secret") {
            return serve(&pattern(5000), "\"a\"", request);
        }
        Reply::new(403, b"secret")
    });
    let options = patient().with_header("Authorization", "Bearer secret");
    let client = HttpClient::new(options).unwrap();
    let good = client.source(&server.url("a.reel?sig=secret")).unwrap();
    assert_eq!(good.connect().unwrap(), 5000);
    assert_eq!(server.requests()[0].header("user-agent").unwrap().split('/').next(), Some("meshreel-http"));
    let bad = client.source(&server.url("a.reel?sig=secret2")).unwrap();
    let error = bad.connect().unwrap_err();
    let Error::Io { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.kind(), ErrorKind::PermissionDenied);
    let proxied = HttpOptions::default().with_proxy("http://me:secret@host:80").with_authorities("secret");
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{client:?} {good:?} {bad:?} {:?} {proxied:?}", client.options()),
        bad.name().to_owned(),
        bad.read_at(0, &mut [0]).unwrap_err().to_string(),
    ] {
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(error.to_string().contains(&server.url("a.reel?…")), "{error}");
    assert!(format!("{:?}", client.options()).contains("Authorization"));
}

#[test]
fn requests_go_through_a_proxy_if_one_is_named() {
    let proxy = Server::start(|request| match request.method.as_str() {
        // What follows on this connection is for the server that the proxy was asked to reach.
        "CONNECT" => Reply::new(200, b"").without("Content-Length"),
        _ => serve(&pattern(3000), "\"a\"", request),
    });
    let client = HttpClient::new(patient().with_proxy(format!("http://127.0.0.1:{}", proxy.port()))).unwrap();
    // No server has this name, so nothing else can answer.
    let source = client.source("http://meshreel.invalid/a.reel").unwrap();
    assert_eq!(source.connect().unwrap(), 3000);
    let requests = proxy.requests();
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("CONNECT", "meshreel.invalid:80"));
    assert_eq!((requests[1].method.as_str(), requests[1].path.as_str()), ("GET", "/a.reel"));
}

#[test]
fn reads_beyond_the_end_are_refused_without_a_request() {
    let server = Server::good(pattern(5000));
    let client = HttpClient::new(patient().with_block_bytes(1 << 10)).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    assert_eq!(source.serves_ranges(), None);
    assert_eq!(ReadAt::len(&*source), 5000);
    assert_eq!(source.serves_ranges(), Some(true));
    for (offset, size) in [(5000, 1), (4999, 2), (u64::MAX, 1), (u64::MAX - 1, 5), (0, 5001)] {
        let error = source.read_at(offset, &mut vec![0; size]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{offset} {size}");
    }
    assert_eq!(client.statistics().requests, 1);
    source.read_at(5000, &mut []).unwrap();
    let mut last = [0; 1];
    source.read_at(4999, &mut last).unwrap();
    assert_eq!(last[0], pattern(5000)[4999]);
}

/// The player goes at once when it is dropped while a server stalls, and so do reads when the client is
/// closed.
#[test]
fn closing_ends_what_waits_for_a_server() {
    let arrived = Arc::new(Barrier::new(2));
    let own = arrived.clone();
    let server = Server::start(move |request| {
        own.wait();
        serve(&pattern(5000), "\"a\"", request).steps(vec![Step::Stall])
    });
    let client = HttpClient::new(patient()).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    client.open(&mut player, &server.url("a")).unwrap();
    arrived.wait();
    // Returns although the server never answers: the timeout is ten minutes.
    drop(player);
    client.close();
    let late = client.source(&server.url("b")).unwrap();
    assert_eq!(late.read_at(0, &mut [0]).unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(server.requests().len(), 1);
}

/// A read of a player that waits for a retry is over as soon as the client is closed.
#[test]
fn closing_ends_the_wait_for_a_retry() {
    let failing = Arc::new(AtomicU32::new(0));
    let (own, bytes) = (failing.clone(), golden_bytes("wall_small.reel"));
    let server = Server::start(move |request| {
        if request.range().unwrap().start < 1 << 10 {
            return serve(&bytes, "\"a\"", request);
        }
        own.fetch_add(1, Ordering::SeqCst);
        Reply::new(503, b"").with("Retry-After", 3600)
    });
    let options = patient().with_block_bytes(1 << 10).with_max_retry_after(Duration::from_secs(3600));
    let client = HttpClient::new(options).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    client.open(&mut player, &server.url("a")).unwrap();
    while failing.load(Ordering::SeqCst) == 0 {
        player.tick(0.01);
        std::thread::sleep(Duration::from_millis(1));
    }
    client.close();
    loop {
        player.tick(0.01);
        match player.next_event() {
            Some(Event::OpenFailed(_, error)) => {
                assert!(error.to_string().contains(&server.url("a")), "{error}");
                break;
            }
            Some(other) => panic!("{other:?}"),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    assert_eq!(failing.load(Ordering::SeqCst), 1);
}
