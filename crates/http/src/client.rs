//! The client, and the sources that it makes: what a player opens.

use crate::address::Address;
use crate::cache::BlockCache;
use crate::encryption::check_scheme;
use crate::options::HttpOptions;
use crate::remote_file::{Network, RemoteFile};
use crate::request_threads::RequestThreads;
use crate::requester::Requester;
use crate::statistics::HttpStatistics;
use meshreel::raw::format::ReadAt;
use meshreel::stream::{AsyncSource, ReadRequest, ReadToken};
use meshreel::{Error, FileId, Player};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Reads files over HTTP: connections, threads and a cache for any number of files. Clones are handles of the
/// same client.
///
/// The client lives as long as it or one of its sources does. The last one that goes ends its threads,
/// without waiting for them.
#[derive(Clone)]
pub struct HttpClient {
    state: Arc<ClientState>,
}

struct ClientState {
    network: Arc<Network>,
    threads: RequestThreads,
    files: AtomicU32,
}

impl Drop for ClientState {
    fn drop(&mut self) {
        self.network.requester.close();
    }
}

impl HttpClient {
    /// Creates a client and starts its threads; nothing is requested yet. Fails if an option is invalid or
    /// the system has no thread.
    pub fn new(options: HttpOptions) -> Result<HttpClient, Error> {
        let requester = Requester::new(options)?;
        let cache = BlockCache::new(requester.options.cache_bytes);
        let threads = RequestThreads::new(requester.options.max_requests)?;
        let network = Arc::new(Network { requester, cache, whole_bytes: AtomicU64::new(0) });
        Ok(HttpClient { state: Arc::new(ClientState { network, threads, files: AtomicU32::new(0) }) })
    }

    /// Opens a file in a player and returns at once, like [`Player::open`]: the player reports with an event
    /// whether it succeeded. Fails if the address is none. Its query appears in no error.
    pub fn open(&self, player: &mut Player, address: &str) -> Result<FileId, Error> {
        let source = self.source(address)?;
        Ok(player.open_source(source.name(), source.clone()))
    }

    /// Returns the source of a file, for [`Player::open_source`] and whatever reads files. Nothing is
    /// requested before its first use. Fails if the address is none.
    pub fn source(&self, address: &str) -> Result<Arc<HttpSource>, Error> {
        // The text may contain what must not be shown.
        let address =
            Address::parse(address).map_err(|what| Error::misuse(format!("the address: {what}")))?;
        let name = address.to_string();
        check_scheme(&address).map_err(|failure| failure.to_error(&name))?;
        let number = self.state.files.fetch_add(1, Ordering::Relaxed);
        let file = Arc::new(RemoteFile::new(self.state.network.clone(), number, address));
        Ok(Arc::new(HttpSource { file, name, client: self.state.clone() }))
    }

    /// Ends all reads of all its sources, now and later, with an error: for the end of a game. A request
    /// under way ends in the background, with its next bytes or its timeout.
    pub fn close(&self) {
        self.state.network.requester.close();
        self.state.threads.close();
    }

    /// Returns what it has done so far.
    #[must_use]
    pub fn statistics(&self) -> HttpStatistics {
        let network = &self.state.network;
        let (cached_bytes, peak_cached_bytes) = network.cache.sizes();
        let whole_bytes = network.whole_bytes.load(Ordering::Relaxed);
        let counters = network.requester.counters.read();
        HttpStatistics { cached_bytes, peak_cached_bytes, whole_bytes, ..counters }
    }

    /// Returns its options.
    pub fn options(&self) -> &HttpOptions {
        &self.state.network.requester.options
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("options", self.options()).finish_non_exhaustive()
    }
}

/// A file on a server, read in ranges as they are needed.
///
/// A player reads it as an [`AsyncSource`], on threads of the client. Everything else reads it as [`ReadAt`],
/// which waits for the network on the calling thread; so do [`AsyncSource::size`] and [`ReadAt::len`] until
/// the first request was answered.
///
/// The file must not change on the server: ETag, date and size are compared with each request, and a read of
/// another version fails.
pub struct HttpSource {
    file: Arc<RemoteFile>,
    name: String,
    client: Arc<ClientState>,
}

impl HttpSource {
    /// Returns its address without the query, by which errors may call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the first request if that was not done yet, and returns the length of the file in bytes. Waits
    /// for the network, with retries. A player does this itself; a player without threads does it within a
    /// tick, unless another thread has called this before.
    pub fn connect(&self) -> Result<u64, Error> {
        self.file.size_or_retry().map_err(|failure| failure.to_error(&self.name))
    }

    /// Returns whether the server serves ranges; if not, the file is in memory as a whole. `None` before the
    /// first request was answered. Never waits.
    #[must_use]
    pub fn serves_ranges(&self) -> Option<bool> {
        self.file.serves_ranges()
    }

    /// Returns the length; one that no file has if it cannot be learned, so that the read that follows
    /// reports the reason.
    fn size_or_max(&self) -> u64 {
        self.file.size().unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for HttpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSource").field("name", &self.name).finish_non_exhaustive()
    }
}

impl AsyncSource for HttpSource {
    fn size(&self) -> u64 {
        self.size_or_max()
    }

    fn start(&self, read: ReadRequest) {
        self.client.threads.start(self.file.clone(), read);
    }

    fn cancel(&self, _: ReadToken) {
        // Tokens of two players may be equal, so the reads themselves are asked.
        self.client.threads.drop_cancelled();
    }
}

impl ReadAt for HttpSource {
    fn len(&self) -> u64 {
        self.size_or_max()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut copy = |start: usize, bytes: &[u8]| {
            if let Some(room) = out.get_mut(start..start + bytes.len()) {
                room.copy_from_slice(bytes);
            }
        };
        self.file.read(offset..end, &|| true, &mut copy).map_err(|failure| failure.to_io())
    }
}
