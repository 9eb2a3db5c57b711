//! The cache: its size, who loads a block, and in how many requests.

use crate::playing::patient;
use crate::server::{Reply, Server, Step, golden_bytes, pattern, serve};
use meshreel::raw::format::ReadAt;
use meshreel::{Limits, Reel};
use meshreel_http::{HttpClient, HttpOptions, HttpSource};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn small() -> HttpOptions {
    patient().with_block_bytes(1 << 10).with_max_request_bytes(4 << 10).with_cache_bytes(8 << 10)
}

fn read(source: &HttpSource, offset: u64, size: usize) -> Vec<u8> {
    let mut out = vec![0; size];
    source.read_at(offset, &mut out).unwrap();
    out
}

#[test]
fn every_range_is_read_whatever_the_sizes_of_blocks_and_requests() {
    let bytes = pattern(10_007);
    let server = Server::good(bytes.clone());
    for (block, request, cache) in [
        (1 << 10, 1 << 10, 1 << 10),
        (1 << 10, 5000, 9000),
        (4 << 10, 1 << 20, 1 << 20),
        (64 << 10, 64 << 10, 64 << 10),
    ] {
        let options =
            patient().with_block_bytes(block).with_max_request_bytes(request).with_cache_bytes(cache);
        let client = HttpClient::new(options).unwrap();
        let source = client.source(&server.url("a")).unwrap();
        let mut random = 1u64;
        for _ in 0..60 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let offset = (random >> 33) as usize % bytes.len();
            let size = (random >> 20) as usize % (bytes.len() - offset + 1);
            assert_eq!(read(&source, offset as u64, size), bytes[offset..offset + size], "{offset} {size}");
        }
        let statistics = client.statistics();
        assert!(statistics.peak_cached_bytes <= cache, "{statistics:?}");
        assert!(statistics.cached_bytes > 0);
    }
}

#[test]
fn a_range_is_one_request_and_is_not_requested_again() {
    let bytes = pattern(20_000);
    let server = Server::good(bytes.clone());
    let client = HttpClient::new(small()).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    // The first request is that of the first block.
    assert_eq!(read(&source, 10, 20), bytes[10..30]);
    assert_eq!(read(&source, 5000, 2000), bytes[5000..7000]);
    assert_eq!(read(&source, 4096, 3072), bytes[4096..7168]);
    // Blocks on both sides of those that are there.
    assert_eq!(read(&source, 3500, 4500), bytes[3500..8000]);
    let ranges: Vec<_> = server.requests().iter().map(|request| request.range().unwrap()).collect();
    assert_eq!(ranges, [0..1024, 4096..7168, 3072..4096, 7168..8192]);
    let statistics = client.statistics();
    assert_eq!((statistics.requests, statistics.blocks_loaded), (4, 6));
    assert_eq!(statistics.bytes_received, 6 << 10);
    assert_eq!(statistics.block_hits, 1 + 3 + 3);
}

#[test]
fn memory_stays_within_the_size_of_the_cache_with_many_files_and_threads() {
    let bytes = pattern(100_000);
    let server = Server::good(bytes.clone());
    let client = HttpClient::new(small()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (client, server, bytes) = (&client, &server, &bytes);
            scope.spawn(move || {
                let source = client.source(&server.url(&thread.to_string())).unwrap();
                for step in 0..25 {
                    let offset = (thread * 7919 + step * 3571) % 90_000;
                    let size = 1 + (step as usize * 977) % 9000;
                    assert_eq!(read(&source, offset, size), bytes[offset as usize..][..size]);
                    let statistics = client.statistics();
                    assert!(statistics.cached_bytes <= 8 << 10);
                    assert!(statistics.peak_cached_bytes <= 8 << 10, "{statistics:?}");
                }
            });
        }
    });
    // The blocks of a file go with its source.
    assert_eq!(client.statistics().cached_bytes, 0);
    assert!(client.statistics().peak_cached_bytes > 4 << 10);
}

/// Two threads that need the same block make one request.
#[test]
fn a_block_that_is_being_loaded_is_not_requested_again() {
    let bytes = pattern(20_000);
    let released = Arc::new(AtomicBool::new(false));
    let (gate, own) = (released.clone(), bytes.clone());
    let server = Server::start(move |request| {
        let reply = serve(&own, "\"a\"", request);
        if request.range().unwrap().start == 0 {
            return reply;
        }
        let body = reply.body();
        reply.steps(vec![Step::Await(gate.clone()), Step::Send(body)])
    });
    let client = HttpClient::new(small()).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    source.connect().unwrap();
    std::thread::scope(|scope| {
        let readers = [0, 1, 2].map(|_| scope.spawn(|| read(&source, 4096, 1024)));
        while client.statistics().block_waits < 2 {
            std::thread::yield_now();
        }
        released.store(true, Ordering::SeqCst);
        for reader in readers {
            assert_eq!(reader.join().unwrap(), bytes[4096..5120]);
        }
    });
    assert_eq!(server.requests().len(), 2);
    assert_eq!(client.statistics().blocks_loaded, 2);
}

/// If the request of one fails, those who wait for its block fail with it and make no requests of their own.
#[test]
fn a_failure_is_that_of_all_who_wait() {
    let released = Arc::new(AtomicBool::new(false));
    let gate = released.clone();
    let server = Server::start(move |request| {
        if request.range().unwrap().start == 0 {
            return serve(&pattern(20_000), "\"a\"", request);
        }
        while !gate.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Reply::new(404, b"")
    });
    let client = HttpClient::new(small()).unwrap();
    let source = client.source(&server.url("a")).unwrap();
    source.connect().unwrap();
    std::thread::scope(|scope| {
        let readers =
            [0, 1, 2].map(|_| scope.spawn(|| source.read_at(4096, &mut [0; 10]).unwrap_err().kind()));
        while client.statistics().block_waits < 2 {
            std::thread::yield_now();
        }
        released.store(true, Ordering::SeqCst);
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [std::io::ErrorKind::NotFound; 3]);
    });
    assert_eq!(server.requests().len(), 2);
}

/// A reel holds its source, which goes on without the client that made it.
#[test]
fn sources_outlive_their_client() {
    let bytes = golden_bytes("flag_fast.reel");
    let server = Server::good(bytes.clone());
    let client = HttpClient::new(patient()).unwrap();
    let source = client.source(&server.url("flag")).unwrap();
    let clone = client.clone();
    drop(client);
    let reel = Reel::from_source(source, &Limits::default()).unwrap();
    assert_eq!(reel.file_bytes(), bytes.len() as u64);
    assert_eq!(clone.statistics().cached_bytes, bytes.len() as u64);
    drop(clone);
    assert_eq!(crate::playing::decode_all(&reel), crate::playing::reference("flag_fast.reel").1);
}
