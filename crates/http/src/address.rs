//! Addresses of files: `http://` and `https://` only. What is shown of one has no query, because queries sign
//! addresses, and no user, because addresses with one are refused.

use std::fmt;
use ureq::http::Uri;
use ureq::http::uri::Scheme;

/// The longest address that is accepted, in bytes.
const MAX_ADDRESS_BYTES: usize = 8 << 10;

/// The address of a file on a server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address(Uri);

impl Address {
    /// Reads an address; fails with the reason.
    pub fn parse(text: &str) -> Result<Address, &'static str> {
        if text.len() > MAX_ADDRESS_BYTES {
            return Err("it is longer than 8 KiB");
        }
        let text = text.split('#').next().unwrap_or_default();
        let wrong = "it is no address; characters other than those of URLs must be percent-encoded";
        let uri: Uri = text.parse().map_err(|_| wrong)?;
        let is_web = uri.scheme() == Some(&Scheme::HTTP) || uri.scheme() == Some(&Scheme::HTTPS);
        if !is_web {
            return Err("an address begins with http:// or https://");
        }
        let authority = uri.authority().ok_or(wrong)?;
        if authority.as_str().contains('@') {
            return Err("an address names no user and no password: give them as a header");
        }
        if authority.host().is_empty() {
            return Err("it names no server");
        }
        Ok(Address(uri))
    }

    pub fn uri(&self) -> &Uri {
        &self.0
    }

    /// `true` if the connection is encrypted.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// `true` if both have the same scheme, host and port.
    pub fn has_origin_of(&self, other: &Address) -> bool {
        let port =
            |address: &Address| address.0.port_u16().unwrap_or(if address.is_secure() { 443 } else { 80 });
        let host = |address: &Address| address.0.host().unwrap_or_default().to_ascii_lowercase();
        self.0.scheme() == other.0.scheme() && host(self) == host(other) && port(self) == port(other)
    }

    /// Returns the address that `location`, which the server of this one named, leads to (RFC 3986, 5.2).
    pub fn resolve(&self, location: &str) -> Result<Address, &'static str> {
        let location = location.split('#').next().unwrap_or_default();
        let scheme = self.0.scheme_str().unwrap_or_default();
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        let path = self.0.path();
        let before_query = location.split('?').next().unwrap_or_default();
        let names_scheme = before_query.split('/').next().unwrap_or_default().contains(':');
        let text = if names_scheme {
            location.to_owned()
        } else if location.starts_with("//") {
            format!("{scheme}:{location}")
        } else if location.starts_with('/') {
            format!("{scheme}://{authority}{location}")
        } else if location.is_empty() || location.starts_with('?') {
            format!("{scheme}://{authority}{path}{location}")
        } else {
            let query = &location[before_query.len()..];
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let joined = without_dots(&format!("{folder}/{before_query}"));
            format!("{scheme}://{authority}{joined}{query}")
        };
        Address::parse(&text)
    }
}

/// Removes the segments `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let count = path.split('/').count();
    for (number, segment) in path.split('/').enumerate().skip(1) {
        match segment {
            "." | ".." => {
                if segment == ".." {
                    segments.pop();
                }
                // A path that ends with one ends with a folder.
                if number + 1 == count {
                    segments.push("");
                }
            }
            _ => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Shows the address without its query.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.scheme_str().unwrap_or_default();
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        let query = if self.0.query().is_some() { "?…" } else { "" };
        write!(f, "{scheme}://{authority}{}{query}", self.0.path())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_address_are_not_shown() {
        let address = Address::parse("https://cdn.example/a/b.reel?sig=secret#part").unwrap();
        assert_eq!(address.to_string(), "https://cdn.example/a/b.reel?…");
        assert_eq!(format!("{address:?}"), "https://cdn.example/a/b.reel?…");
        assert_eq!(address.uri().to_string(), "https://cdn.example/a/b.reel?sig=secret");
        let error = Address::parse("https://me:secret@cdn.example/a.reel").unwrap_err();
        assert!(!error.contains("secret"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["", "a.reel", "/a.reel", "ftp://h/a", "file:///a", "http://", "http:///a", "http://h/a b"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
        assert!(Address::parse(&format!("http://h/{}", "a".repeat(9 << 10))).is_err());
    }

    #[test]
    fn locations_are_resolved_against_the_address() {
        let base = Address::parse("http://h:81/a/b/c.reel?q=1").unwrap();
        for (location, result) in [
            ("https://other/x", "https://other/x"),
            ("//other/x", "http://other/x"),
            ("/x/y?z", "http://h:81/x/y?z"),
            ("d.reel", "http://h:81/a/b/d.reel"),
            ("./d.reel?e=f/../g", "http://h:81/a/b/d.reel?e=f/../g"),
            ("../d.reel", "http://h:81/a/d.reel"),
            ("../../../d.reel", "http://h:81/d.reel"),
            ("..", "http://h:81/a/"),
            ("?q=2", "http://h:81/a/b/c.reel?q=2"),
            ("d?at=b:c", "http://h:81/a/b/d?at=b:c"),
            ("d.reel#part", "http://h:81/a/b/d.reel"),
        ] {
            assert_eq!(base.resolve(location).unwrap().uri().to_string(), result, "{location}");
        }
        for location in ["ftp://h/a", "javascript:x", "http://me:pw@h/a", "file:///etc", "a b"] {
            assert!(base.resolve(location).is_err(), "{location}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let parse = |text| Address::parse(text).unwrap();
        let base = parse("https://h/a");
        assert!(base.has_origin_of(&parse("https://H:443/b?c")));
        for other in ["http://h/a", "https://h:444/a", "https://g.h/a"] {
            assert!(!base.has_origin_of(&parse(other)), "{other}");
        }
    }
}
