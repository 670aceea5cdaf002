#!/bin/bash
# Installs a package on a real systemd, and starts, reloads, restarts, crashes, upgrades, stops, removes and
# purges it:
#
#   sudo packaging/trial.sh target/dist/profil-bpf_VERSION_amd64.deb [STAND-IN]
#
# with a program in place of the packaged one, if a second is named. systemd is booted in namespaces of its own, over
# an overlay of this machine's root that is thrown away: takes seconds, and changes nothing here. It wants
# root, Debian's systemd, curl, cgroup2 and overlayfs.
set -euo pipefail

if [ "${1:-}" != --inside ] && [ "${1:-}" != --boot ]; then
	[ $# -ge 1 ] && [ "$(id -u)" = 0 ] || { echo "usage: sudo $0 FILE.deb [STAND-IN]" >&2; exit 2; }
	room=$(mktemp -d /tmp/profil-trial-XXXXXX)
	mkdir "$room/given" "$room/top"
	cp "$1" "$room/given/profil-bpf.deb"
	cp "$0" "$room/given/trial.sh"
	[ $# -lt 2 ] || install -m 755 "$2" "$room/given/stand-in"
	unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child --propagation private \
		bash "$room/given/trial.sh" --boot "$room" >"$room/boot.log" 2>&1 &
	booted=$!
	for _ in $(seq 600); do
		[ -e "$room/given/status" ] || ! kill -0 $booted 2>/dev/null || { sleep 0.2; continue; }
		break
	done
	# The first process of the namespace takes all others with it.
	pkill -KILL -P $booted || true
	wait $booted 2>/dev/null || true
	cat "$room/given/log" 2>/dev/null || cat "$room/boot.log"
	status=$(cat "$room/given/status" 2>/dev/null || echo 1)
	rm -rf "$room"
	exit "$status"
fi

if [ "$1" = --boot ]; then
	room=$2
	root=$room/top/root
	mount -t tmpfs tmpfs "$room/top"
	mkdir "$room/top/upper" "$room/top/work" "$root"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$room/top/upper,workdir=$room/top/work" "$root"
	# What systemd may set there is the whole machine's.
	mount -t proc proc "$root/proc"
	mount --bind "$root/proc/sys" "$root/proc/sys"
	mount -o remount,bind,ro "$root/proc/sys"
	mount -t sysfs sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	# As systemd does.
	mount -t bpf bpf -o mode=0700 "$root/sys/fs/bpf"
	for dir in dev run tmp; do mount -t tmpfs tmpfs -o mode=755 "$root/$dir"; done
	chmod 1777 "$root/tmp"
	for name in null zero full random urandom tty; do
		touch "$root/dev/$name"
		mount --bind "/dev/$name" "$root/dev/$name"
	done
	mkdir "$root/dev/pts" "$root/dev/shm" "$root/run/trial"
	mount -t devpts devpts -o newinstance,ptmxmode=666 "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	mount --bind "$room/given" "$root/run/trial"
	ip link set lo up
	units=$root/etc/systemd/system
	for unit in systemd-{udevd,udev-trigger,sysctl,modules-load,random-seed,binfmt,remount-fs,sysusers}.service \
		systemd-udevd-{kernel,control}.socket kmod-static-nodes.service proc-sys-fs-binfmt_misc.automount; do
		ln -sf /dev/null "$units/$unit"
	done
	cat >"$units/trial.target" <<-END
		[Unit]
		Requires=basic.target trial.service
		After=basic.target
		AllowIsolate=yes
	END
	cat >"$units/trial.service" <<-END
		[Unit]
		After=basic.target
		[Service]
		Type=oneshot
		ExecStart=/bin/bash /run/trial/trial.sh --inside
		StandardOutput=truncate:/run/trial/log
		StandardError=append:/run/trial/log
	END
	cd "$root"
	mkdir -p .old
	pivot_root . .old
	umount -l /.old
	exec env -i container=trial PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --system --unit=trial.target --log-target=console --show-status=no
fi

pins=/sys/fs/bpf/profil-bpf
trap 'code=$?; [ $code = 0 ] || { systemctl --no-pager status profil-bpf; journalctl --no-pager -u profil-bpf | tail -30; } || true
	echo $code >/run/trial/status' EXIT
step() { echo "==> $*"; }
# Without the kernel's own files there (maps.debug, progs.debug).
pinned() { ls "$pins" 2>/dev/null | grep -v '\.debug$' || true; }
mounted() { if mountpoint -q "$pins"; then echo yes; else echo no; fi; }
# Not a list of tests, of which only the last one would end this script.
gone() { for file; do [ ! -e "$file" ] || { echo "$file is still there" >&2; return 1; }; done; }
answers() {
	for _ in $(seq 50); do
		[ "$(curl -s --max-time 2 http://127.0.0.1:9097/healthz)" != ok ] || return 0
		sleep 0.1
	done
	echo "no answer at /healthz" >&2
	return 1
}
install_it() {
	DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i /run/trial/profil-bpf.deb
}
take_the_place() {
	[ ! -e /run/trial/stand-in ] || install -m 755 /run/trial/stand-in /usr/bin/profil-bpf
}

step install: it is there and does not run
install_it
take_the_place
[ "$(systemctl is-active profil-bpf)" = inactive ]
[ "$(systemctl is-enabled profil-bpf)" = disabled ]

step start: not as root, with five capabilities
systemctl enable --now profil-bpf
answers
pid=$(systemctl show -P MainPID profil-bpf)
[ "$(stat -c %u "/proc/$pid")" != 0 ]
# bits 2, 19, 34, 38, 39 of capability.h
grep -q '^CapEff:.*000000c400080004$' "/proc/$pid/status"
grep -q '^CapBnd:.*000000c400080004$' "/proc/$pid/status"
grep -q '^NoNewPrivs:.*1$' "/proc/$pid/status"
before=$(pinned)
[ -n "$before" ]

step reload: the same process
systemctl reload profil-bpf
answers
[ "$pid" = "$(systemctl show -P MainPID profil-bpf)" ]

step restart: the pins stay
systemctl restart profil-bpf
answers
[ "$before" = "$(pinned)" ]

step crash: it comes again, and the pins stay
kill -KILL "$(systemctl show -P MainPID profil-bpf)"
sleep 2.5
answers
[ "$before" = "$(pinned)" ]

step upgrade: it runs again, the pins and what was changed stay
echo '# mine' >>/etc/profil-bpf.toml
if [ -e /run/trial/stand-in ]; then
	# The packaged program would be started.
	systemctl stop profil-bpf
	install_it
	take_the_place
	systemctl start profil-bpf
else
	install_it
fi
answers
[ "$before" = "$(pinned)" ]
grep -q '^# mine' /etc/profil-bpf.toml

step stop: nothing is left
systemctl stop profil-bpf
sleep 0.3
[ "$(mounted)" = no ]
[ -z "$(pinned)" ]
gone /run/private/profil-bpf

step remove while it runs, and purge
systemctl start profil-bpf
answers
dpkg --remove profil-bpf
[ "$(mounted)" = no ]
[ -e /etc/profil-bpf.toml ]
gone /usr/bin/profil-bpf
dpkg --purge profil-bpf
gone /etc/profil-bpf.toml /var/lib/private/profil-bpf /var/lib/profil-bpf
gone /etc/systemd/system/multi-user.target.wants/profil-bpf.service
step all is well
