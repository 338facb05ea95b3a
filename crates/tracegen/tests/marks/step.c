/* A signal handler that marks interrupts marks after each of their instructions: `step FILE`. Prints `made MARKS`.
 *
 * The CPU's trap flag raises SIGTRAP after every instruction, from a thread's first mark on, which makes its buffer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tailtrace.h"

#include <signal.h>
#include <stdio.h>

static volatile uint64_t in_handler;

static void on_step(int signal)
{
    (void)signal;
    tailtrace_begin("handler", TAILTRACE_NO_KEY);
    tailtrace_counter("handler", TAILTRACE_NO_KEY, "steps", (int64_t)in_handler);
    tailtrace_end("handler", TAILTRACE_NO_KEY);
    in_handler += 3;
}

/* Past the red zone of the function around it. */
#define STEP(operation)                                                                                                \
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t" operation " (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"   \
                     :                                                                                                 \
                     :                                                                                                 \
                     : "memory", "cc")

static void *mark(void *unused)
{
    STEP("orq $0x100,");
    for (uint64_t key = 0; key < 100; key++) {
        tailtrace_begin("step", key);
        tailtrace_stage("step", key, "stage");
        tailtrace_end("step", key);
    }
    STEP("andq $~0x100,");
    return unused;
}

int main(int count, char **arguments)
{
    struct sigaction action;
    pthread_t thread;
    if (count != 2 || tailtrace_open(arguments[1]) != 0)
        return 1;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_step;
    sigaction(SIGTRAP, &action, NULL);
    if (pthread_create(&thread, NULL, mark, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    tailtrace_close();
    printf("made %llu\n", (unsigned long long)(300 + in_handler));
    return 0;
}
