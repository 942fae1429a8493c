//! How long an endpoint asks to be left alone.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// `retry-after-ms`, or `retry-after` in seconds or as a date. What cannot be read says nothing.
pub(super) fn asked_for(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |value: &reqwest::header::HeaderValue| value.to_str().ok().map(|text| text.trim().to_owned());
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(millis) = headers.get("retry-after-ms").and_then(text).and_then(|text| number(&text)) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = headers.get(RETRY_AFTER).and_then(text)?;
    match number(&after) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        // A date that has passed means now.
        None => Some(httpdate::parse_http_date(&after).ok()?.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        asked_for(&headers, httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap())
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(asked("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(asked("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(asked("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
    }

    proptest! {
        #[test]
        fn nonsense_says_nothing_or_a_time(value in "[ -~]{0,30}") {
            asked("retry-after", &value);
            asked("retry-after-ms", &value);
        }

        #[test]
        fn times_that_cannot_be_are_none(value in prop::sample::select(vec!["-1", "NaN", "inf", "1e300", "soon"])) {
            prop_assert_eq!(asked("retry-after", value), None);
        }
    }
}
