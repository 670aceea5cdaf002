#!/bin/busybox sh
# The first process of the guest: runs the tests, says on the console what came out, and leaves.
# Each line that the caller looks for starts with "VM-".

# What is there already stays, and busybox says so.
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/usr/bin:/bin HOME=/tmp

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
# Nothing but a panic may break into a line of the tests.
dmesg -n 1
echo "VM-KERNEL: $(uname -r)"
echo "VM: up after $(cut -d' ' -f1 /proc/uptime) s, $(uname -m), $(nproc) CPUs"

/profil-bpf doctor </dev/null 2>&1 | cat
echo "VM: doctor is done"

# Emulated, ticks look dear to the kernel, which then throttles them. Not here.
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent

# Before Linux 5.11 BPF maps count against it. A test that wants a limit sets one.
ulimit -l unlimited

mkdir /tmp/work
cd /tmp/work
set --
# The kernel hands on what it does not know of its command line.
while read -r argument; do
    set -- "$@" "$argument"
done <"$arguments"
export PROFIL_BPF=/profil-bpf PROFIL_WORKLOADS_BUILT=/workloads PROFIL_SKIPS=/tmp/skips
export PROFIL_EMULATED=1 RUST_BACKTRACE=0
# Not to a terminal: what the tests write is for a file.
{
    /root-tests "$@" </dev/null 2>&1
    echo $? >/tmp/status
} | cat

# A runner that crashed has left its line unfinished.
echo
[ ! -e /tmp/skips ] || sed 's/^/VM-SKIP: /' /tmp/skips
echo "VM-EXIT: $(cat /tmp/status)"
poweroff -f
