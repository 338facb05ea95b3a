/* What the branches of an emulated PTWRITE spell: prints the label's address, the key and the payload of each mark, in hexadecimal.
 *
 * The CPU's trap flag raises SIGTRAP after every instruction: where the next one is a `jc` to the one after it, the carry flag is the
 * branch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define TAILTRACE_PTWRITE 2
#include "tailtrace.h"

#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

static volatile uint64_t payload;
static volatile int bits;

static void on_step(int signal, siginfo_t *info, void *context)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *next = (const unsigned char *)registers[REG_RIP];
    (void)signal;
    (void)info;
    if (next[0] == 0x72 && next[1] == 0) {
        payload = payload << 1 | (registers[REG_EFL] & 1);
        bits++;
    }
}

/* Past the red zone of the function around it. */
#define STEP(operation)                                                                                                \
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t" operation " (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"   \
                     :                                                                                                 \
                     :                                                                                                 \
                     : "memory", "cc")

static int print(const char *label, uint64_t key)
{
    int is_whole = bits == 64;
    printf("%llx %llx %llx\n", (unsigned long long)(uintptr_t)label, (unsigned long long)key, (unsigned long long)payload);
    bits = 0;
    return is_whole;
}

static int mark(const char *label, uint64_t key)
{
    uint64_t since;
    int whole = 0;
    STEP("orq $0x100,");
    since = tailtrace_begin(label, key);
    STEP("andq $~0x100,");
    whole += print(label, key);
    STEP("orq $0x100,");
    tailtrace_end_since(label, key, since);
    STEP("andq $~0x100,");
    whole += print(label, key);
    return whole == 2;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    return mark("order", 7) && mark("query", 0x123456789abcdef0) && mark("order", TAILTRACE_NO_KEY) ? 0 : 1;
}
