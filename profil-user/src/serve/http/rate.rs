//! How many requests each sender may make: a token bucket each, for so many senders and no more.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

/// Most senders that are remembered.
const MOST: usize = 1024;

/// What each sender has left.
#[derive(Debug, Default)]
pub(super) struct Rates {
    buckets: HashMap<IpAddr, Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// Requests that may be made at once.
    left: f64,
    /// When that was so.
    at: Instant,
}

impl Bucket {
    fn left_at(&self, now: Instant, per_second: f64) -> f64 {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + elapsed * per_second).min(burst(per_second))
    }
}

/// How many requests may be made at once, after a while without any.
fn burst(per_second: f64) -> f64 {
    2.0 * per_second
}

impl Rates {
    /// Takes a request of a sender.
    ///
    /// # Errors
    ///
    /// How long to wait for the next one.
    pub(super) fn take(
        &mut self,
        from: IpAddr,
        per_second: u32,
        now: Instant,
    ) -> Result<(), Duration> {
        let per_second = f64::from(per_second.max(1));
        let sender = sender(from);
        if !self.buckets.contains_key(&sender) && self.buckets.len() >= MOST {
            self.forget(per_second, now);
        }
        let full = Bucket {
            left: burst(per_second),
            at: now,
        };
        let bucket = self.buckets.entry(sender).or_insert(full);
        bucket.left = bucket.left_at(now, per_second);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    /// Makes room: for who has asked for nothing lately it makes no difference; if all have, the one that
    /// has the most left gets off lightly.
    fn forget(&mut self, per_second: f64, now: Instant) {
        let full = burst(per_second);
        self.buckets
            .retain(|_, bucket| bucket.left_at(now, per_second) < full);
        if self.buckets.len() < MOST {
            return;
        }
        let left = |bucket: &Bucket| bucket.left_at(now, per_second);
        let most = self
            .buckets
            .iter()
            .max_by(|one, other| left(one.1).total_cmp(&left(other.1)));
        if let Some(sender) = most.map(|(&sender, _)| sender) {
            self.buckets.remove(&sender);
        }
    }
}

/// Whom an address belongs to: of IPv6, who has one has the 2^64 beside it.
fn sender(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr},
        time::{Duration, Instant},
    };

    use super::{MOST, Rates};

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let (mut rates, start) = (Rates::default(), Instant::now());
        for _ in 0..20 {
            assert_eq!(rates.take(address(1), 10, start), Ok(()));
        }
        let wait = rates.take(address(1), 10, start).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        // Others are not concerned.
        assert_eq!(rates.take(address(2), 10, start), Ok(()));
        let later = start + Duration::from_millis(201);
        assert_eq!(rates.take(address(1), 10, later), Ok(()));
        assert_eq!(rates.take(address(1), 10, later), Ok(()));
        assert!(rates.take(address(1), 10, later).is_err());
        // No more than a burst is saved up.
        let much_later = start + Duration::from_secs(3600);
        let granted = (0..100).filter(|_| rates.take(address(1), 10, much_later).is_ok());
        assert_eq!(granted.count(), 20);
    }

    #[test]
    fn neighbours_in_ipv6_are_one() {
        let (mut rates, now) = (Rates::default(), Instant::now());
        for host in 1..=2 {
            let address = format!("2001:db8::{host}").parse().unwrap();
            assert_eq!(rates.take(address, 1, now), Ok(()));
        }
        assert!(rates.take("2001:db8::3".parse().unwrap(), 1, now).is_err());
        assert!(
            rates
                .take("2001:db8:0:1::3".parse().unwrap(), 1, now)
                .is_ok()
        );
        // And IPv4 is itself however it is written.
        assert!(
            rates
                .take("::ffff:1.2.3.4".parse().unwrap(), 1, now)
                .is_ok()
        );
        assert!(rates.take("1.2.3.4".parse().unwrap(), 1, now).is_ok());
        assert!(
            rates
                .take("::ffff:1.2.3.4".parse().unwrap(), 1, now)
                .is_err()
        );
    }

    #[test]
    fn only_so_many_are_remembered() {
        let (mut rates, now) = (Rates::default(), Instant::now());
        while rates.take(address(7), 1, now).is_ok() {}
        for other in 1000..1000 + 4 * MOST as u32 {
            assert_eq!(rates.take(address(other), 1, now), Ok(()));
            assert!(rates.buckets.len() <= MOST);
        }
        // Who has used up what it had is not let off by a crowd.
        assert!(rates.take(address(7), 1, now).is_err());
    }
}
