//! What is answered to which request. Who asks has been let in.

use std::{
    num::NonZero,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use super::{
    config::Config,
    demand::{Demand, Refusal, Wish},
    engine::EngineControl,
    exchange::{Request, Response, Status},
    http::{Answer, Handle, Site},
    metrics::{self, Family},
    page::{self, Now},
    push,
    recorder::Shared,
    row::{Row, merge},
    turns::OneAtATime,
};
use crate::{
    options::{Rate, Tgid},
    pprof::write_rows,
};

/// The time of a profile, if none is asked for: that of Go's `net/http/pprof`.
const USUAL_SECONDS: f64 = 30.0;

/// Turns of the engine that may be missing until the daemon does not count as healthy.
const MISSING_TURNS: u32 = 10;

/// A profile can be longer than asked for by a turn: so much longer is waited.
const LATE: Duration = Duration::from_secs(10);

/// Rows of a profile that are kept before those of one place are added up.
const ROWS: usize = 1 << 12;

const PPROF: &str = "application/vnd.google.protobuf+gzip";
const TEXT: &str = "text/plain; charset=utf-8";

/// Everything that can be asked.
#[derive(Debug)]
pub struct Answers {
    shared: Shared,
    control: EngineControl,
    demand: Demand,
    stathz: u32,
    profhz: u32,
    drain: Duration,
    series: usize,
    limits: RwLock<Bounds>,
    /// Profiles that are being taken.
    taking: AtomicUsize,
    /// The last day is looked at by one at a time, so that who writes it waits for no more than that.
    looking: OneAtATime,
    server: OnceLock<Handle>,
    /// What was last known of pushing.
    pushed: Mutex<Option<push::Figures>>,
    host: String,
    started: Instant,
}

/// What may be asked for, at most.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    profiles: usize,
    seconds: u32,
}

impl Bounds {
    fn of(config: &Config) -> Self {
        Self {
            profiles: config.limits.profiles as usize,
            seconds: config.limits.profile_seconds,
        }
    }
}

/// One of the profiles that are being taken, until it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Site for Answers {
    fn answer(self: Arc<Self>, request: Request) -> Answer {
        Box::pin(async move { self.reply(&request).await })
    }
}

impl Answers {
    pub(super) fn new(
        config: &Config,
        shared: Shared,
        control: EngineControl,
        demand: Demand,
    ) -> Self {
        Self {
            shared,
            control,
            demand,
            stathz: config.stathz,
            profhz: config.profhz,
            drain: config.drain,
            series: config.metrics.series as usize,
            limits: RwLock::new(Bounds::of(config)),
            taking: AtomicUsize::new(0),
            looking: OneAtATime::default(),
            server: OnceLock::new(),
            pushed: Mutex::new(None),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            started: Instant::now(),
        }
    }

    pub(super) fn count_requests(&self, server: Handle) {
        // There is one server, and it is told of once.
        let _ = self.server.set(server);
    }

    pub(super) fn reload(&self, config: &Config) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = Bounds::of(config);
    }

    fn bounds(&self) -> Bounds {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request.
    async fn reply(&self, request: &Request) -> Response {
        match &request.path[..] {
            "/metrics" => self.metrics(),
            "/healthz" => self.health(),
            "/debug/pprof" | "/debug/pprof/" => Response::ok(TEXT, INDEX),
            "/debug/pprof/profile" => self.profile(request).await,
            _ => self.page(request).await.unwrap_or_else(|| {
                Response::refusal(
                    Status::NotFound,
                    "there is no such page; try /, /metrics, /healthz or /debug/pprof/profile?seconds=10",
                )
            }),
        }
    }

    fn metrics(&self) -> Response {
        let mut families = {
            let counters = self.shared.counters();
            let mut families = metrics::of_book(&counters.book, self.series);
            families.extend(metrics::of_figures(&counters.figures));
            families
        };
        let rate = Family::gauge("profil_profhz", "Ticks per second of profiles on demand");
        families.push(rate.of(self.profhz.into()));
        let taking = Family::gauge("profil_profiles_running", "Profiles that are being taken");
        families.push(taking.of(self.taking.load(Ordering::Relaxed) as f64));
        families.extend(self.others());
        match metrics::text_of(families) {
            Ok(text) => Response::ok(metrics::CONTENT_TYPE, text),
            Err(error) => Response::refusal(Status::Internal, error),
        }
    }

    /// The page and what it shows. To add up a day takes long, and others are answered meanwhile.
    async fn page(&self, request: &Request) -> Option<Response> {
        if let Some(answer) = page::asset(request) {
            return Some(answer);
        }
        let (shared, request) = (self.shared.clone(), request.clone());
        let now = Now {
            time: SystemTime::now(),
            host: self.host.clone(),
            cpus: std::thread::available_parallelism().map_or(1, NonZero::get),
            hz: self.stathz.into(),
        };
        let answer = move || page::answer(&shared.history(), &now, &request);
        let answered = self.looking.run(answer).await;
        answered.unwrap_or_else(|error| {
            let why = format!("this could not be answered: {error}");
            Some(Response::refusal(Status::Internal, why))
        })
    }

    /// What the server and the pusher have done.
    fn others(&self) -> Vec<Family> {
        let mut families = Vec::new();
        if let Some(server) = self.server.get() {
            let counts = server.counts();
            let requests = Family::counter("profil_requests", "Requests by what became of them");
            families.push(
                requests
                    .with(&[("outcome", "answered")], counts.answered as f64)
                    .with(&[("outcome", "refused")], counts.refused as f64)
                    .with(&[("outcome", "panicked")], counts.panicked as f64)
                    .with(&[("outcome", "turned_away")], counts.turned_away as f64),
            );
        }
        // While a profile is packed, nobody waits for it: the last figures will do.
        let mut pushed = self.pushed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = self.shared.push_figures() {
            *pushed = figures;
        }
        if let Some(figures) = &*pushed {
            for (name, help, value) in [
                (
                    "profil_push_sent",
                    "Profiles that the receiver took",
                    figures.sent,
                ),
                (
                    "profil_push_refused",
                    "Profiles that it will never take",
                    figures.refused,
                ),
                (
                    "profil_push_failed",
                    "Attempts that failed, and are made again",
                    figures.failed,
                ),
                (
                    "profil_push_dropped",
                    "Profiles that there was no room for",
                    figures.dropped,
                ),
            ] {
                families.push(Family::counter(name, help).of(value as f64));
            }
            let waiting = Family::gauge("profil_push_waiting", "Profiles that wait to be pushed");
            families.push(waiting.of(figures.waiting as f64));
        }
        families
    }

    fn health(&self) -> Response {
        let last = self.shared.counters().figures.last_turn;
        let silent = last.unwrap_or(self.started).elapsed();
        if silent > self.drain * MISSING_TURNS {
            let why = format!("the counters were not read for {} s", silent.as_secs());
            return Response::refusal(Status::Unavailable, why);
        }
        Response::ok(TEXT, "ok\n")
    }

    async fn profile(&self, request: &Request) -> Response {
        let (wish, asks_rate) = match self.wish(request) {
            Ok(wish) => wish,
            Err(why) => return Response::refusal(Status::BadRequest, why),
        };
        let most = self.bounds().profiles;
        if self.taking.fetch_add(1, Ordering::Relaxed) >= most {
            self.taking.fetch_sub(1, Ordering::Relaxed);
            let why = format!("{most} profiles are being taken, which is the limit; ask later");
            return Response::refusal(Status::TooManyRequests, why).with("retry-after", "5");
        }
        let _place = Place(&self.taking);
        let answer = if wish.whom.is_none() && !asks_rate {
            self.of_everybody(wish.time).await
        } else {
            self.of_one(wish).await
        };
        if answer.status == Status::Ok {
            self.shared.counters().figures.profiles += 1;
        }
        answer
    }

    /// What is asked for, and whether a rate is.
    fn wish(&self, request: &Request) -> Result<(Wish, bool), String> {
        let query = &request.query;
        let most = self.bounds().seconds;
        let seconds: f64 = match query.get("seconds") {
            None => USUAL_SECONDS.min(most.into()),
            Some(text) => text
                .parse()
                .map_err(|_| format!("seconds={text} is no number"))?,
        };
        if !(seconds > 0.0 && seconds <= most.into()) {
            return Err(format!("seconds must be more than 0, and {most} at most"));
        }
        let whom = match query.get("pid") {
            None => None,
            Some(text) => {
                let pid = text.parse().ok().and_then(Tgid::new);
                Some(pid.ok_or_else(|| format!("pid={text} is no number of a process"))?)
            }
        };
        let hertz = match query.get("hz") {
            None => self.profhz,
            Some(text) => {
                let asked: u32 = text
                    .parse()
                    .map_err(|_| format!("hz={text} is no whole number"))?;
                if asked == 0 || asked > self.profhz {
                    return Err(format!("hz must be 1 to {}, which is profhz", self.profhz));
                }
                // The nearest multiple of the clock that is always on.
                (asked + self.stathz / 2) / self.stathz * self.stathz
            }
        };
        let rate: Rate = hertz
            .max(self.stathz)
            .to_string()
            .parse()
            .map_err(|error| format!("{error}"))?;
        let wish = Wish {
            whom,
            rate,
            time: Duration::from_secs_f64(seconds),
        };
        Ok((wish, query.get("hz").is_some()))
    }

    async fn of_one(&self, wish: Wish) -> Response {
        match self.demand.profile(wish).await {
            Ok(packed) => attached(packed.bytes)
                .with("x-profil-hz", packed.rate.to_string())
                .with("x-profil-ticks", packed.ticks.to_string()),
            Err(refusal) => {
                let status = match refusal {
                    Refusal::Nobody(_) => Status::NotFound,
                    Refusal::Busy(_) => Status::Unavailable,
                    Refusal::Failed(_) => Status::Internal,
                };
                Response::refusal(status, refusal)
            }
        }
    }

    /// From what is counted all the time, which costs nothing more.
    async fn of_everybody(&self, time: Duration) -> Response {
        let mut windows = self.shared.windows();
        // What has ticked until now is not in it.
        self.control.turn();
        let Ok(Ok(first)) = tokio::time::timeout(LATE, windows.recv()).await else {
            return Response::refusal(
                Status::Unavailable,
                "the counters are not read; see /healthz",
            );
        };
        let (began, period_ns) = (first.began + first.elapsed, first.period_ns);
        let until = Instant::now() + time;
        let mut rows: Vec<Row> = Vec::new();
        let mut most = ROWS;
        let mut elapsed = Duration::ZERO;
        let mut asked = false;
        loop {
            let wait = if asked {
                LATE
            } else {
                until.saturating_duration_since(Instant::now())
            };
            match tokio::time::timeout(wait, windows.recv()).await {
                Ok(Ok(window)) => {
                    rows.extend(window.rows.iter().cloned());
                    elapsed += window.elapsed;
                    // As seldom as memory for as many again allows: others are answered on this thread.
                    if rows.len() > most {
                        merge(&mut rows);
                        most = ROWS.max(2 * rows.len());
                    }
                    if Instant::now() >= until {
                        break;
                    }
                }
                Ok(Err(_)) => {
                    let why = "the machine is too busy for a profile; ask later";
                    return Response::refusal(Status::Unavailable, why);
                }
                Err(_) if asked => {
                    let why = "the counters are not read; see /healthz";
                    return Response::refusal(Status::Unavailable, why);
                }
                Err(_) => {
                    asked = true;
                    self.control.turn();
                }
            }
        }
        let ticks: u64 = rows.iter().map(Row::ticks).sum();
        let began = began.max(SystemTime::UNIX_EPOCH);
        let write = move || {
            merge(&mut rows);
            write_rows(&rows, period_ns, began, elapsed)
        };
        let bytes = match tokio::task::spawn_blocking(write).await {
            Ok(bytes) => bytes,
            Err(error) => {
                let why = format!("this could not be written: {error}");
                return Response::refusal(Status::Internal, why);
            }
        };
        attached(bytes)
            .with("x-profil-hz", self.stathz.to_string())
            .with("x-profil-ticks", ticks.to_string())
    }
}

fn attached(bytes: Vec<u8>) -> Response {
    Response::ok(PPROF, bytes).with(
        "content-disposition",
        "attachment; filename=\"profile.pb.gz\"",
    )
}

const INDEX: &str = "\
profile?seconds=N           all processes, from the clock that is always on
profile?seconds=N&hz=HZ     all processes, by a clock of their own
profile?seconds=N&pid=PID   one process, at profhz or at hz=HZ
";
