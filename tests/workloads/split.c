/*
 * The target that knows its own split: it burns its budget in spin_alpha, spin_beta and
 * spin_gamma (60, 30 and 10 %), and says how long it really was in each.
 *
 *   split                one thread
 *   split --threads N    N threads share the budget; half of them start after "go"
 *   split --churn        one short-lived thread after the other, 10 to 30 ms of CPU each
 *   split --fork         a child burns the second half, at the same time
 *   split --exec PROGRAM PROGRAM, another build of this one, burns the second half in its place
 *
 * With HOT_LIBRARY the three functions come from that shared object, loaded after "go".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "hot.h"
#include "slices.h"

#define MAX_THREADS 64
#define CARRY "PROFIL_TEST_CARRY"

static struct spin spins[] = {
#ifdef HOT_LIBRARY
    {"spin_alpha", NULL, 60}, {"spin_beta", NULL, 30}, {"spin_gamma", NULL, 10},
#else
    {"spin_alpha", spin_alpha, 60}, {"spin_beta", spin_beta, 30}, {"spin_gamma", spin_gamma, 10},
#endif
    {NULL, NULL, 0},
};

/* Where all threads, or the child and its parent, add up what they burnt. */
struct sum {
    uint64_t ns[MAX_SPINS];
    /* What the child used as a whole. */
    uint64_t child_total_ns;
    struct usage child_usage;
    bool child_done;
};

static struct sum *sum;

static void load_hot_library(void)
{
#ifdef HOT_LIBRARY
    void *library = dlopen(HOT_LIBRARY, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "target: %s\n", dlerror());
        _exit(70);
    }
    for (struct spin *spin = spins; spin->name != NULL; spin++) {
        *(void **)&spin->run = dlsym(library, spin->name);
        if (spin->run == NULL)
            die(spin->name);
    }
#endif
}

static void burn_here(uint64_t budget_ns)
{
    struct burner burner = {.spins = spins};
    burn(&burner, budget_ns);
    add_burnt(sum->ns, &burner);
}

/* Threads ---------------------------------------------------------------------------------- */

static pthread_barrier_t started, released;
static uint64_t thread_budget_ns;

static void *early_thread(void *unused)
{
    pthread_barrier_wait(&started);
    pthread_barrier_wait(&released);
    burn_here(thread_budget_ns);
    return unused;
}

static void *late_thread(void *unused)
{
    burn_here(thread_budget_ns);
    return unused;
}

static pthread_t start_thread(void *(*body)(void *))
{
    pthread_t thread;
    errno = pthread_create(&thread, NULL, body, NULL);
    if (errno != 0)
        die("pthread_create");
    return thread;
}

static void burn_in_threads(pthread_t threads[], int early, int count, uint64_t budget_ns)
{
    thread_budget_ns = budget_ns / (uint64_t)count;
    pthread_barrier_wait(&released);
    for (int i = early; i < count; i++)
        threads[i] = start_thread(late_thread);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void churn(uint64_t budget_ns)
{
    struct burner lives = {.spins = spins};
    const uint64_t start = process_ns();
    while (process_ns() - start < budget_ns) {
        thread_budget_ns = 10000000 + draw(&lives) % 20000000;
        pthread_join(start_thread(late_thread), NULL);
    }
}

/* A child ---------------------------------------------------------------------------------- */

static pid_t fork_and_burn(uint64_t budget_ns)
{
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        burn_here(budget_ns / 2);
        sum->child_total_ns = process_ns();
        sum->child_usage = usage_now();
        __atomic_store_n(&sum->child_done, true, __ATOMIC_RELEASE);
        hold_if(true);
    }
    burn_here(budget_ns / 2);
    while (!__atomic_load_n(&sum->child_done, __ATOMIC_ACQUIRE))
        usleep(1000);
    return child;
}

/* Another image ---------------------------------------------------------------------------- */

static void exec_and_burn(const char *program, struct go go, uint64_t total_ns, struct usage start)
{
    char carry[256];
    snprintf(carry, sizeof carry, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " %" PRIu64 " %" PRIu64 " %d", sum->ns[0], sum->ns[1], sum->ns[2], total_ns,
             start.user_us, start.system_us, go.budget_ns / 2, (int)go.hold);
    setenv(CARRY, carry, 1);
    execl(program, program, (char *)NULL);
    die(program);
}

/* Takes over what the image before this one burnt. Returns the process clock at its "go". */
static uint64_t take_over(struct go *go, struct usage *start)
{
    uint64_t total_ns;
    int hold;
    if (sscanf(getenv(CARRY), "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %d", &sum->ns[0], &sum->ns[1], &sum->ns[2], &total_ns,
               &start->user_us, &start->system_us, &go->budget_ns, &hold) != 8)
        die(CARRY);
    go->hold = hold != 0;
    return total_ns;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sum == MAP_FAILED)
        die("mmap");

    struct go go;
    struct usage start_usage;
    if (getenv(CARRY) != NULL) {
        /* The process clock goes on across exec, so the window does too. */
        const uint64_t start_ns = take_over(&go, &start_usage);
        burn_here(go.budget_ns);
        say_account(spins, sum->ns, process_ns() - start_ns, usage_since(start_usage));
        hold_if(go.hold);
        return 0;
    }

    pthread_t threads[MAX_THREADS];
    const int count = strcmp(mode, "--threads") == 0 ? atoi(argv[2]) : 0;
    const int early = count / 2;
    if (count < 0 || count > MAX_THREADS)
        die("--threads");
    if (count > 0) {
        pthread_barrier_init(&started, NULL, (unsigned)early + 1);
        pthread_barrier_init(&released, NULL, (unsigned)early + 1);
        for (int i = 0; i < early; i++)
            threads[i] = start_thread(early_thread);
        pthread_barrier_wait(&started);
    }

    say_ready();
    go = wait_for_go();
    const uint64_t start_ns = process_ns();
    start_usage = usage_now();
    load_hot_library();

    pid_t child = 0;
    if (count > 0)
        burn_in_threads(threads, early, count, go.budget_ns);
    else if (strcmp(mode, "--churn") == 0)
        churn(go.budget_ns);
    else if (strcmp(mode, "--fork") == 0)
        child = fork_and_burn(go.budget_ns);
    else if (strcmp(mode, "--exec") == 0) {
        burn_here(go.budget_ns / 2);
        exec_and_burn(argv[2], go, start_ns, start_usage);
    } else
        burn_here(go.budget_ns);

    struct usage usage = usage_since(start_usage);
    usage.user_us += sum->child_usage.user_us;
    usage.system_us += sum->child_usage.system_us;
    say_account(spins, sum->ns, process_ns() - start_ns + sum->child_total_ns, usage);
    hold_if(go.hold);
    if (child != 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return 0;
}
