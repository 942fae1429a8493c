//! What a search may spend, and what it has spent: requests, tokens, money, wall time.
//!
//! Owns the counting. A request is let through only if all that it might cost still fits, so that no budget is overrun by
//! what is in flight; what it really cost is counted when it is over. What a run spent before it was taken up again is
//! counted from its journal. Knows prices only as they are configured: what has none is said to have none.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::journal::{Entry, Record};
use crate::model::{ModelError, Origin, Request, Spent};

/// Limits; none where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Budget {
    /// Requests, failed ones too.
    pub requests: Option<u64>,
    /// Tokens of prompts and answers together.
    pub tokens: Option<u64>,
    /// Money, in the currency of the prices.
    #[serde(deserialize_with = "some_money")]
    pub cost: Option<f64>,
    /// Wall time, with the final check.
    #[serde(deserialize_with = "time")]
    pub time: Option<Duration>,
}

fn time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text)
        .map(Some)
        .map_err(|error| serde::de::Error::custom(format!("`{text}` is no time such as `90m`: {error}")))
}

/// An amount of money.
///
/// # Errors
/// What is none, in words.
pub fn amount(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(is_amount).ok_or_else(|| "an amount is a number such as 2.50".to_owned())
}

fn is_amount(amount: &f64) -> bool {
    amount.is_finite() && *amount >= 0.0
}

fn money<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let amount = f64::deserialize(deserializer)?;
    if is_amount(&amount) {
        Ok(amount)
    } else {
        Err(serde::de::Error::custom(format!("{amount} is no amount of money such as 2.50")))
    }
}

fn some_money<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    money(deserializer).map(Some)
}

impl Budget {
    /// These limits, and those of `other` where there are none.
    pub fn or(self, other: Budget) -> Budget {
        Budget {
            requests: self.requests.or(other.requests),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
            time: self.time.or(other.time),
        }
    }
}

/// Prices of a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Price {
    /// Of a prompt.
    #[serde(deserialize_with = "money")]
    pub input: f64,
    /// Of the part of a prompt that the endpoint had kept; as other input where left out.
    #[serde(default, deserialize_with = "some_money")]
    pub cached: Option<f64>,
    /// Of an answer.
    #[serde(deserialize_with = "money")]
    pub output: f64,
}

impl Price {
    /// Of an exchange.
    pub fn of(&self, input: u64, cached: u64, output: u64) -> f64 {
        let plain = input.saturating_sub(cached) as f64 * self.input;
        let kept = cached.min(input) as f64 * self.cached.unwrap_or(self.input);
        (plain + kept + output as f64 * self.output) / 1e6
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Requests that were made.
    pub requests: u64,
    /// Those that gave no answer.
    pub failed: u64,
    /// Tokens of prompts, the cached ones too.
    pub input: u64,
    /// Tokens of prompts that endpoints had kept.
    pub cached: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Money for what has a price.
    pub cost: f64,
    /// Requests to models without a price.
    pub unpriced: u64,
    /// Tokens were estimated for some.
    pub estimated: bool,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.estimated { "about " } else { "" };
        let requests = |count: u64| format!("{count} request{}", if count == 1 { "" } else { "s" });
        f.write_str(&requests(self.requests))?;
        if self.failed > 0 {
            write!(f, " ({} failed)", self.failed)?;
        }
        write!(f, ", {about}{} tokens in", self.input)?;
        if self.cached > 0 {
            write!(f, " ({} cached)", self.cached)?;
        }
        write!(f, " and {} out", self.output)?;
        match (self.unpriced, self.cost > 0.0) {
            (0, _) => write!(f, ", {:.2}", self.cost),
            (unpriced, true) => write!(f, ", {:.2} and {} without a price", self.cost, requests(unpriced)),
            (_, false) => f.write_str(", no price known"),
        }
    }
}

/// What all searches of a command spend from.
#[derive(Debug)]
pub struct Purse {
    budget: Budget,
    began: Instant,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// By the name that answers bear.
    prices: BTreeMap<String, Option<Price>>,
    /// By requests that are over.
    spent: Totals,
    /// Requests that are not.
    in_flight: u64,
    /// What those might cost.
    held_tokens: u64,
    held_cost: f64,
    /// Wall time of a run before it was taken up.
    earlier: Duration,
    /// How often each limit was warned of.
    warned: [u8; 4],
}

/// What one request in flight might cost.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    tokens: u64,
    cost: f64,
    price: Option<Price>,
    request: Request,
}

impl Purse {
    /// A purse with limits, none of them by default. Its time begins now.
    pub fn new(budget: Budget) -> Self {
        Self { budget, began: Instant::now(), counted: Mutex::default() }
    }

    /// Sets the price of a model, or that it has none, by the name that its answers bear; false where another model of
    /// that name has another one.
    pub fn set_price(&self, model: String, price: Option<Price>) -> bool {
        *self.lock().prices.entry(model).or_insert(price) == price
    }

    /// The price of a model.
    pub fn price(&self, model: &str) -> Option<Price> {
        self.lock().prices.get(model).copied().flatten()
    }

    /// Whether money is limited: every model needs a price then.
    pub fn limits_money(&self) -> bool {
        self.budget.cost.is_some()
    }

    /// Counts what a journal says that its run spent: what it never heard the end of counts in full.
    pub fn count(&self, journal: &[Entry]) {
        let mut open: BTreeMap<Origin, (&str, Request)> = BTreeMap::new();
        let mut counted = self.lock();
        for entry in journal {
            match &entry.record {
                Record::Request { origin, model, request } => {
                    if let Some((model, request)) = open.insert(*origin, (model, *request)) {
                        let hold = counted.hold(model, request);
                        counted.add(&hold, unsettled(request));
                    }
                }
                Record::Spent { origin, spent } => {
                    if let Some((model, request)) = open.remove(origin) {
                        let hold = counted.hold(model, request);
                        counted.add(&hold, *spent);
                    }
                }
                _ => {}
            }
        }
        for (model, request) in open.into_values() {
            let hold = counted.hold(model, request);
            counted.add(&hold, unsettled(request));
        }
        counted.earlier += active(journal);
    }

    /// Lets a request through, or says which budget it would break.
    ///
    /// # Errors
    /// [`ModelError::Budget`].
    pub fn hold_for(&self, model: &str, request: Request) -> Result<Hold, ModelError> {
        let mut counted = self.lock();
        let hold = counted.hold(model, request);
        let Totals { input, output, cost, .. } = counted.spent;
        let spent = |what: String| Err(ModelError::Budget { what });
        if let Some(limit) = self.budget.requests
            && counted.requests() >= limit
        {
            return spent(format!("{limit} requests"));
        }
        if let Some(limit) = self.budget.tokens
            && sum([input, output, counted.held_tokens, hold.tokens]) > limit
        {
            return spent(format!("{limit} tokens"));
        }
        if let Some(limit) = self.budget.cost
            && cost + counted.held_cost + hold.cost > limit
        {
            return spent(format!("{limit:.2} in money"));
        }
        if self.time_left_of(&counted).is_some_and(|left| left.is_zero()) {
            return spent(self.time_in_words());
        }
        counted.in_flight += 1;
        counted.held_tokens = sum([counted.held_tokens, hold.tokens]);
        counted.held_cost += hold.cost;
        Ok(hold)
    }

    /// A request is over.
    pub fn settle(&self, hold: Hold, spent: Spent) {
        let mut counted = self.lock();
        counted.release(&hold);
        counted.add(&hold, spent);
    }

    /// A request was never made.
    pub fn release(&self, hold: Hold) {
        self.lock().release(&hold);
    }

    /// How long models may still be asked and candidates be tried; the rest is for the final check.
    pub fn time_left(&self) -> Option<Duration> {
        self.time_left_of(&self.lock())
    }

    /// The budget of time in words, once it is spent but for the final check.
    pub fn is_late(&self) -> Option<String> {
        self.time_left().filter(Duration::is_zero).map(|_| self.time_in_words())
    }

    /// What was spent until now, by requests that are over.
    pub fn spent(&self) -> Totals {
        self.lock().spent
    }

    /// What has to be said now: each limit is warned of at 50 and at 80 percent, once.
    pub fn warnings(&self) -> Vec<String> {
        let mut counted = self.lock();
        let (Totals { input, output, cost, .. }, requests) = (counted.spent, counted.requests());
        let elapsed = counted.earlier + self.began.elapsed();
        let shares = [
            self.budget
                .requests
                .map(|limit| (requests as f64 / limit.max(1) as f64, format!("{limit} requests"))),
            self.budget
                .tokens
                .map(|limit| (sum([input, output]) as f64 / limit.max(1) as f64, format!("{limit} tokens"))),
            self.budget
                .cost
                .map(|limit| (cost / limit.max(f64::MIN_POSITIVE), format!("{limit:.2} in money"))),
            self.budget
                .time
                .map(|limit| (elapsed.as_secs_f64() / limit.as_secs_f64().max(1e-9), self.time_in_words())),
        ];
        let mut warnings = Vec::new();
        for (warned, share) in counted.warned.iter_mut().zip(shares) {
            let Some((share, what)) = share else { continue };
            let due = if share >= 0.8 { 2 } else { u8::from(share >= 0.5) };
            if due > *warned {
                *warned = due;
                warnings.push(format!("{:.0} % of the budget of {what} are spent", share * 100.0));
            }
        }
        warnings
    }

    fn time_left_of(&self, counted: &Counted) -> Option<Duration> {
        let budget = self.budget.time?;
        // The winner is validated and timed anew, and the archs that it was not tuned for are served.
        let reserve = (budget / 10).max(Duration::from_secs(30)).min(budget / 2);
        Some((budget - reserve).saturating_sub(counted.earlier + self.began.elapsed()))
    }

    fn time_in_words(&self) -> String {
        humantime::format_duration(self.budget.time.unwrap_or_default()).to_string()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        // Sums are changed as a whole.
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn hold(&self, model: &str, request: Request) -> Hold {
        let price = self.prices.get(model).copied().flatten();
        let output = request.output.unwrap_or(0);
        Hold {
            tokens: sum([request.input, output]),
            cost: price.map_or(0.0, |price| price.of(request.input, 0, output)),
            price,
            request,
        }
    }

    /// In flight it is made already, whatever comes of it.
    fn requests(&self) -> u64 {
        self.spent.requests + self.in_flight
    }

    fn release(&mut self, hold: &Hold) {
        self.in_flight -= 1;
        self.held_tokens = self.held_tokens.saturating_sub(hold.tokens);
        self.held_cost = (self.held_cost - hold.cost).max(0.0);
    }

    fn add(&mut self, hold: &Hold, spent: Spent) {
        let Spent { usage, estimated, failed } = spent;
        let totals = &mut self.spent;
        totals.requests += 1;
        totals.failed += u64::from(failed);
        totals.input = sum([totals.input, usage.input]);
        totals.cached = sum([totals.cached, usage.cached]);
        totals.output = sum([totals.output, usage.output]);
        totals.estimated |= estimated;
        match hold.price {
            Some(price) => totals.cost += price.of(usage.input, usage.cached, usage.output),
            None => totals.unpriced += 1,
        }
    }
}

impl Hold {
    /// What was asked for.
    pub fn request(&self) -> Request {
        self.request
    }
}

/// Figures as endpoints give them, who may say anything.
fn sum<const N: usize>(figures: [u64; N]) -> u64 {
    figures.into_iter().fold(0, u64::saturating_add)
}

/// A request whose end was never heard of: it may have cost all that it could.
pub fn unsettled(request: Request) -> Spent {
    let usage = crate::model::Usage { input: request.input, output: request.output.unwrap_or(0), cached: 0 };
    Spent { usage, estimated: true, failed: true }
}

/// How long a run was at work: from its beginning, and from each time it was taken up, to the last record there.
fn active(journal: &[Entry]) -> Duration {
    let mut sum = 0;
    let (mut began, mut last) = (None, 0_u64);
    for entry in journal {
        if began.is_none() || matches!(entry.record, Record::Resumed { .. }) {
            sum += began.map_or(0, |began: u64| last.saturating_sub(began));
            began = Some(entry.at);
        }
        last = entry.at;
    }
    Duration::from_millis(sum + began.map_or(0, |began| last.saturating_sub(began)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Usage;

    const PRICE: Price = Price { input: 2.0, cached: Some(0.5), output: 10.0 };

    fn purse(budget: Budget) -> Purse {
        let purse = Purse::new(budget);
        assert!(purse.set_price("priced".to_owned(), Some(PRICE)));
        purse
    }

    fn request(input: u64, output: u64) -> Request {
        Request { input, output: Some(output) }
    }

    fn spent(input: u64, cached: u64, output: u64) -> Spent {
        Spent { usage: Usage { input, output, cached }, estimated: false, failed: false }
    }

    fn refusal(result: Result<Hold, ModelError>) -> String {
        result.expect_err("over the budget").to_string()
    }

    #[test]
    fn requests_in_flight_and_failed_ones_count() {
        let purse = purse(Budget { requests: Some(2), ..Budget::default() });
        let first = purse.hold_for("priced", request(10, 10)).expect("the first");
        purse.hold_for("priced", request(10, 10)).expect("the second");
        assert_eq!(refusal(purse.hold_for("priced", request(1, 1))), "the budget of 2 requests is spent");
        purse.settle(first, Spent { failed: true, ..spent(10, 0, 0) });
        refusal(purse.hold_for("priced", request(1, 1)));
        assert_eq!((purse.spent().requests, purse.spent().failed), (1, 1));
    }

    #[test]
    fn what_might_be_spent_is_held_and_what_was_not_comes_back() {
        let purse = purse(Budget { tokens: Some(1000), ..Budget::default() });
        let hold = purse.hold_for("priced", request(100, 800)).expect("fits");
        assert_eq!(refusal(purse.hold_for("priced", request(100, 1))), "the budget of 1000 tokens is spent");
        purse.settle(hold, spent(100, 0, 50));
        purse.hold_for("priced", request(100, 700)).expect("fits again");
    }

    #[test]
    fn what_was_never_made_is_given_back() {
        let purse = purse(Budget { requests: Some(1), ..Budget::default() });
        let hold = purse.hold_for("priced", request(10, 10)).expect("the first");
        purse.release(hold);
        purse.hold_for("priced", request(10, 10)).expect("the first that is made");
        assert_eq!(purse.spent(), Totals::default());
    }

    #[test]
    fn what_is_no_amount_is_none_in_a_file_either() {
        assert_eq!(toml::from_str::<Budget>("cost = 2.5").expect("an amount").cost, Some(2.5));
        for no in ["-1.0", "nan", "inf"] {
            assert!(amount(no).is_err(), "{no}");
            assert!(toml::from_str::<Budget>(&format!("cost = {no}")).is_err(), "{no}");
            for place in ["input", "cached", "output"] {
                let prices = ["input", "cached", "output"]
                    .map(|name| format!("{name} = {}", if name == place { no } else { "1.0" }));
                assert!(toml::from_str::<Price>(&prices.join("\n")).is_err(), "{place} = {no}");
            }
        }
    }

    #[test]
    fn money_is_counted_by_price_and_what_has_none_is_said() {
        let purse = purse(Budget { cost: Some(0.01), ..Budget::default() });
        let hold = purse.hold_for("priced", request(1000, 500)).expect("0.007 at most");
        assert_eq!(
            refusal(purse.hold_for("priced", request(1000, 500))),
            "the budget of 0.01 in money is spent"
        );
        purse.settle(hold, spent(1000, 400, 100));
        let totals = purse.spent();
        assert!((totals.cost - (600.0 * 2.0 + 400.0 * 0.5 + 100.0 * 10.0) / 1e6).abs() < 1e-12);
        let hold = purse.hold_for("free", request(10, 10)).expect("nobody knows what it costs");
        purse.settle(hold, spent(10, 0, 10));
        assert_eq!(
            purse.spent().to_string(),
            "2 requests, 1010 tokens in (400 cached) and 110 out, 0.00 and 1 request without a price"
        );
        assert!(
            Totals { requests: 1, unpriced: 1, ..Totals::default() }.to_string().ends_with("no price known")
        );
    }

    #[test]
    fn time_keeps_some_for_the_final_check() {
        let hour = Duration::from_secs(3600);
        let purse = purse(Budget { time: Some(hour), ..Budget::default() });
        let left = purse.time_left().expect("a limit");
        assert!(left <= hour * 9 / 10 && left > hour * 8 / 10, "{left:?}");
        assert_eq!(purse.is_late(), None);
        purse.lock().earlier = hour * 9 / 10;
        assert_eq!(purse.is_late().as_deref(), Some("1h"));
        assert_eq!(refusal(purse.hold_for("priced", request(1, 1))), "the budget of 1h is spent");
    }

    #[test]
    fn each_limit_is_warned_of_twice() {
        let purse = purse(Budget { requests: Some(10), ..Budget::default() });
        let mut warnings = Vec::new();
        for _ in 0..10 {
            let hold = purse.hold_for("priced", request(1, 1)).expect("ten");
            purse.settle(hold, spent(1, 0, 1));
            warnings.extend(purse.warnings());
        }
        assert_eq!(
            warnings,
            ["50 % of the budget of 10 requests are spent", "80 % of the budget of 10 requests are spent"]
        );
    }

    #[test]
    fn a_journal_is_counted_with_what_was_in_flight_when_it_broke_off() {
        let origin = |slot| Origin::Candidate { round: 1, slot };
        let asked = |slot, output| Record::Request {
            origin: origin(slot),
            model: "priced".to_owned(),
            request: request(100, output),
        };
        let records = [
            asked(1, 500),
            Record::Spent { origin: origin(1), spent: Spent { failed: true, ..spent(100, 0, 0) } },
            asked(1, 500),
            asked(2, 500),
            Record::Spent { origin: origin(2), spent: spent(100, 0, 20) },
        ];
        let entries: Vec<Entry> =
            (0..).zip(records).map(|(at, record)| Entry { at: at * 1000, record }).collect();
        let purse = purse(Budget::default());
        purse.count(&entries);
        let totals = purse.spent();
        assert_eq!((totals.requests, totals.failed, totals.input, totals.output), (3, 2, 300, 520));
        assert_eq!(purse.lock().earlier, Duration::from_secs(4));
    }
}
