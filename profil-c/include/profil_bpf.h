/* profil(2) for any process, counted by the kernel: libprofil_bpf.
 *
 * Two faces. The functions below count another process, or this one, into a buffer of the caller's.
 * And the library has profil, sprofil, monstartup, moncontrol and _mcleanup with the C library's own
 * prototypes: run an old program with LD_PRELOAD=libprofil_bpf.so, and what it would have counted by
 * SIGPROF is counted by the kernel, at the rate that PROFIL_RATE says. README has the rest.
 *
 * Needs CAP_BPF and CAP_PERFMON, or root. All functions are safe to call from several threads, but
 * for one handle only from one at a time.
 */
#ifndef PROFIL_BPF_H
#define PROFIL_BPF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A profile that is being taken. */
typedef struct profil_bpf profil_bpf;

/* Where the ticks went. */
struct profil_balance {
    uint64_t seen;     /* ticks that came */
    uint64_t counted;  /* of these, in the buffer */
    uint64_t due;      /* ticks that the CPU time of the process was worth */
};

/* Counts the program counter of all threads of process PID (0: this one), and switches the clock on.
 *
 * OFFSET is the lowest address in the process, BUFSIZ the size of the buffer in bytes, SCALE the bytes
 * of buffer for a byte of text as a fraction of 65536, as in profil(3). RATE is in ticks per second of
 * CPU time; 0 is 100. DIALECT says whose rules are followed, such as "modern", "bsd44" or "glibc";
 * NULL is "glibc". Counters have 16 bits, but 32 in "sprofil32" and 64 in "modern", where each covers as
 * much text as one of 16 bits would.
 *
 * BUF is written by profil_read and profil_detach only, and must stay valid until then.
 *
 * Returns NULL and sets errno: EPERM without the privileges, ESRCH without the process, EINVAL for
 * numbers that would count nothing or a rate above the machine's, ENOMEM for a buffer too large.
 */
profil_bpf *profil_attach(pid_t pid, void *buf, size_t bufsiz, size_t offset, unsigned int scale,
                          unsigned int rate, const char *dialect);

/* Writes all counters as they are now into the buffer. Makes no system call. */
int profil_read(profil_bpf *profile);

/* Switch the clock off and on again. Counters keep their values; paused time is not due. */
int profil_pause(profil_bpf *profile);
int profil_resume(profil_bpf *profile);

/* Tells where the ticks went. Exact while paused. */
int profil_balance(profil_bpf *profile, struct profil_balance *balance);

/* Stops, writes the counters for the last time, and frees the handle, whatever it returns.
 * NULL is fine. */
int profil_detach(profil_bpf *profile);

/* Why the last call in this thread failed, in words: valid until the next call. Never NULL. */
const char *profil_error(void);

#ifdef __cplusplus
}
#endif

#endif
