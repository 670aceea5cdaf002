//! `profil-bpf serve`: from a configuration to a daemon with HTTP in front, until it is told to end.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    thread::{self, JoinHandle},
};

use anyhow::anyhow;
use profil_user::serve::{
    Daemon,
    config::{Config, Setting},
    http::Server,
    unpin,
};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::talk;

/// What to do.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) file: Option<PathBuf>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Count, and answer, until told to end.
    Serve,
    /// Show the configuration.
    Check,
    /// Remove what outlived another daemon; from here, if the configuration does not say where.
    Unpin(PathBuf),
}

impl Plan {
    fn read(&self) -> anyhow::Result<Config> {
        Ok(Config::read(self.file.as_deref(), &self.settings)?)
    }
}

/// Does it.
pub(crate) fn run(plan: &Plan) -> anyhow::Result<()> {
    let config = plan.read()?;
    match &plan.what {
        What::Serve => serve(plan, config),
        What::Check => {
            let mut out = io::stdout().lock();
            write!(out, "{config}")?;
            Ok(out.flush()?)
        }
        What::Unpin(usual) => {
            let dir = config.pin.dir.as_deref().unwrap_or(usual);
            let had = unpin(dir, &config.pin.state)?;
            let text = if had {
                format!(
                    "removed {} and what belonged to it; nothing ticks",
                    dir.display()
                )
            } else {
                format!("there is nothing in {}", dir.display())
            };
            talk::note(&text);
            Ok(())
        }
    }
}

fn serve(plan: &Plan, mut config: Config) -> anyhow::Result<()> {
    talk::listen_to_daemon();
    // What is wrong for everybody comes before what is wrong for this user.
    let server = Server::bind(&config.listen, &config.access, &config.limits)?;
    let handle = server.handle();
    let daemon = Daemon::start(&config)?;
    daemon.count_requests(handle.clone());
    for line in daemon.greeting() {
        talk::note(&line);
    }
    for address in server.addresses() {
        let scheme = if config.access.is_encrypted() {
            "https"
        } else {
            "http"
        };
        talk::note(&format!("serving {scheme}://{address}/"));
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let (ended, front_ended) = oneshot::channel::<()>();
    let front = front(server, &daemon, stopped, ended)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        tokio::pin!(front_ended);
        loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                () = daemon.ended() => break,
                // Counters that nobody can ask for are none.
                _ = &mut front_ended => break,
                _ = hang_up.recv() => reload(plan, &mut config, &daemon, &handle),
            }
        }
        Ok::<_, io::Error>(())
    })?;
    drop(stop);
    let served = front.join();
    daemon.stop()?;
    match served {
        Ok(served) => served,
        Err(_) => Err(anyhow!(
            "the server has ended; this is a fault of profil-bpf, please report it"
        )),
    }
}

/// Serves on a thread of its own, without any privileges: what others send is read there. Here the configuration is
/// read, which may be root's.
fn front(
    server: Server,
    daemon: &Daemon,
    stopped: oneshot::Receiver<()>,
    ended: oneshot::Sender<()>,
) -> io::Result<JoinHandle<anyhow::Result<()>>> {
    let answers = daemon.answers();
    thread::Builder::new()
        .name("profil-http".to_owned())
        .spawn(move || {
            // Dropped however it ends.
            let _ended = ended;
            if let Err(error) = Daemon::give_up_capabilities() {
                talk::note(&format!("cannot give up capabilities: {error}"));
            }
            let stop = async {
                let _ = stopped.await;
            };
            Ok(runtime()?.block_on(server.run(answers, stop))?)
        })
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Takes over what can change. What is wrong changes nothing.
fn reload(
    plan: &Plan,
    config: &mut Config,
    daemon: &Daemon,
    handle: &profil_user::serve::http::Handle,
) {
    let new = match plan.read() {
        Ok(new) => new,
        Err(error) => {
            talk::error(&error.context("the configuration stays as it was"));
            return;
        }
    };
    let changes = config.changes(&new);
    if let Err(error) = handle.reload(&changes.now.access, &changes.now.limits) {
        talk::error(&anyhow::Error::from(error).context("the configuration stays as it was"));
        return;
    }
    if let Err(error) = daemon.reload(config, &changes.now) {
        talk::error(&anyhow::Error::from(error));
        return;
    }
    talk::note(&changes.to_string());
    *config = changes.now;
}
