//! Formats errors for people.

/// An impossible request; the exit code is 2, as for wrong arguments.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns the exit code of an error.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() { 2 } else { 1 }
}

/// Returns an error and its causes in one line, without causes that it already contains.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut out = error.to_string();
    for reason in error.chain().skip(1).map(ToString::to_string) {
        if !out.contains(&reason) {
            out += &format!(": {reason}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn each_reason_is_said_once() {
        let inner: Result<(), _> = Err(std::io::Error::other("it is gone"));
        let error =
            inner.context("a.reel: could not be opened: it is gone").context("the first file").unwrap_err();
        assert_eq!(one_line(&error), "the first file: a.reel: could not be opened: it is gone");
    }
}
