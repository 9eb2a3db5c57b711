//! The description of a file: any bytes; and what was understood must come back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::record::{decode, encode};

fuzz_target!(|data: &[u8]| {
    if let Ok(description) = decode(data) {
        let mut bytes = Vec::new();
        encode(&description, &mut bytes);
        assert_eq!(decode(&bytes).as_ref(), Ok(&description));
    }
});
