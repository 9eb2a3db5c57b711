//! The waits between attempts: exponential, without jitter so that a run can be repeated, and what a server
//! asks for with `Retry-After`, both with a cap.

use std::time::Duration;

/// Seconds of a day.
const DAY_SECONDS: i64 = 24 * 3600;

/// Returns the wait before a retry after so many failures in a row: `first`, doubled with each, at most
/// `max`.
pub(crate) fn back_off(first: Duration, max: Duration, failures: u32) -> Duration {
    let factor = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(max)
}

/// Reads the value of `Retry-After`: seconds, or a date. A date is measured from the date of the same answer,
/// so that the clock of this machine does not matter; without that date it is ignored.
pub(crate) fn parse_retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let seconds = parse_date(value)? - parse_date(date?)?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Reads a date such as `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that servers may send (RFC 9110,
/// 5.6.7), as seconds since 1970.
fn parse_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.trim().split_once(", ")?.1.split(' ');
    let number = |digits: usize, text: &str| -> Option<i64> {
        let is_number = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| is_number)
    };
    let day = number(2, words.next()?)?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as i64 + 1;
    let year = number(4, words.next()?)?;
    let mut clock = words.next()?.split(':');
    let hour = number(2, clock.next()?)?;
    let minute = number(2, clock.next()?)?;
    let second = number(2, clock.next()?)?;
    if words.next() != Some("GMT") || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_since_1970(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second)
}

/// Returns the number of days from 1970-01-01 to a date of the Gregorian calendar. The year is counted from
/// March on, so that a leap day is its last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap() {
        let delay =
            |failures| back_off(Duration::from_millis(250), Duration::from_secs(3), failures).as_millis();
        assert_eq!([1, 2, 3, 4, 5, 6].map(delay), [250, 500, 1000, 2000, 3000, 3000]);
        assert_eq!([0, 31, 32, 33, u32::MAX].map(delay), [250, 3000, 3000, 3000, 3000]);
    }

    #[test]
    fn dates_are_seconds() {
        // From the command `date -u +%s -d DATE`.
        for (date, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Mon, 31 Dec 2035 12:00:00 GMT", 2_082_715_200),
        ] {
            assert_eq!(parse_date(date), Some(seconds), "{date}");
        }
        for date in
            ["", "now", "Sun, 06 Nov 1994", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT"]
        {
            assert_eq!(parse_date(date), None, "{date}");
        }
    }

    #[test]
    fn a_server_may_ask_for_a_delay_in_two_forms() {
        let now = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        let seconds = |value, date| parse_retry_after(value, date).map(|delay| delay.as_secs());
        assert_eq!(seconds("120", None), Some(120));
        assert_eq!(seconds(" 0 ", None), Some(0));
        assert_eq!(seconds("99999999999999999999999", None), Some(u64::MAX));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:07 GMT", now), Some(30));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(0));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:07 GMT", None), None);
        for value in ["", "-1", "1.5", "soon"] {
            assert_eq!(seconds(value, now), None, "{value}");
        }
    }
}
