//! Structures that begin with their own size, so that they can grow: a program compiled with a shorter one
//! works with a later library, and a program with a longer one works with an earlier library as long as the
//! new members are 0.

use crate::pointers::{list, write_out};
use meshreel::Error;

/// An upper limit for the size of these structures, to detect wrong sizes.
const MAX_STRUCT_BYTES: usize = 1 << 12;

/// A structure whose first member is its size in bytes.
///
/// # Safety
/// The type is `repr(C)`, its first member is a `usize`, and any bytes are a valid value.
pub(crate) unsafe trait Prefixed: Copy {}

/// Returns the size stored in a structure.
///
/// # Safety
/// Null, or a pointer to a structure that begins with its size.
unsafe fn size_in<T: Prefixed>(pointer: *const T, what: &str) -> Result<usize, Error> {
    // SAFETY: the caller's promise.
    let [size] = unsafe { list(pointer.cast::<usize>(), 1, what) }? else { return Ok(0) };
    match *size {
        size if size > size_of::<usize>() && size <= MAX_STRUCT_BYTES => Ok(size),
        size => Err(Error::misuse(format!(
            "{what} says that it has {size} bytes: set its member `size` to its sizeof"
        ))),
    }
}

/// Reads the caller's structure. Members that it is too short for, and all of them if the pointer is null,
/// have their default.
///
/// # Safety
/// Null, or a pointer to a structure that begins with its size and is as large as that says.
pub(crate) unsafe fn read<T: Prefixed>(pointer: *const T, default: T, what: &str) -> Result<T, Error> {
    if pointer.is_null() {
        return Ok(default);
    }
    // SAFETY: the caller's promise.
    let size = unsafe { size_in(pointer, what) }?;
    if size > size_of::<T>() {
        // SAFETY: as above.
        let bytes = unsafe { list(pointer.cast::<u8>(), size, what) }?;
        if bytes[size_of::<T>()..].iter().any(|byte| *byte != 0) {
            let what = format!("{what} asks for more than this library knows: install that of the header");
            return Err(Error::Unsupported { path: "meshreel".into(), what });
        }
    }
    let mut value = default;
    let bytes = size.min(size_of::<T>());
    // SAFETY: both have `bytes` bytes, any bytes are a valid value, and they do not overlap.
    unsafe { pointer.cast::<u8>().copy_to_nonoverlapping((&raw mut value).cast(), bytes) };
    Ok(value)
}

/// Writes as many members as the caller's structure has room for; its size is not changed.
///
/// # Safety
/// Null, or a pointer to a structure that begins with its size and is as large as that says.
pub(crate) unsafe fn write<T: Prefixed>(pointer: *mut T, value: T, what: &str) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    let size = unsafe { size_in(pointer, what) }?;
    let bytes = size.min(size_of::<T>());
    let out = pointer.cast::<u8>();
    // SAFETY: as above; the rest is zeroed, so that none of it is uninitialized.
    unsafe {
        (&raw const value).cast::<u8>().copy_to_nonoverlapping(out, bytes);
        out.add(bytes).write_bytes(0, size - bytes);
        write_out(out.cast::<usize>(), size, what)
    }
}

/// Writes the default value, and the size of the caller's structure.
///
/// # Safety
/// Null, or a pointer to `size` bytes.
pub(crate) unsafe fn init<T: Prefixed>(
    pointer: *mut T,
    size: usize,
    value: T,
    what: &str,
) -> Result<(), Error> {
    if size <= size_of::<usize>() || size > MAX_STRUCT_BYTES {
        return Err(Error::misuse(format!("{what} of {size} bytes: the size must be its sizeof")));
    }
    // SAFETY: the caller's promise.
    unsafe {
        write_out(pointer.cast::<usize>(), size, what)?;
        write(pointer, value, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Short {
        size: usize,
        a: u64,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Long {
        size: usize,
        a: u64,
        b: u64,
    }

    // SAFETY: `repr(C)`, begins with its size, contains only numbers.
    unsafe impl Prefixed for Short {}
    // SAFETY: as above.
    unsafe impl Prefixed for Long {}

    const fn long(size: usize, a: u64, b: u64) -> Long {
        Long { size, a, b }
    }

    #[test]
    fn shorter_and_longer_structures_are_understood() {
        let default = long(24, 1, 2);
        let short = Short { size: 16, a: 7 };
        // SAFETY: each pointer is to a structure as large as its size says.
        unsafe {
            assert_eq!(read((&raw const short).cast(), default, "it").unwrap(), long(16, 7, 2));
            assert_eq!(read(std::ptr::null(), default, "it").unwrap(), default);
            let old = Short { size: 16, a: 0 };
            assert_eq!(
                read((&raw const default).cast(), old, "it").map(|s| s.a).ok(),
                None,
                "b is asked for"
            );
            let plain = long(24, 5, 0);
            assert_eq!(read((&raw const plain).cast(), old, "it").unwrap().a, 5);
            let mut out = long(24, 0, 9);
            write((&raw mut out).cast(), Short { size: 16, a: 3 }, "it").unwrap();
            assert_eq!(out, long(24, 3, 0));
            let mut out = [16usize, 0, 77];
            write(out.as_mut_ptr().cast(), default, "it").unwrap();
            assert_eq!(out, [16, 1, 77], "nothing beyond the size");
            for size in [0, 8, 1 << 20] {
                let wrong = short.with(size);
                assert!(matches!(read(&raw const wrong, short, "it"), Err(Error::Misuse { .. })));
            }
        }
    }

    impl Short {
        fn with(self, size: usize) -> Short {
            Short { size, ..self }
        }
    }
}
