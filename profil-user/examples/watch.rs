//! Prints the hottest bins of a process every second, for ten seconds or as many as asked for:
//! `watch PID [SECONDS]`.

use std::{env, error::Error, thread::sleep, time::Duration};

use profil_user::{Profil, Tgid, handle::Status};

#[expect(clippy::print_stdout, reason = "what the example is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let pid = arguments.next().ok_or("usage: watch PID [SECONDS]")?;
    let target = Tgid::new(pid.parse()?).ok_or("no process has that number")?;
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;

    let mut profil = Profil::builder(target).attach()?;
    let mut before = profil.snapshot();
    for _ in 0..seconds {
        sleep(Duration::from_secs(1));
        let now = profil.snapshot();
        let new = now.since(&before);
        println!("{} ticks", new.ticks());
        for (bin, ticks) in new.hottest(5) {
            let region = &profil.regions()[bin.region];
            let address = profil.address_of(bin).unwrap_or(region.call.offset);
            match &region.object {
                // Names come from the target, and may hold anything.
                Some((name, link)) => println!(
                    "{ticks:6}  {}+{:#x}",
                    name.escape_debug(),
                    link + (address - region.call.offset)
                ),
                None => println!("{ticks:6}  {address:#x}"),
            }
        }
        before = now;
        if profil.check()? != Status::SameProgram {
            break;
        }
    }
    let stopped = profil.stop()?;
    let (seen, due) = (stopped.balance.seen(), stopped.balance.due());
    println!("{seen} ticks seen of {due:.0} due");
    Ok(())
}
