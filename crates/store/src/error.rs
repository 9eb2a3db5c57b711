//! Errors of stores in a form that can be shown: without signed addresses and without credentials.

use object_store::Error as StoreError;
use std::io::{Error, ErrorKind};

/// Suffixes of the names of environment variables whose values are secret, or nearly so.
const SECRET_SUFFIXES: [&str; 7] = ["KEY", "KEY_ID", "TOKEN", "SECRET", "SAS", "PASSWORD", "CREDENTIALS"];

/// Converts an error of a store into an I/O error that can be shown.
pub fn to_io_error(error: &StoreError) -> Error {
    let (kind, what) = match error {
        StoreError::NotFound { .. } => (ErrorKind::NotFound, "there is no such object".to_string()),
        StoreError::Precondition { .. } => {
            (ErrorKind::Other, "it was replaced while it was read".to_string())
        }
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => (
            ErrorKind::PermissionDenied,
            "the store does not let these credentials do that; they come from the environment".to_string(),
        ),
        other => (ErrorKind::Other, redact(&chain(other))),
    };
    Error::new(kind, what)
}

/// An error and its sources in one line; sources that are already part of the text are left out.
fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        let text = reason.to_string();
        if !out.contains(&text) {
            out += &format!(": {text}");
        }
        source = reason.source();
    }
    out
}

/// Removes queries (the part after `?`) from addresses, and values of secret environment variables.
fn redact(text: &str) -> String {
    let is_secret = |name: &str| {
        ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|start| name.starts_with(start))
            && SECRET_SUFFIXES.iter().any(|end| name.ends_with(end))
    };
    let secrets: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| is_secret(name) && value.len() >= 4)
        .map(|(_, value)| value)
        .collect();
    let mut out = without_queries(text);
    for secret in &secrets {
        out = out.replace(secret.as_str(), "…");
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_queries(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = false;
    let mut address = false;
    for (at, c) in text.char_indices() {
        address |= text[at..].starts_with("://");
        let ends = c.is_whitespace() || "\"')>,".contains(c);
        if ends {
            (left, address) = (false, false);
        } else if c == '?' && address {
            left = true;
            out.push_str("?…");
        }
        if !left {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_signs_an_address_is_not_said() {
        let text = "error for (https://a.blob.net/c/d?sv=1&sig=abc%2F): sent? no";
        assert_eq!(without_queries(text), "error for (https://a.blob.net/c/d?…): sent? no");
    }
}
