//! The options of a client: patience, retries, memory, and what it sends along with requests.

use meshreel::Error;
use std::fmt;
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue};

/// The largest number of requests at a time.
const MAX_REQUESTS: usize = 64;
/// The smallest and the largest size of a block.
const MIN_BLOCK_BYTES: u64 = 1 << 10;
const MAX_BLOCK_BYTES: u64 = 16 << 20;
/// The longest time that an option may name.
const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);

/// Headers that the client sends itself, or that would change what a server answers to a range.
const OWN_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
    "transfer-encoding",
];

/// The options of a client, fixed when it is made.
///
/// ```
/// use meshreel_http::HttpOptions;
/// use std::time::Duration;
///
/// let options = HttpOptions::default()
///     .with_timeout(Duration::from_secs(5))
///     .with_cache_bytes(64 << 20)
///     .with_header("Authorization", "Bearer abc");
/// assert_eq!(options.retries, 4);
/// assert!(!format!("{options:?}").contains("abc"));
/// ```
#[derive(Clone)]
#[non_exhaustive]
#[must_use]
pub struct HttpOptions {
    /// The longest wait for each of: the server's name, a connection, an answer, the next bytes of a body.
    /// Default 10 seconds.
    pub timeout: Duration,
    /// Bytes per second: a body that arrives more slowly for longer than `timeout` counts as stalled. Default
    /// 16 KiB.
    pub min_rate: u64,
    /// The number of times that a failed request is repeated before the read fails. A request that brought at
    /// least a block before it failed does not count. Default 4.
    pub retries: u32,
    /// The wait before the first retry; it doubles with each. Default 250 milliseconds.
    pub first_delay: Duration,
    /// The longest wait before a retry. Default 8 seconds.
    pub max_delay: Duration,
    /// The longest wait that a server can ask for with `Retry-After`; a longer one is cut to it. Default 30
    /// seconds.
    pub max_retry_after: Duration,
    /// The number of redirects that are followed for one request. Default 5.
    pub max_redirects: u32,
    /// Bytes of memory for blocks, of all files of the client together: those being loaded and those that
    /// were used last. Default 16 MiB.
    pub cache_bytes: u64,
    /// Bytes of a block, the smallest amount that is requested. Default 64 KiB.
    pub block_bytes: u64,
    /// The largest number of bytes of one request; rounded down to whole blocks. Default 1 MiB, which is what
    /// a player reads at once.
    pub max_request_bytes: u64,
    /// Bytes of memory for files of servers that do not serve ranges, of all files of the client together.
    /// Such a file is fetched whole and stays in memory as long as its source; one that does not fit is
    /// refused. Default 32 MiB.
    pub whole_bytes: u64,
    /// The number of threads that send requests of players; each sends one at a time. Default 4.
    pub max_requests: usize,
    /// Names and values of headers. Values are secret.
    pub(crate) headers: Vec<(String, String)>,
    /// The address of a proxy, perhaps with a password.
    pub(crate) proxy: Option<String>,
    /// Certificates of authorities, as PEM, in place of the built-in ones.
    pub(crate) authorities: Option<Vec<u8>>,
}

/// Declares setters as `with_field(field: Type);`.
macro_rules! setters {
    ($($setter:ident($field:ident: $Type:ty);)*) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        pub fn $setter(mut self, $field: $Type) -> Self {
            self.$field = $field;
            self
        }
    )*};
}

impl HttpOptions {
    setters! {
        with_timeout(timeout: Duration);
        with_min_rate(min_rate: u64);
        with_retries(retries: u32);
        with_first_delay(first_delay: Duration);
        with_max_delay(max_delay: Duration);
        with_max_retry_after(max_retry_after: Duration);
        with_max_redirects(max_redirects: u32);
        with_cache_bytes(cache_bytes: u64);
        with_block_bytes(block_bytes: u64);
        with_max_request_bytes(max_request_bytes: u64);
        with_whole_bytes(whole_bytes: u64);
        with_max_requests(max_requests: usize);
    }

    /// Adds a header to all requests, as for authorization. Its value appears in no error and no `Debug`
    /// output, and is not sent to another server that a redirect leads to.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> HttpOptions {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends requests through a proxy, as in `http://user:password@proxy:8080`. Without this call there is
    /// none, whatever the environment says.
    pub fn with_proxy(self, proxy: impl Into<String>) -> HttpOptions {
        HttpOptions { proxy: Some(proxy.into()), ..self }
    }

    /// Trusts these certificate authorities alone, in place of those of Mozilla: one or more certificates as
    /// PEM. For servers of one's own.
    pub fn with_authorities(self, pem: impl Into<Vec<u8>>) -> HttpOptions {
        HttpOptions { authorities: Some(pem.into()), ..self }
    }

    /// Checks that a client can be made with these options.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::misuse(what));
        if !(1..=MAX_REQUESTS).contains(&self.max_requests) {
            return wrong(format!("max_requests is {}: it must be 1 to {MAX_REQUESTS}", self.max_requests));
        }
        if !(MIN_BLOCK_BYTES..=MAX_BLOCK_BYTES).contains(&self.block_bytes) {
            let what = format!("block_bytes is {}: it must be 1 KiB to 16 MiB", self.block_bytes);
            return wrong(what);
        }
        if self.max_request_bytes < self.block_bytes {
            return wrong("max_request_bytes is smaller than a block (block_bytes)".to_owned());
        }
        if self.cache_bytes < self.block_bytes {
            return wrong("cache_bytes is smaller than a block (block_bytes)".to_owned());
        }
        if self.timeout.is_zero() {
            return wrong("the timeout is 0: no request could be answered".to_owned());
        }
        for (name, duration) in [
            ("timeout", self.timeout),
            ("first_delay", self.first_delay),
            ("max_delay", self.max_delay),
            ("max_retry_after", self.max_retry_after),
        ] {
            if duration > MAX_DURATION {
                return wrong(format!("{name} is longer than a day"));
            }
        }
        for (name, value) in &self.headers {
            let own = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
            if own {
                return wrong(format!("the header {name} is set by the client itself"));
            }
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                let name = name.escape_default();
                return wrong(format!("the header \"{name}\" has characters that headers cannot have"));
            }
        }
        Ok(())
    }
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            timeout: Duration::from_secs(10),
            min_rate: 16 << 10,
            retries: 4,
            first_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(30),
            max_redirects: 5,
            cache_bytes: 16 << 20,
            block_bytes: 64 << 10,
            max_request_bytes: 1 << 20,
            whole_bytes: 32 << 20,
            max_requests: 4,
            headers: Vec::new(),
            proxy: None,
            authorities: None,
        }
    }
}

/// Shows names of headers, not their values, and whether there is a proxy, not its address.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpOptions")
            .field("timeout", &self.timeout)
            .field("min_rate", &self.min_rate)
            .field("retries", &self.retries)
            .field("first_delay", &self.first_delay)
            .field("max_delay", &self.max_delay)
            .field("max_retry_after", &self.max_retry_after)
            .field("max_redirects", &self.max_redirects)
            .field("cache_bytes", &self.cache_bytes)
            .field("block_bytes", &self.block_bytes)
            .field("max_request_bytes", &self.max_request_bytes)
            .field("whole_bytes", &self.whole_bytes)
            .field("max_requests", &self.max_requests)
            .field("headers", &headers)
            .field("proxy", &self.proxy.is_some())
            .field("authorities", &self.authorities.is_some())
            .finish()
    }
}
