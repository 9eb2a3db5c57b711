//! The settings of encrypted connections, and what a build without the feature `https` does in their place.

use crate::address::Address;
use crate::failure::Failure;
use meshreel::Error;
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

#[cfg(not(feature = "https"))]
const WITHOUT: &str = "https:// needs a build with the feature 'https' of meshreel-http";

/// Sets the authorities that are trusted: those of a PEM, or the built-in ones.
#[cfg(feature = "https")]
pub(crate) fn configure(
    config: ConfigBuilder<AgentScope>,
    authorities: Option<&[u8]>,
) -> Result<ConfigBuilder<AgentScope>, Error> {
    use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
    let mut roots = RootCerts::WebPki;
    if let Some(pem) = authorities {
        let wrong = || Error::misuse("the authorities are no certificates in the form PEM");
        let mut certificates = Vec::new();
        for item in parse_pem(pem) {
            if let PemItem::Certificate(certificate) = item.map_err(|_| wrong())? {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            return Err(wrong());
        }
        roots = RootCerts::from(certificates);
    }
    Ok(config.tls_config(TlsConfig::builder().root_certs(roots).build()))
}

/// Fails if authorities are given, as nothing would use them.
#[cfg(not(feature = "https"))]
pub(crate) fn configure(
    config: ConfigBuilder<AgentScope>,
    authorities: Option<&[u8]>,
) -> Result<ConfigBuilder<AgentScope>, Error> {
    match authorities {
        Some(_) => Err(Error::misuse(WITHOUT)),
        None => Ok(config),
    }
}

/// Checks that an address can be opened by this build.
#[cfg(feature = "https")]
pub(crate) fn check_scheme(_: &Address) -> Result<(), Failure> {
    Ok(())
}

/// Checks that an address can be opened by this build.
#[cfg(not(feature = "https"))]
pub(crate) fn check_scheme(address: &Address) -> Result<(), Failure> {
    if address.is_secure() { Err(Failure::unsupported(WITHOUT)) } else { Ok(()) }
}

/// Returns the failure for an error of encryption; `None` for other errors.
#[cfg(feature = "https")]
pub(crate) fn failure(error: &ureq::Error) -> Option<Failure> {
    match error {
        ureq::Error::Rustls(error) => {
            let what = format!("there is no secure connection: {error}");
            Some(Failure::permanent(std::io::ErrorKind::Other, what))
        }
        _ => None,
    }
}

/// Returns the failure for an error of encryption; `None` for other errors.
#[cfg(not(feature = "https"))]
pub(crate) fn failure(_: &ureq::Error) -> Option<Failure> {
    None
}
