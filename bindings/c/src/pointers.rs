//! The caller's pointers. They are checked as far as possible; those that cannot be valid are refused as
//! misuse. Lists and texts are written by count-then-fill.

use meshreel::Error;
use std::ffi::{CStr, c_char};

/// Refuses a pointer that is null or not aligned.
fn check<T>(pointer: *const T, what: &str) -> Result<(), Error> {
    if pointer.is_null() {
        return Err(Error::misuse(format!("{what} is null")));
    }
    if !pointer.is_aligned() {
        return Err(Error::misuse(format!("{what} is not aligned to {} bytes", align_of::<T>())));
    }
    Ok(())
}

/// Borrows an object of the caller's.
///
/// # Safety
/// Null, or a pointer to a live `T` that is not changed meanwhile.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Error> {
    check(pointer, what)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Borrows an object of the caller's for changes.
///
/// # Safety
/// Null, or a pointer to a live `T` that is not used otherwise meanwhile.
pub(crate) unsafe fn unique<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Error> {
    check(pointer, what)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// Writes a handle or any other value.
///
/// # Safety
/// Null, or valid for the write of a `T`.
pub(crate) unsafe fn write_out<T>(place: *mut T, value: T, what: &str) -> Result<(), Error> {
    check(place, what)?;
    // SAFETY: as above; the old content needs no drop.
    unsafe { place.write(value) };
    Ok(())
}

/// Creates an object and writes its handle; the pointer is checked before the object is created.
///
/// # Safety
/// Null, or valid for the write of a pointer.
pub(crate) unsafe fn make<T>(
    place: *mut *mut T,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { write_out(place, std::ptr::null_mut(), "the place for the handle") }?;
    let handle = Box::into_raw(Box::new(make()?));
    // SAFETY: as above.
    unsafe { write_out(place, handle, "the place for the handle") }
}

/// Frees an object; null is allowed.
///
/// # Safety
/// Null, or from [`make`] and not freed yet.
pub(crate) unsafe fn free<T>(handle: *mut T) -> Result<(), Error> {
    if !handle.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(handle) });
    }
    Ok(())
}

fn check_list<T>(pointer: *const T, count: usize, what: &str) -> Result<(), Error> {
    check(pointer, what)?;
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(()),
        _ => Err(Error::misuse(format!("{count} {what} are more than there is memory"))),
    }
}

/// Borrows the caller's list; the pointer may be null if `count` is 0.
///
/// # Safety
/// Null, or a pointer to `count` values of `T`.
pub(crate) unsafe fn list<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    check_list(pointer, count, what)?;
    // SAFETY: not null, aligned, no larger than memory; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Borrows the caller's buffer for writing; the pointer may be null if `count` is 0.
///
/// # Safety
/// Null, or a pointer to `count` values of `T` that are not used otherwise meanwhile. They may be
/// uninitialized if any bytes are a valid `T`.
pub(crate) unsafe fn buffer<'a, T: bytemuck::Pod>(
    pointer: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [T], Error> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_list(pointer, count, what)?;
    // SAFETY: not null, aligned, no larger than memory; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// Refuses memory that is read and memory that is written if they overlap; each is given as start and number
/// of values.
pub(crate) fn check_disjoint<T, U>(read: (*const T, usize), written: (*mut U, usize)) -> Result<(), Error> {
    let end = |start: usize, count: usize, size: usize| start.saturating_add(count.saturating_mul(size));
    let (a, b) = (read.0.addr(), written.0.addr());
    let meet = a < end(b, written.1, size_of::<U>()) && b < end(a, read.1, size_of::<T>());
    match meet && read.1 > 0 && written.1 > 0 {
        true => Err(Error::misuse("what is read and what is written overlap")),
        false => Ok(()),
    }
}

/// Borrows a text of the caller's.
///
/// # Safety
/// Null, or a pointer to bytes that end with a zero.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Error> {
    check(pointer, what)?;
    // SAFETY: the caller's promise.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|_| Error::misuse(format!("{what} is not UTF-8")))
}

/// Returns the name that errors give to bytes that are no file: the caller's, or "(memory)" for null.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn name_of_bytes<'a>(name: *const c_char) -> Result<&'a str, Error> {
    if name.is_null() {
        return Ok("(memory)");
    }
    // SAFETY: the caller's promise.
    unsafe { text(name, "the name") }
}

/// Writes the number of values and, if there is a buffer, all of them. The buffer is null or must have room
/// for all.
///
/// # Safety
/// `out` is null or has room for `capacity` values; `count` is null or valid for one write.
pub(crate) unsafe fn fill<T: Copy>(
    values: &[T],
    out: *mut T,
    capacity: usize,
    count: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { fill_with(values.len(), out, capacity, count, |i| values[i]) }
}

/// As [`fill`], with a function that returns the values one by one.
///
/// # Safety
/// As for [`fill`].
pub(crate) unsafe fn fill_with<T: Copy>(
    len: usize,
    out: *mut T,
    capacity: usize,
    count: *mut usize,
    value: impl Fn(usize) -> T,
) -> Result<(), Error> {
    if !count.is_null() {
        // SAFETY: the caller's promise.
        unsafe { write_out(count, len, "the place for the count") }?;
    }
    if out.is_null() {
        return match capacity {
            0 if !count.is_null() => Ok(()),
            0 => Err(Error::misuse("neither a buffer nor a place for the count")),
            _ => Err(Error::misuse("the buffer is null and has a capacity")),
        };
    }
    if capacity < len {
        return Err(Error::misuse(format!("there are {len}, the buffer has room for {capacity}")));
    }
    check(out, "the buffer")?;
    for i in 0..len {
        // SAFETY: there is room for `len` values.
        unsafe { out.add(i).write(value(i)) };
    }
    Ok(())
}

/// As [`fill`], with a zero after the text, which counts towards the capacity but not the length.
///
/// # Safety
/// As for [`fill`].
pub(crate) unsafe fn fill_text(
    text: &str,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Result<(), Error> {
    let bytes = text.as_bytes();
    if !length.is_null() {
        // SAFETY: the caller's promise.
        unsafe { write_out(length, bytes.len(), "the place for the length") }?;
    }
    if out.is_null() && capacity == 0 && !length.is_null() {
        return Ok(());
    }
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(0) as c_char;
    // SAFETY: the caller's promise.
    unsafe { fill_with(bytes.len() + 1, out, capacity, std::ptr::null_mut(), byte) }
}

/// Refuses a number that does not exist.
pub(crate) fn check_number(number: usize, count: usize, what: &str) -> Result<(), Error> {
    match number < count {
        true => Ok(()),
        false => Err(Error::misuse(format!("{what} {number} of {count} does not exist"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    fn refused<T>(result: Result<T, Error>) -> bool {
        matches!(result, Err(Error::Misuse { .. }))
    }

    #[test]
    fn lists_are_counted_and_then_filled() {
        let (mut count, mut out) = (0, [0u32; 4]);
        let values = [5, 6, 7];
        // SAFETY: the pointers are null or to local variables.
        unsafe {
            assert!(fill(&values, null_mut(), 0, &raw mut count).is_ok() && count == 3);
            count = 0;
            assert!(refused(fill(&values, out.as_mut_ptr(), 2, &raw mut count)) && count == 3);
            assert_eq!(out, [0; 4]);
            assert!(fill(&values, out.as_mut_ptr(), 4, null_mut()).is_ok());
            assert_eq!(out, [5, 6, 7, 0]);
            assert!(refused(fill(&values, null_mut(), 3, &raw mut count)));
            assert!(refused(fill(&values, null_mut(), 0, null_mut())));
            let odd = out.as_mut_ptr().cast::<u8>().add(1).cast::<u32>();
            assert!(refused(fill(&values[..1], odd, 3, null_mut())));
        }
    }

    #[test]
    fn texts_end_with_a_zero() {
        let (mut length, mut out) = (0, [1 as c_char; 4]);
        // SAFETY: as above.
        unsafe {
            assert!(fill_text("abc", null_mut(), 0, &raw mut length).is_ok() && length == 3);
            assert!(refused(fill_text("abc", out.as_mut_ptr(), 3, &raw mut length)));
            assert!(fill_text("abc", out.as_mut_ptr(), 4, &raw mut length).is_ok() && length == 3);
            assert_eq!(CStr::from_ptr(out.as_ptr()), c"abc");
            assert_eq!(text(out.as_ptr(), "it").unwrap(), "abc");
            out[0] = 0xFFu8 as c_char;
            assert!(refused(text(out.as_ptr(), "it")) && refused(text(null(), "it")));
        }
    }

    #[test]
    fn what_cannot_be_a_list_is_none() {
        let numbers = [1u64, 2];
        // SAFETY: as above.
        unsafe {
            assert!(refused(list::<u64>(null(), 1, "numbers")));
            assert!(list::<u64>(null(), 0, "numbers").unwrap().is_empty());
            assert!(refused(list(numbers.as_ptr(), usize::MAX, "numbers")));
            assert!(refused(shared(numbers.as_ptr().cast::<u8>().add(1).cast::<u64>(), "it")));
            assert_eq!(list(numbers.as_ptr(), 2, "numbers").unwrap(), [1, 2]);
        }
        let start = numbers.as_ptr();
        assert!(check_disjoint((start, 1), (start.wrapping_add(1).cast_mut(), 1)).is_ok());
        assert!(refused(check_disjoint((start, 2), (start.wrapping_add(1).cast_mut(), 1))));
        assert!(check_disjoint((start, 0), (start.cast_mut(), 2)).is_ok());
        assert!(refused(check_number(2, 2, "number")) && check_number(1, 2, "number").is_ok());
    }
}
