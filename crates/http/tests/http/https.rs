//! Encrypted connections, with a server whose certificate an authority for tests has signed.

use crate::playing::{patient, reference, show};
use crate::server::{Reply, Server, golden_bytes, serve};
use meshreel::{Error, Options, Player};
use meshreel_http::HttpClient;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::sync::Arc;
use std::time::Duration;

const AUTHORITY: &[u8] = include_bytes!("certificate/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("certificate/server.pem");
const KEY: &[u8] = include_bytes!("certificate/server_key.pem");

fn start(handler: impl Fn(&crate::server::Request) -> Reply + Send + Sync + 'static) -> Server {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let config = Arc::new(config);
    let accept = move |stream| -> Box<dyn crate::server::Connection> {
        Box::new(StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream))
    };
    Server::start_with(Box::new(handler), Box::new(accept))
}

fn secure(server: &Server, path: &str) -> String {
    server.url(path).replace("http://127.0.0.1", "https://localhost")
}

#[test]
fn a_file_is_played_over_an_encrypted_connection() {
    let name = "wall_small.reel";
    let server = start(move |request| serve(&golden_bytes(name), "\"a\"", request));
    let client = HttpClient::new(patient().with_authorities(AUTHORITY).with_block_bytes(4 << 10)).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    let file = client.open(&mut player, &secure(&server, "a")).unwrap();
    let own = player.add_instance(file).unwrap();
    let expected = reference(name);
    for frame in (0..expected.1.len()).step_by(7) {
        show(&mut player, own, &expected, frame, false);
    }
    assert_eq!(client.statistics().retries, 0);
}

#[test]
fn a_server_that_nobody_vouches_for_is_refused_at_once() {
    let server = start(move |request| serve(&golden_bytes("square.reel"), "\"a\"", request));
    // The built-in authorities do not know this one.
    let client = HttpClient::new(patient()).unwrap();
    let error = client.source(&secure(&server, "a")).unwrap().connect().unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    assert!(error.to_string().contains("no secure connection"), "{error}");
    assert_eq!((client.statistics().requests, client.statistics().retries), (1, 0));
    // Nor is a server that does not speak TLS.
    let plain = Server::good(golden_bytes("square.reel"));
    // Both sides wait for the other one to say more.
    let options = patient().with_timeout(Duration::from_millis(300)).with_retries(0);
    let client = HttpClient::new(options.with_authorities(AUTHORITY)).unwrap();
    assert!(client.source(&secure(&plain, "a")).unwrap().connect().is_err());
    assert!(plain.requests().is_empty());
}

#[test]
fn a_redirect_does_not_leave_encryption() {
    let plain = Server::good(golden_bytes("square.reel"));
    let url = plain.url("a");
    let server = start(move |_| Reply::new(302, b"").with("Location", &url));
    let client = HttpClient::new(patient().with_authorities(AUTHORITY)).unwrap();
    let error = client.source(&secure(&server, "a")).unwrap().connect().unwrap_err();
    assert!(error.to_string().contains("https:// to http://"), "{error}");
    assert!(plain.requests().is_empty());
    // The other way is fine.
    let target = start(move |request| serve(&golden_bytes("square.reel"), "\"a\"", request));
    let url = secure(&target, "b");
    let server = Server::start(move |_| Reply::new(302, b"").with("Location", &url));
    let size = client.source(&server.url("a")).unwrap().connect().unwrap();
    assert_eq!(size, golden_bytes("square.reel").len() as u64);
}
