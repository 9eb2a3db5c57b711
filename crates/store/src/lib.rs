//! Object stores: `s3://bucket/name`, `gs://bucket/name` and `az://container/name` as names of files.
//!
//! Credentials and endpoints come from the environment only (`AWS_…`, `GOOGLE_…`, `AZURE_…`, as read by the
//! stores' own tools). Files are read in ranges on demand, and uploaded whole or not at all. Requests that
//! fail temporarily are repeated a bounded number of times; the final error contains no credentials.

mod bucket;
mod error;
mod object_reader;

use bucket::{Bucket, Key};
use error::to_io_error;
use meshreel_files::ReadAt;
use meshreel_files::store::{Store, connect as connect_store};
use object_reader::{MAX_REQUEST_BYTES, ObjectReader};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig, WriteMultipart,
};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The number of retries of a request, and the longest time for all of them.
const MAX_RETRIES: usize = 5;
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// The timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of parts of an upload in flight at once, and the largest number of parts of one upload.
const MAX_PARTS_IN_FLIGHT: usize = 4;
const MAX_UPLOAD_PARTS: u64 = 9000;

/// Connects the stores for the whole process. No request is made before one of their names is used.
pub fn connect() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    connect_store(Stores { runtime: Arc::new(runtime), buckets: Mutex::default() });
    Ok(())
}

struct Stores {
    runtime: Arc<Runtime>,
    /// Buckets by scheme and name.
    buckets: Mutex<HashMap<String, Bucket>>,
}

impl Stores {
    /// Returns the bucket of a URL and the key within it.
    fn locate(&self, url: &str) -> Result<(Bucket, Key)> {
        let wrong = |what: &str| Error::new(ErrorKind::InvalidInput, what.to_string());
        let start = url.find("://").map_or(0, |at| at + 3);
        let (bucket, key) = url[start..].split_once('/').unwrap_or((&url[start..], ""));
        if bucket.is_empty() {
            return Err(wrong("it names no bucket, as in s3://bucket/name"));
        }
        // On Windows, joined paths contain `\`.
        let key = key.replace('\\', "/");
        let key = Key::parse(key.trim_end_matches('/')).map_err(|e| wrong(&e.to_string()))?;
        let whole = &url[..start + bucket.len()];
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get(whole) {
            return Ok((bucket.clone(), key));
        }
        let store = build(whole).map_err(|error| to_io_error(&error))?;
        let bucket = Bucket { runtime: self.runtime.clone(), store };
        buckets.insert(whole.to_string(), bucket.clone());
        Ok((bucket, key))
    }
}

fn build(bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: MAX_RETRIES,
        retry_timeout: RETRY_TIMEOUT,
    };
    // Self-hosted stores are often reached without encryption; the environment says so.
    let allowed = |name: &str| std::env::var(name).is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    let client =
        |http: &str| ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_allow_http(allowed(http));
    Ok(match bucket.split("://").next() {
        Some("s3") => {
            let builder = AmazonS3Builder::from_env().with_url(bucket).with_retry(retry);
            Arc::new(builder.with_client_options(client("AWS_ALLOW_HTTP")).build()?)
        }
        Some("gs") => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(bucket).with_retry(retry);
            Arc::new(builder.with_client_options(client("GOOGLE_ALLOW_HTTP")).build()?)
        }
        _ => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(bucket).with_retry(retry);
            Arc::new(builder.with_client_options(client("AZURE_ALLOW_HTTP")).build()?)
        }
    })
}

impl Store for Stores {
    fn open(&self, url: &str) -> Result<Arc<dyn ReadAt>> {
        let (bucket, key) = self.locate(url)?;
        Ok(Arc::new(ObjectReader::open(bucket, key)?))
    }

    fn fetch(&self, url: &str) -> Result<File> {
        let (bucket, key) = self.locate(url)?;
        let bytes = ObjectReader::open(bucket, key)?;
        let mut file = tempfile::tempfile()?;
        let mut room = vec![0; MAX_REQUEST_BYTES.min(bytes.len()) as usize];
        let mut at = 0;
        while at < bytes.len() {
            let piece = &mut room[..MAX_REQUEST_BYTES.min(bytes.len() - at) as usize];
            bytes.read_at(at, piece)?;
            file.write_all(piece)?;
            at += piece.len() as u64;
        }
        file.rewind()?;
        Ok(file)
    }

    fn upload(&self, file: &Path, url: &str) -> Result<()> {
        let (bucket, key) = self.locate(url)?;
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        if length <= MAX_REQUEST_BYTES {
            let mut bytes = Vec::with_capacity(length as usize);
            file.read_to_end(&mut bytes)?;
            let put = bucket.store.put(&key, PutPayload::from(bytes));
            return bucket.runtime.block_on(put).map(|_| ()).map_err(|error| to_io_error(&error));
        }
        bucket.runtime.block_on(upload_in_parts(&*bucket.store, &key, &mut file, length))
    }

    fn names(&self, url: &str) -> Result<Vec<String>> {
        let (bucket, key) = self.locate(url)?;
        let list = bucket.store.list_with_delimiter(Some(&key));
        let found = bucket.runtime.block_on(list).map_err(|error| to_io_error(&error))?;
        let name = |object: &object_store::ObjectMeta| object.location.filename().map(str::to_string);
        Ok(found.objects.iter().filter_map(name).collect())
    }
}

/// Uploads a file in parts. None of it is visible before all parts have arrived.
async fn upload_in_parts(store: &dyn ObjectStore, key: &Key, file: &mut File, length: u64) -> Result<()> {
    let part = MAX_REQUEST_BYTES.max(length.div_ceil(MAX_UPLOAD_PARTS));
    let upload = store.put_multipart(key).await.map_err(|error| to_io_error(&error))?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, part as usize);
    let mut room = vec![0; part as usize];
    loop {
        let read = match file.read(&mut room) {
            Ok(0) => break,
            Ok(read) => Ok(read),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let room_for_more =
            upload.wait_for_capacity(MAX_PARTS_IN_FLIGHT).await.map_err(|error| to_io_error(&error));
        match read.and_then(|read| room_for_more.map(|()| read)) {
            Ok(read) => upload.write(&room[..read]),
            Err(error) => {
                // The first error is the one returned.
                let _ = upload.abort().await;
                return Err(error);
            }
        }
    }
    upload.finish().await.map(|_| ()).map_err(|error| to_io_error(&error))
}
