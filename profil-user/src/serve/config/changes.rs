//! What a new configuration changes while the daemon runs.

use std::fmt;

use super::{
    Config,
    keys::{Holds, KEYS},
};

/// What became of a new configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Changes {
    /// What holds now: the new values where that is possible, the old ones elsewhere.
    pub now: Config,
    /// Keys whose new values are in it.
    pub taken: Vec<&'static str>,
    /// Keys whose new values take a restart.
    pub restart: Vec<&'static str>,
}

impl Config {
    /// What a new configuration changes. Contents of files that it names (a token, certificates) may have
    /// changed without any of this: they are read again in any case.
    #[must_use]
    pub fn changes(&self, new: &Self) -> Changes {
        let mut changes = Changes {
            now: new.clone(),
            taken: Vec::new(),
            restart: Vec::new(),
        };
        for key in KEYS {
            if (key.show)(self) == (key.show)(new) {
                continue;
            }
            match key.holds {
                Holds::Live => changes.taken.push(key.name),
                Holds::Restart => {
                    (key.copy)(&mut changes.now, self);
                    changes.restart.push(key.name);
                }
            }
        }
        // Addresses stay, and must not be open to others for want of what kept them closed.
        let is_allowed = |address| changes.now.access.allows(address).is_ok();
        if !changes.now.listen.iter().copied().all(is_allowed) {
            changes.now.access = self.access.clone();
            let kept = changes
                .taken
                .extract_if(.., |key| key.starts_with("access."));
            changes.restart.extend(kept);
        }
        changes
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.taken[..] {
            [] => f.write_str("no key that can change while it runs has changed")?,
            taken => write!(f, "taken over: {}", taken.join(", "))?,
        }
        if !self.restart.is_empty() {
            write!(f, "; for a restart: {}", self.restart.join(", "))?;
        }
        Ok(())
    }
}
