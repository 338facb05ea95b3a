/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tailtrace.h: marks intervals in a program, at a cost of some ten nanoseconds a mark.
 *
 *     #include "tailtrace.h"
 *
 *     tailtrace_open("orders.marks");          once, before the first mark
 *     tailtrace_thread();                      optional, in each thread before its hot path: makes its buffer
 *     tailtrace_begin("order", id);            on any thread
 *     tailtrace_stage("order", id, "parse");
 *     tailtrace_counter("order", id, "bytes", n);
 *     tailtrace_publish("order", id);          handed to another thread
 *     tailtrace_task_run("order", id);         a thread runs the task of the interval; _ready: it is woken; _await: it waits
 *     tailtrace_end("order", id);              on any thread
 *     tailtrace_end_since("order", id, since); the same, and rings the doorbell where it took too long; since: what begin returned
 *     tailtrace_close();                       optional: exit() does it, too. 0, or the errno of the first failed write
 *
 *     tailtrace explain -i perf.data --intervals orders.marks
 *
 * What goes in: a label (a string that lives as long as the program: a literal), and a key that pairs the marks of one interval
 * (TAILTRACE_NO_KEY: marks of one thread nest). What comes out: docs/interval-file.md, "Binary marks", clock TSC, with clock pairs
 * for CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW and CLOCK_REALTIME at the start, every 100 ms and at the end.
 *
 * Cost. A mark reads the TSC and writes 24 bytes (stage and counter: 48) into a buffer of its thread. No lock, no system call, no
 * allocation after a thread's first mark. A thread of its own copies the buffers into the file every 2 ms and formats nothing. It is
 * SCHED_OTHER, blocks all signals and runs on the CPUs that the process may use, without those of the thread that called
 * tailtrace_open() and without isolated and nohz_full ones; TAILTRACE_WRITER_CPUS=0,4-7 names others.
 *
 * Losses. A mark is dropped, never waited for, where the buffer is full, where a signal handler marks while its thread is within a
 * mark, in a child of fork() that opened no file, and after tailtrace_close(). The file counts these, and what could not be written,
 * and the report shows them. A crash, _exit() and exec() lose what the buffers hold: at most the last 2 ms.
 *
 * Doorbell. `tailtrace record --snapshot-over 200us[,LABEL]` keeps only what was slow: it starts the program with TAILTRACE_OVER (the
 * limits) and TAILTRACE_DOORBELL (a pipe). tailtrace_end_since() compares, and writes a line into the pipe where the interval took
 * longer: one comparison and no system call otherwise. For a plain tailtrace_end() the thread that copies the buffers pairs begin and end,
 * and rings at its next turn, within 2 ms; its line begins with `late`. The limit holds from 100 ms after tailtrace_open() on: then it is known what a
 * tick is. A full pipe takes no line; the recording sees those intervals in the file. A limit `p99.9` is a running percentile of the
 * label: all of its ends are counted, which takes 7 ns more each (docs/recording.md, "Only what was slow").
 *
 * PTWRITE. With TAILTRACE_PTWRITE defined (before this header is included) begin and end are also written into the trace itself, by
 * the instruction where the CPU has it, else by a function whose 64 branches spell the same bits (perf-intel-pt(1), "Emulated
 * PTWRITE"); 2 instead of 1 has all CPUs take the function. No file has to be open. Of a key the low 40 bits are written, of a label
 * the low 20 bits of its address, by which its text is found in the binary. `tailtrace record` finds in the program what the bits mean.
 *
 * Signal handlers may mark, and their thread's first mark may be theirs. They must not leave by longjmp(): the mark that they
 * interrupted would never end. tailtrace_open() and tailtrace_close() are not for handlers.
 *
 * Plugins. A shared object that dlopen() loads shares the program's file only where the program exports its symbols: link the program
 * with -rdynamic (or -Wl,--export-dynamic-symbol='tailtrace_*'). Without, or built with a header of another layout or another
 * TAILTRACE_SLOTS, the plugin has a state of its own: it marks nothing until it calls tailtrace_open() with another file. Labels in a
 * plugin live until dlclose(): marks whose label cannot be read any more are dropped and counted.
 *
 * C99 or C++11, GCC or Clang, Linux on x86-64; several files of one program may include it: they share one state. Link with
 * -lpthread where the C library still wants it.
 */
#ifndef TAILTRACE_H
#define TAILTRACE_H

#if !defined(__x86_64__) || !defined(__linux__)
#error "tailtrace.h marks intervals for Intel Processor Trace: Linux on x86-64"
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records that one thread's buffer holds, a power of two, as a plain number; 24 bytes each. */
#ifndef TAILTRACE_SLOTS
#define TAILTRACE_SLOTS 32768u
#endif

/* For marks that pair by nesting on their own thread. */
#define TAILTRACE_NO_KEY UINT64_MAX

/* Shared by all files of a program that include this one: the linker keeps one of each. */
#define TAILTRACE_SHARED __attribute__((weak, visibility("default")))

/* The layout of what copies of this header share in one process: raised with every change of it. Copies that differ in it, or in
 * TAILTRACE_SLOTS (a program and its plugin, built at different times), have different names and so share nothing: each has a state
 * of its own, and writes a file of its own. */
#define TAILTRACE_LAYOUT 5
#define TAILTRACE_NAME_OF(name, layout, slots) name##layout##_##slots
#define TAILTRACE_EXPAND(name, layout, slots) TAILTRACE_NAME_OF(name, layout, slots)
#define TAILTRACE_VERSIONED(name) TAILTRACE_EXPAND(name, TAILTRACE_LAYOUT, TAILTRACE_SLOTS)
#define tailtrace_program_ TAILTRACE_VERSIONED(tailtrace_program_)
#define tailtrace_ring_ TAILTRACE_VERSIONED(tailtrace_ring_)
#define tailtrace_making_ TAILTRACE_VERSIONED(tailtrace_making_)
#define tailtrace_enter_anew_ TAILTRACE_VERSIONED(tailtrace_enter_anew_)
#define tailtrace_make_room_ TAILTRACE_VERSIONED(tailtrace_make_room_)
#define tailtrace_drop_ TAILTRACE_VERSIONED(tailtrace_drop_)
#define tailtrace_take_ring_ TAILTRACE_VERSIONED(tailtrace_take_ring_)
#define tailtrace_thread TAILTRACE_VERSIONED(tailtrace_thread)
#define tailtrace_thread_end_ TAILTRACE_VERSIONED(tailtrace_thread_end_)
#define tailtrace_write_at_ TAILTRACE_VERSIONED(tailtrace_write_at_)
#define tailtrace_flush_ TAILTRACE_VERSIONED(tailtrace_flush_)
#define tailtrace_read_text_ TAILTRACE_VERSIONED(tailtrace_read_text_)
#define tailtrace_put_text_ TAILTRACE_VERSIONED(tailtrace_put_text_)
#define tailtrace_drain_ TAILTRACE_VERSIONED(tailtrace_drain_)
#define tailtrace_drain_all_ TAILTRACE_VERSIONED(tailtrace_drain_all_)
#define tailtrace_tell_slow_ TAILTRACE_VERSIONED(tailtrace_tell_slow_)
#define tailtrace_judge_ TAILTRACE_VERSIONED(tailtrace_judge_)
#define tailtrace_sort_ TAILTRACE_VERSIONED(tailtrace_sort_)
#define tailtrace_open_bell_ TAILTRACE_VERSIONED(tailtrace_open_bell_)
#define tailtrace_put_pair_ TAILTRACE_VERSIONED(tailtrace_put_pair_)
#define tailtrace_put_pairs_ TAILTRACE_VERSIONED(tailtrace_put_pairs_)
#define tailtrace_put_totals_ TAILTRACE_VERSIONED(tailtrace_put_totals_)
#define tailtrace_cpu_list_ TAILTRACE_VERSIONED(tailtrace_cpu_list_)
#define tailtrace_less_listed_ TAILTRACE_VERSIONED(tailtrace_less_listed_)
#define tailtrace_step_aside_ TAILTRACE_VERSIONED(tailtrace_step_aside_)
#define tailtrace_write_ TAILTRACE_VERSIONED(tailtrace_write_)
#define tailtrace_settle_ TAILTRACE_VERSIONED(tailtrace_settle_)
#define tailtrace_close TAILTRACE_VERSIONED(tailtrace_close)
#define tailtrace_exit_ TAILTRACE_VERSIONED(tailtrace_exit_)
#define tailtrace_before_fork_ TAILTRACE_VERSIONED(tailtrace_before_fork_)
#define tailtrace_after_fork_ TAILTRACE_VERSIONED(tailtrace_after_fork_)
#define tailtrace_forget_parent_ TAILTRACE_VERSIONED(tailtrace_forget_parent_)
#define tailtrace_in_child_ TAILTRACE_VERSIONED(tailtrace_in_child_)
#define tailtrace_create_ TAILTRACE_VERSIONED(tailtrace_create_)
#define tailtrace_start_ TAILTRACE_VERSIONED(tailtrace_start_)
#define tailtrace_open TAILTRACE_VERSIONED(tailtrace_open)

/* Between a thread and its own signal handlers the compiler alone can reorder. */
#define TAILTRACE_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* What a record is: the last byte of its 24. */
enum tailtrace_kind {
    tailtrace_k_begin = 1,
    tailtrace_k_end,
    tailtrace_k_stage,   /* a name follows */
    tailtrace_k_counter, /* a name follows, with the value */
    tailtrace_k_publish,
    tailtrace_k_name,
    tailtrace_k_lost, /* marks of this thread are missing */
    /* From here on only in the file. */
    tailtrace_k_thread, /* whose marks follow */
    tailtrace_k_text,   /* the string at an address, its bytes follow */
    tailtrace_k_bytes,
    tailtrace_k_clock_pair,
    tailtrace_k_total,
    /* Only in buffers: an end whose own thread has compared it with the limit. */
    tailtrace_k_end_since,
    /* Of tasks, which are no threads. */
    tailtrace_k_task_run,
    tailtrace_k_task_ready,
    tailtrace_k_task_await
};

/* What the file counts: its marks, and those that are missing. */
enum tailtrace_count {
    tailtrace_n_written,
    tailtrace_n_full,       /* the thread's buffer was full */
    tailtrace_n_within,     /* made in a signal handler while its thread was within another mark */
    tailtrace_n_no_buffer,  /* there was no memory for a buffer, or a handler interrupted its making */
    tailtrace_n_unwritten,  /* the file could not be written */
    tailtrace_n_unreadable, /* the label's memory is not there any more */
    tailtrace_n_forked,     /* made in a child of fork() that had opened no file */
    tailtrace_n_late,       /* made after tailtrace_close() */
    tailtrace_counts
};

/* One record, in the buffer as in the file. A stage or a counter takes two: the second holds value, nothing, name. */
struct tailtrace_slot {
    uint64_t at;
    uint64_t key;
    uint64_t what; /* address of the label in bits 55:0, kind above */
};

/* From when on an interval of a label is slow ("": of all that have no limit of their own): from so many nanoseconds on, or the longest
 * ones, so many millionths of all. In ticks as far as it is known, else 0. */
struct tailtrace_limit {
    uint64_t ns;
    uint64_t above;
    uint64_t ticks;
    char label[128];
};
#define TAILTRACE_LIMITS 16
/* How many intervals were how long: 32 bins for each doubling of the ticks. */
#define TAILTRACE_BINS 1920u
/* A percentile is known when so many lie above it; from so many on older ones count half. */
#define TAILTRACE_FEWEST_ABOVE 10u
#define TAILTRACE_MOST_ABOVE 200u

/* Taken: a thread is about to use it. Retired: its thread has ended. */
enum tailtrace_ring_state { tailtrace_free, tailtrace_taken, tailtrace_used, tailtrace_retired };

/* One thread's marks on their way to the file: one writer, one reader. */
struct tailtrace_ring {
    /* The marking thread's own line. */
    uint64_t head;
    uint64_t tail_seen;
    volatile int within; /* this thread is within a mark: a handler that interrupts it must not touch the slots */
    int tid;
    uint64_t full, handlers;         /* marks that were dropped: the buffer was full, or a mark was interrupted */
    uint64_t noted;                  /* how many of them a slot mentions */
    uint64_t first_lost, last_lost;  /* times of the others */
    /* The writing thread's. */
    uint64_t tail;
    uint64_t full_counted, handlers_counted;
    struct tailtrace_ring *next;
    char comm[16];
    int state;
    char gap_[12];
    struct tailtrace_slot slots[TAILTRACE_SLOTS];
};

/* A string as the file has it. */
struct tailtrace_text {
    uint64_t address;
    uint64_t pass; /* of the writing thread, in which it was last compared */
    size_t length;
    uint64_t hash;  /* of the bytes, while there is a doorbell */
    int has_limit;
    char bytes[201]; /* with a 0 at the end */
};

/* An interval that has begun, for the writing thread's doorbell: `lane` stands for its label and key (without a key: its thread). */
struct tailtrace_begun {
    uint64_t at; /* 0: no interval */
    uint64_t lane;
};
/* So many groups of so many; where a group is full, the oldest is forgotten. */
#define TAILTRACE_GROUPS 8192u
#define TAILTRACE_IN_GROUP 8u
/* Begins and ends that the writing thread holds until all earlier ones have come. */
#define TAILTRACE_PENDING 65536u

/* What the writing thread knows of intervals whose label has a limit. In `pending` a key is a lane. */
struct tailtrace_pairing {
    struct tailtrace_begun begun[TAILTRACE_GROUPS][TAILTRACE_IN_GROUP];
    struct tailtrace_slot pending[TAILTRACE_PENDING];
    struct tailtrace_slot sorted[TAILTRACE_PENDING];
    size_t count;
};

#define TAILTRACE_TEXTS 256
#define TAILTRACE_RECORDS 2730

/* A set of CPUs, as the kernel has it. */
struct tailtrace_cpus {
    uint64_t of[128];
};

struct tailtrace_program {
    struct tailtrace_ring *rings;
    uint64_t *counts; /* a page that children of fork() share */
    pthread_mutex_t opening;
    pthread_t writer;
    pthread_key_t thread_end;
    int prepared;     /* exit and fork handlers are registered */
    int on;           /* marks are taken */
    int writer_runs;
    int dropped_as;   /* what a mark is counted as while they are not */
    int pid;
    int has_file;     /* also after tailtrace_close(): late marks are still to be counted */
    int fd;
    int error;        /* errno of the first failed write */
    struct tailtrace_cpus writer_cpus; /* TAILTRACE_WRITER_CPUS */
    /* The first reading of CLOCK_MONOTONIC_RAW, and from the second on the nanoseconds of a tick. */
    uint64_t first_tsc;
    uint64_t first_ns;
    double tick;
    uint64_t offset; /* the file's end: whole records only */
    uint64_t pass;
    const struct tailtrace_ring *current; /* whose marks the file's last thread record announces */
    unsigned since_thread;
    /* Records that are not written yet; how many marks are in them, and from when to when these or their losses are. */
    size_t filled;
    uint64_t marks, first, last;
    struct tailtrace_slot records[TAILTRACE_RECORDS];
    struct tailtrace_text texts[TAILTRACE_TEXTS];
    /* From how many ticks on an interval may be slow, the least of the limits; 0: none is known. The limits, and the pipe. */
    uint64_t over;
    struct tailtrace_limit limits[TAILTRACE_LIMITS];
    uint32_t *bins[TAILTRACE_LIMITS];
    unsigned limit_count;
    int has_bell;
    int bell;
    struct tailtrace_pairing *pairing; /* NULL: the writing thread rings for nothing */
};

TAILTRACE_SHARED struct tailtrace_program tailtrace_program_;
TAILTRACE_SHARED __thread struct tailtrace_ring *tailtrace_ring_;
TAILTRACE_SHARED __thread volatile int tailtrace_making_; /* this thread is making its buffer */

static inline uint64_t tailtrace_now(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* What is not usual: a thread's first mark, a mark within a mark, a full buffer. */
TAILTRACE_SHARED struct tailtrace_ring *tailtrace_enter_anew_(struct tailtrace_ring *ring);
TAILTRACE_SHARED int tailtrace_make_room_(struct tailtrace_ring *ring, uint64_t slots);

/* The ring with room for `slots` more, which is this thread's until tailtrace_leave(); NULL where the mark is dropped. */
static inline struct tailtrace_ring *tailtrace_enter(uint64_t slots)
{
    struct tailtrace_ring *ring = tailtrace_ring_;
    if (__builtin_expect(ring == NULL || ring->within, 0)) {
        ring = tailtrace_enter_anew_(ring);
        if (ring == NULL)
            return NULL;
    }
    ring->within = 1;
    TAILTRACE_ORDER(); /* a handler that came before this is over: only now read the head */
    if (__builtin_expect(ring->head + slots - ring->tail_seen > TAILTRACE_SLOTS, 0) && !tailtrace_make_room_(ring, slots)) {
        TAILTRACE_ORDER();
        ring->within = 0;
        return NULL;
    }
    return ring;
}

/* Publishes the slots. */
static inline void tailtrace_leave(struct tailtrace_ring *ring, uint64_t slots)
{
    __atomic_store_n(&ring->head, ring->head + slots, __ATOMIC_RELEASE);
    TAILTRACE_ORDER();
    ring->within = 0;
}

static inline struct tailtrace_slot *tailtrace_fill(struct tailtrace_ring *ring, enum tailtrace_kind kind,
                                                    const char *label, uint64_t key)
{
    struct tailtrace_slot *slot = &ring->slots[ring->head % TAILTRACE_SLOTS];
    slot->key = key;
    slot->what = (uint64_t)(uintptr_t)label | (uint64_t)kind << 56;
    return slot;
}

/* ---- Marks in the trace. ---- */

#ifdef TAILTRACE_PTWRITE
#include <cpuid.h>

/* What the bits of a payload mean, for who reads the trace: an ELF note of the program. */
__asm__(".pushsection .note.tailtrace, \"a\", @note\n\t"
        ".balign 4\n\t.long 10, 2f - 1f, 1\n\t.asciz \"tailtrace\"\n\t.balign 4\n"
        "1:\t.asciz \"begin=0xb,end=0xe,tag=60..63,label=40..59,id=0..39\"\n"
        "2:\t.balign 4\n\t.popsection");

enum { tailtrace_t_begin = 0xb, tailtrace_t_end = 0xe };

/* 1: this CPU has PTWRITE, 2: it has not; 0: main() has not begun. */
static int tailtrace_has_ptwrite = 0;

__attribute__((constructor)) static void tailtrace_look_for_ptwrite(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    /* Leaf 0x14 exists where leaf 7 says that there is Intel PT. */
    int has = TAILTRACE_PTWRITE + 0 != 2 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 25 & 1) &&
              __get_cpuid_count(0x14, 0, &a, &b, &c, &d) && (b >> 4 & 1);
    tailtrace_has_ptwrite = has ? 1 : 2;
}

/* The payload in the conditional branches of this function, highest bit first: each goes to the next instruction. The bytes after the
 * first jump are what decoders know it by. The payload is in RDI. */
__attribute__((naked, noinline, unused)) static void tailtrace_spell(uint64_t payload __attribute__((unused)))
{
    __asm__("jmp 1f\n\t"
            ".byte 0x0f, 0x0b\n\t.ascii \"perf,ptwrite  \"\n"
            "1:\tmovq %rdi, %rax\n\t"
            ".rept 64\n\tshlq $1, %rax\n\tjc 1f\n1:\n\t.endr\n\t"
            "ret");
}

static inline void tailtrace_trace(uint64_t tag, const char *label, uint64_t key)
{
    uint64_t payload = tag << 60 | ((uint64_t)(uintptr_t)label & 0xfffff) << 40 | (key & 0xffffffffff);
    if (__builtin_expect(tailtrace_has_ptwrite == 1, 1))
        __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xe0" /* ptwrite rax */ : : "a"(payload) : "memory");
    else if (tailtrace_has_ptwrite == 2)
        tailtrace_spell(payload);
}
#define TAILTRACE_TRACE(tag, label, key) tailtrace_trace(tag, label, key)
#else
#define TAILTRACE_TRACE(tag, label, key) ((void)0)
#endif

/* An interval begins: the time is read last. Returns it; 0 where the mark is dropped. */
static inline uint64_t tailtrace_begin(const char *label, uint64_t key)
{
    struct tailtrace_ring *ring = tailtrace_enter(1);
    uint64_t at = 0;
    if (ring != NULL) {
        struct tailtrace_slot *slot = tailtrace_fill(ring, tailtrace_k_begin, label, key);
        slot->at = at = tailtrace_now();
        tailtrace_leave(ring, 1);
    }
    TAILTRACE_TRACE(tailtrace_t_begin, label, key);
    return at;
}

static inline uint64_t tailtrace_mark(enum tailtrace_kind kind, const char *label, uint64_t key)
{
    uint64_t at = tailtrace_now();
    struct tailtrace_ring *ring = tailtrace_enter(1);
    if (ring != NULL) {
        tailtrace_fill(ring, kind, label, key)->at = at;
        tailtrace_leave(ring, 1);
    }
    return at;
}

static inline void tailtrace_mark_named(enum tailtrace_kind kind, const char *label, uint64_t key, const char *name,
                                        int64_t value)
{
    uint64_t at = tailtrace_now();
    struct tailtrace_ring *ring = tailtrace_enter(2);
    if (ring != NULL) {
        struct tailtrace_slot *second = &ring->slots[(ring->head + 1) % TAILTRACE_SLOTS];
        tailtrace_fill(ring, kind, label, key)->at = at;
        second->at = (uint64_t)value;
        second->key = 0;
        second->what = (uint64_t)(uintptr_t)name | (uint64_t)tailtrace_k_name << 56;
        tailtrace_leave(ring, 2);
    }
}

/* An interval ends: the time is read first. */
static inline void tailtrace_end(const char *label, uint64_t key)
{
    TAILTRACE_TRACE(tailtrace_t_end, label, key);
    tailtrace_mark(tailtrace_k_end, label, key);
}

/* Rings the doorbell for an interval of `label`, if it took longer than the limit of its label; `late`: on the writing thread. */
TAILTRACE_SHARED void tailtrace_tell_slow_(const char *label, uint64_t since, uint64_t at, int late);

/* The same for an interval that began at `since`, as tailtrace_begin() returned it, on whatever thread; where that is too long ago, the
 * doorbell rings. */
static inline void tailtrace_end_since(const char *label, uint64_t key, uint64_t since)
{
    TAILTRACE_TRACE(tailtrace_t_end, label, key);
    uint64_t at = tailtrace_mark(tailtrace_k_end_since, label, key);
    /* Without a limit the right side is the largest number there is. */
    if (__builtin_expect(at - since > __atomic_load_n(&tailtrace_program_.over, __ATOMIC_RELAXED) - 1, 0))
        tailtrace_tell_slow_(label, since, at, 0);
}

/* The interval's work goes over to another thread. */
static inline void tailtrace_publish(const char *label, uint64_t key)
{
    tailtrace_mark(tailtrace_k_publish, label, key);
}

/* A thread runs the interval's task from here on: before the task is polled, or its coroutine resumed. */
static inline void tailtrace_task_run(const char *label, uint64_t key)
{
    tailtrace_mark(tailtrace_k_task_run, label, key);
}

/* The interval's task can go on: where it is woken, on whatever thread. */
static inline void tailtrace_task_ready(const char *label, uint64_t key)
{
    tailtrace_mark(tailtrace_k_task_ready, label, key);
}

/* The interval's task waits from here on: after it was run, on the thread that ran it. */
static inline void tailtrace_task_await(const char *label, uint64_t key)
{
    tailtrace_mark(tailtrace_k_task_await, label, key);
}

/* A stage of the interval begins; the one before ends. */
static inline void tailtrace_stage(const char *label, uint64_t key, const char *stage)
{
    tailtrace_mark_named(tailtrace_k_stage, label, key, stage, 0);
}

/* A number that belongs to the interval. */
static inline void tailtrace_counter(const char *label, uint64_t key, const char *counter, int64_t value)
{
    tailtrace_mark_named(tailtrace_k_counter, label, key, counter, value);
}

/* ---- Off the hot path from here on. ---- */

/* System calls by hand: strict C99 hides their declarations, and handlers must not find errno changed. -errno where one fails. */
static inline long tailtrace_call(long number, long first, long second, long third, long fourth, long fifth, long sixth)
{
    long result;
    __asm__ volatile("movq %[fourth], %%r10\n\tmovq %[fifth], %%r8\n\tmovq %[sixth], %%r9\n\tsyscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), [fourth] "r"(fourth), [fifth] "r"(fifth),
                       [sixth] "r"(sixth)
                     : "rcx", "r8", "r9", "r10", "r11", "memory");
    return result;
}

#define TAILTRACE_AT(pointer) ((long)(uintptr_t)(pointer))

enum {
    tailtrace_sys_read = 0,
    tailtrace_sys_write = 1,
    tailtrace_sys_close = 3,
    tailtrace_sys_lseek = 8,
    tailtrace_sys_mmap = 9,
    tailtrace_sys_sigprocmask = 14,
    tailtrace_sys_pwrite = 18,
    tailtrace_sys_nanosleep = 35,
    tailtrace_sys_fcntl = 72,
    tailtrace_sys_flock = 73,
    tailtrace_sys_ftruncate = 77,
    tailtrace_sys_setscheduler = 144,
    tailtrace_sys_prctl = 157,
    tailtrace_sys_gettid = 186,
    tailtrace_sys_setaffinity = 203,
    tailtrace_sys_getaffinity = 204,
    tailtrace_sys_clock = 228,
    tailtrace_sys_tgkill = 234,
    tailtrace_sys_openat = 257,
    tailtrace_sys_vm_readv = 310
};

#define TAILTRACE_MONOTONIC_RAW 4
#define TAILTRACE_O_CLOEXEC 02000000

/* Adds to what the file will count; nothing is counted before the first tailtrace_open(). */
static inline void tailtrace_count(int what, uint64_t marks)
{
    uint64_t *counts = __atomic_load_n(&tailtrace_program_.counts, __ATOMIC_ACQUIRE);
    if (counts != NULL)
        __atomic_fetch_add(&counts[what], marks, __ATOMIC_RELAXED);
}

/* Memory of this process alone, or shared with its children; all of its pages are there. NULL if there is none. */
static inline void *tailtrace_pages(size_t size, int shared)
{
    /* PROT_READ | PROT_WRITE; MAP_ANONYMOUS | MAP_POPULATE and MAP_SHARED or MAP_PRIVATE. malloc() is not for handlers. */
    long at = tailtrace_call(tailtrace_sys_mmap, 0, (long)size, 3, shared ? 0x8021 : 0x8022, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)(uintptr_t)at;
}

/* ---- The doorbell. ---- */

/* `0x` and 16 digits. */
static inline char *tailtrace_hexadecimal(char *to, uint64_t value)
{
    *to++ = '0';
    *to++ = 'x';
    for (int shift = 60; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[value >> shift & 15];
    return to;
}

/* The limit of the label, else that of all labels; NULL where there is neither. */
static inline const struct tailtrace_limit *tailtrace_limit_of(const char *label)
{
    struct tailtrace_program *program = &tailtrace_program_;
    const struct tailtrace_limit *of_all = NULL;
    for (unsigned number = 0; number < program->limit_count; number++) {
        const struct tailtrace_limit *limit = &program->limits[number];
        if (limit->label[0] == '\0')
            of_all = limit;
        else if (strcmp(limit->label, label) == 0)
            return limit;
    }
    return of_all;
}

static inline unsigned tailtrace_bin(uint64_t ticks)
{
    unsigned doublings = 63u - (unsigned)__builtin_clzll(ticks | 31);
    return doublings < 5 || ticks < 32 ? (unsigned)ticks : (doublings - 4) * 32 + (unsigned)(ticks >> (doublings - 5) & 31);
}

/* The least ticks of a bin. */
static inline uint64_t tailtrace_bin_begin(unsigned bin)
{
    return bin < 32 ? bin : (32 + (uint64_t)bin % 32) << (bin / 32 - 1);
}

TAILTRACE_SHARED void tailtrace_tell_slow_(const char *label, uint64_t since, uint64_t at, int late)
{
    struct tailtrace_program *program = &tailtrace_program_;
    char line[5 + 2 * 19 + 128 + 1], *end = line;
    /* A begin that was dropped has no time; marks out of a program that has closed its file are not to be found in it. */
    if (since == 0 || at == 0 || !program->has_bell || !(late || __atomic_load_n(&program->on, __ATOMIC_ACQUIRE)))
        return;
    const struct tailtrace_limit *limit = tailtrace_limit_of(label);
    if (limit == NULL)
        return;
    if (limit->above != 0)
        __atomic_fetch_add(&program->bins[limit - program->limits][tailtrace_bin(at - since)], 1, __ATOMIC_RELAXED);
    uint64_t ticks = __atomic_load_n(&limit->ticks, __ATOMIC_RELAXED);
    if (ticks == 0 || at - since < ticks)
        return;
    for (const char *word = late ? "late " : ""; *word != '\0'; word++)
        *end++ = *word;
    end = tailtrace_hexadecimal(end, since);
    *end++ = ' ';
    end = tailtrace_hexadecimal(end, at);
    *end++ = ' ';
    for (size_t at_label = 0; at_label < 127 && label[at_label] != '\0'; at_label++)
        *end++ = label[at_label] == '\n' ? ' ' : label[at_label];
    *end++ = '\n';
    tailtrace_call(tailtrace_sys_write, program->bell, TAILTRACE_AT(line), (long)(end - line), 0, 0, 0);
}

/* The rest of `99.9` after the whole part: how many millionths lie above; 0 where that is no upper percentile. */
static inline uint64_t tailtrace_read_above(uint64_t whole, char **rest)
{
    uint64_t part = whole < 100 ? whole * 10000 : 0;
    if (**rest == '.')
        for (uint64_t place = 1000; *++*rest >= '0' && **rest <= '9'; place /= 10)
            part += place * (uint64_t)(**rest - '0');
    return part >= 500000 ? 1000000 - part : 0;
}

/* Zeros in the bins of a limit; 0 where there is no memory for them. */
static inline int tailtrace_count_anew(unsigned number)
{
    uint32_t **bins = &tailtrace_program_.bins[number];
    if (*bins == NULL)
        *bins = (uint32_t *)tailtrace_pages(TAILTRACE_BINS * sizeof **bins, 0);
    for (unsigned bin = 0; *bins != NULL && bin < TAILTRACE_BINS; bin++)
        __atomic_store_n(&(*bins)[bin], 0, __ATOMIC_RELAXED);
    return *bins != NULL;
}

/* Reads `200us,LABEL` or `p99.9,LABEL` up to a `;` or the end, and returns that; a limit that is none is left out. */
static inline const char *tailtrace_read_limit(const char *text)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_limit *limit = &program->limits[program->limit_count];
    char *unit;
    int is_part = *text == 'p';
    uint64_t number = strtoull(text + is_part, &unit, 10);
    memset(limit, 0, sizeof *limit);
    if (is_part)
        limit->above = tailtrace_read_above(number, &unit);
    size_t length = strcspn(unit, ",;"), whole = strcspn(unit, ";");
    limit->ns = is_part                                    ? 0
                : length == 2 && memcmp(unit, "ns", 2) == 0   ? number
                : length == 2 && memcmp(unit, "us", 2) == 0 ? number * 1000u
                : length == 2 && memcmp(unit, "ms", 2) == 0 ? number * 1000000u
                : length == 1 && unit[0] == 's'             ? number * 1000000000u
                                                            : 0;
    int is_good = limit->ns != 0 || (length == 0 && limit->above != 0 && tailtrace_count_anew(program->limit_count));
    if (length < whole && whole - length - 1 < sizeof limit->label)
        memcpy(limit->label, unit + length + 1, whole - length - 1);
    else if (length < whole)
        is_good = 0;
    program->limit_count += (unsigned)is_good;
    return unit + whole;
}

/* Reads `200us,LABEL;1ms` and opens the pipe; without either there is no doorbell. */
TAILTRACE_SHARED void tailtrace_open_bell_(const char *over, const char *path)
{
    struct tailtrace_program *program = &tailtrace_program_;
    program->over = 0;
    program->limit_count = 0;
    if (program->pairing != NULL)
        memset(program->pairing, 0, sizeof *program->pairing);
    if (over == NULL || path == NULL)
        return;
    while (program->limit_count < TAILTRACE_LIMITS && *(over = tailtrace_read_limit(over)) == ';')
        over++;
    for (unsigned number = 0; number < program->limit_count; number++)
        program->over |= program->limits[number].above != 0; /* all are counted */
    if (program->limit_count > 0 && program->pairing == NULL)
        program->pairing = (struct tailtrace_pairing *)tailtrace_pages(sizeof *program->pairing, 0);
    if (program->limit_count == 0 || program->has_bell)
        return;
    /* O_WRONLY | O_NONBLOCK: without a reader it cannot be opened. O_RDWR: this process is a reader, too, so that a write raises no
     * SIGPIPE when the recorder is gone, and a full pipe takes nothing. */
    long heard = tailtrace_call(tailtrace_sys_openat, -100 /* AT_FDCWD */, TAILTRACE_AT(path), 1 | 04000 | TAILTRACE_O_CLOEXEC, 0, 0, 0);
    if (heard < 0)
        return;
    long fd = tailtrace_call(tailtrace_sys_openat, -100, TAILTRACE_AT(path), 2 | 04000 | TAILTRACE_O_CLOEXEC, 0, 0, 0);
    tailtrace_call(tailtrace_sys_close, heard, 0, 0, 0, 0, 0);
    program->bell = (int)fd;
    program->has_bell = fd >= 0;
}

/* From how many ticks on an interval is one of the longest, `above` millionths of all; 0 where too few are known. */
static inline uint64_t tailtrace_percentile(uint32_t *bins, uint64_t above)
{
    uint64_t all = 0, longer = 0;
    unsigned bin = TAILTRACE_BINS;
    for (unsigned number = 0; number < TAILTRACE_BINS; number++)
        all += __atomic_load_n(&bins[number], __ATOMIC_RELAXED);
    if (all * above < TAILTRACE_FEWEST_ABOVE * UINT64_C(1000000))
        return 0;
    for (; bin > 0; bin--) {
        longer += __atomic_load_n(&bins[bin - 1], __ATOMIC_RELAXED);
        if (longer * 1000000 > all * above)
            break;
    }
    /* What one bin cannot halve is taken from the next one: of the bins that count one, every other becomes empty. */
    uint32_t carried = 0;
    for (unsigned number = 0; all * above > TAILTRACE_MOST_ABOVE * UINT64_C(1000000) && number < TAILTRACE_BINS; number++) {
        uint32_t twice = __atomic_load_n(&bins[number], __ATOMIC_RELAXED) + carried;
        __atomic_fetch_sub(&bins[number], twice / 2, __ATOMIC_RELAXED);
        carried = twice % 2;
    }
    return tailtrace_bin_begin(bin);
}

/* It is known what a tick is, or how long intervals are: the limits hold. */
static inline void tailtrace_convert_limits(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    uint64_t least = UINT64_MAX;
    for (unsigned number = 0; number < program->limit_count; number++) {
        struct tailtrace_limit *limit = &program->limits[number];
        uint64_t ticks = limit->above != 0 ? tailtrace_percentile(program->bins[number], limit->above)
                                           : (uint64_t)((double)limit->ns / program->tick);
        if (ticks != 0)
            __atomic_store_n(&limit->ticks, ticks, __ATOMIC_RELAXED);
        ticks = limit->above != 0 ? 1 : ticks;
        least = ticks < least ? ticks : least;
    }
    if (program->limit_count > 0)
        __atomic_store_n(&program->over, least, __ATOMIC_RELAXED);
}

/* ---- On the marking thread. ---- */

/* Drops a mark. The next one will find no room, so that it looks for some and notes the loss. */
TAILTRACE_SHARED void tailtrace_drop_(struct tailtrace_ring *ring, uint64_t *lost)
{
    uint64_t now = tailtrace_now();
    if (ring->full + ring->handlers == ring->noted)
        __atomic_store_n(&ring->first_lost, now, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->last_lost, now, __ATOMIC_RELAXED);
    __atomic_fetch_add(lost, 1, __ATOMIC_RELAXED);
    ring->tail_seen = ring->head - TAILTRACE_SLOTS;
}

/* A record of the marks that were dropped and that none mentions yet. */
static inline struct tailtrace_slot tailtrace_lost_slot(struct tailtrace_ring *ring, uint64_t noted, uint64_t lost)
{
    uint64_t first = __atomic_load_n(&ring->first_lost, __ATOMIC_RELAXED);
    uint64_t ticks = __atomic_load_n(&ring->last_lost, __ATOMIC_RELAXED) - first;
    struct tailtrace_slot slot;
    slot.at = first;
    slot.key = lost - noted;
    slot.what = (uint64_t)tailtrace_k_lost << 56 | (uint64_t)tailtrace_n_full << 48 | (ticks >> 48 ? UINT64_MAX >> 16 : ticks);
    return slot;
}

/* Looks how far the file is; 0 where the buffer is full, and the mark is dropped. */
TAILTRACE_SHARED int tailtrace_make_room_(struct tailtrace_ring *ring, uint64_t slots)
{
    uint64_t lost = __atomic_load_n(&ring->full, __ATOMIC_RELAXED) + __atomic_load_n(&ring->handlers, __ATOMIC_RELAXED);
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    ring->tail_seen = tail; /* a handler may come and change it */
    if (ring->head + slots + (lost != ring->noted) - tail > TAILTRACE_SLOTS) {
        tailtrace_drop_(ring, &ring->full);
        return 0;
    }
    if (lost != ring->noted) {
        ring->slots[ring->head % TAILTRACE_SLOTS] = tailtrace_lost_slot(ring, ring->noted, lost);
        __atomic_store_n(&ring->noted, lost, __ATOMIC_RELAXED);
        __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
    }
    return 1;
}

/* A buffer that no thread has any more, or a new one. */
TAILTRACE_SHARED struct tailtrace_ring *tailtrace_take_ring_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_ring *ring;
    for (ring = __atomic_load_n(&program->rings, __ATOMIC_ACQUIRE); ring != NULL; ring = ring->next) {
        int expected = tailtrace_free;
        if (__atomic_compare_exchange_n(&ring->state, &expected, tailtrace_taken, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return ring;
    }
    ring = (struct tailtrace_ring *)tailtrace_pages(sizeof *ring, 0);
    if (ring == NULL)
        return NULL;
    ring->state = tailtrace_taken;
    ring->next = __atomic_load_n(&program->rings, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&program->rings, &ring->next, ring, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return ring;
}

/* Makes this thread's buffer, so that its first mark need not; NULL if no file is open or there is no memory. */
TAILTRACE_SHARED struct tailtrace_ring *tailtrace_thread(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_ring *ring = tailtrace_ring_;
    if (ring != NULL || tailtrace_making_ || !__atomic_load_n(&program->on, __ATOMIC_ACQUIRE))
        return ring;
    tailtrace_making_ = 1;
    TAILTRACE_ORDER();
    ring = tailtrace_take_ring_();
    if (ring != NULL) {
        ring->within = 0; /* its last thread may have ended within a mark */
        ring->tid = (int)tailtrace_call(tailtrace_sys_gettid, 0, 0, 0, 0, 0, 0);
        tailtrace_call(tailtrace_sys_prctl, 16 /* PR_GET_NAME */, TAILTRACE_AT(ring->comm), 0, 0, 0, 0);
        __atomic_store_n(&ring->state, tailtrace_used, __ATOMIC_RELEASE);
        /* For later keys the C libraries allocate memory, which is not for handlers: the writer will see that the thread ended. */
        if (program->thread_end < 32)
            pthread_setspecific(program->thread_end, ring);
        tailtrace_ring_ = ring;
    }
    TAILTRACE_ORDER();
    tailtrace_making_ = 0;
    return ring;
}

TAILTRACE_SHARED struct tailtrace_ring *tailtrace_enter_anew_(struct tailtrace_ring *ring)
{
    struct tailtrace_program *program = &tailtrace_program_;
    if (ring != NULL) {
        tailtrace_drop_(ring, &ring->handlers);
        return NULL;
    }
    ring = tailtrace_thread();
    if (ring == NULL) {
        int on = __atomic_load_n(&program->on, __ATOMIC_ACQUIRE);
        tailtrace_count(on ? tailtrace_n_no_buffer : __atomic_load_n(&program->dropped_as, __ATOMIC_RELAXED), 1);
    }
    return ring;
}

/* A thread ends. First it forgets its buffer: a handler may still come. */
TAILTRACE_SHARED void tailtrace_thread_end_(void *ring)
{
    tailtrace_ring_ = NULL;
    TAILTRACE_ORDER();
    __atomic_store_n(&((struct tailtrace_ring *)ring)->state, tailtrace_retired, __ATOMIC_RELEASE);
}

/* ---- On the writing thread. ---- */

/* Begins the next buffer with what is known of marks that could not be written. */
static inline void tailtrace_put_unwritten(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    uint64_t ticks = program->last - program->first;
    struct tailtrace_slot *slot = &program->records[0];
    slot->at = program->first;
    slot->key = 0; /* the total says how many */
    slot->what = (uint64_t)tailtrace_k_lost << 56 | (uint64_t)tailtrace_n_unwritten << 48 |
                 (ticks >> 48 ? UINT64_MAX >> 16 : ticks);
    program->filled = 1;
}

/* Writes `size` bytes at `offset` of the file; 0, or an errno. */
TAILTRACE_SHARED int tailtrace_write_at_(const void *bytes, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        long wrote = tailtrace_call(tailtrace_sys_pwrite, tailtrace_program_.fd, TAILTRACE_AT((const char *)bytes + done),
                                    (long)(size - done), (long)(offset + done), 0, 0);
        if (wrote == 0 || (wrote < 0 && wrote != -EINTR))
            return wrote == 0 ? EIO : (int)-wrote;
        done += wrote < 0 ? 0 : (size_t)wrote;
    }
    return 0;
}

TAILTRACE_SHARED void tailtrace_flush_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    size_t size = program->filled * sizeof *program->records;
    int error = tailtrace_write_at_(program->records, size, program->offset);
    if (error == 0) {
        tailtrace_count(tailtrace_n_written, program->marks);
        program->offset += size;
        program->filled = 0;
        program->first = UINT64_MAX;
        program->last = 0;
    } else {
        /* What is written in part would be counted twice. The strings and the thread of these records are not in the file. */
        tailtrace_call(tailtrace_sys_ftruncate, program->fd, (long)program->offset, 0, 0, 0, 0);
        tailtrace_count(tailtrace_n_unwritten, program->marks);
        program->error = program->error != 0 ? program->error : error;
        memset(program->texts, 0, sizeof program->texts);
        program->current = NULL;
        program->filled = 0;
        if (program->first <= program->last)
            tailtrace_put_unwritten();
    }
    program->marks = 0;
}

static inline void tailtrace_put(uint64_t at, uint64_t key, uint64_t what, enum tailtrace_kind kind)
{
    struct tailtrace_slot *record = &tailtrace_program_.records[tailtrace_program_.filled++];
    record->at = at;
    record->key = key;
    record->what = what | (uint64_t)kind << 56;
}

/* Room for a mark with all that belongs to it: its thread, two strings of 1 + 9 records each, and its name. */
static inline void tailtrace_reserve(void)
{
    if (tailtrace_program_.filled + 32 > TAILTRACE_RECORDS)
        tailtrace_flush_();
}

/* Notes that the records cover a time: of a mark, or of marks that are missing. */
static inline void tailtrace_cover(uint64_t from, uint64_t to)
{
    struct tailtrace_program *program = &tailtrace_program_;
    if (from < program->first)
        program->first = from;
    if (to > program->last)
        program->last = to;
}

/* Reads a string of the program, which may be gone: its first 200 bytes or less; -1 where there is no such memory. */
TAILTRACE_SHARED int tailtrace_read_text_(uint64_t address, char *bytes, size_t size)
{
    uint64_t to_page_end = 4096 - address % 4096, first = to_page_end < size ? to_page_end : size;
    uint64_t local[2], remote[4];
    local[0] = (uint64_t)(uintptr_t)bytes;
    local[1] = size;
    remote[0] = address;
    remote[1] = first;
    remote[2] = address + first;
    remote[3] = size - first;
    long length =
        tailtrace_call(tailtrace_sys_vm_readv, tailtrace_program_.pid, TAILTRACE_AT(local), 1, TAILTRACE_AT(remote), 2, 0);
    if (length == -EFAULT || address == 0)
        return -1;
    if (length < 0) { /* not permitted here: trust the program */
        const char *text = (const char *)(uintptr_t)address;
        for (length = 0; length < (long)size && text[length] != '\0'; length++)
            bytes[length] = text[length];
        return (int)length;
    }
    for (long at = 0; at < length; at++)
        if (bytes[at] == '\0')
            return (int)at;
    return (int)length;
}

/* ---- The doorbell, on the writing thread. ---- */

/* Sorts slots by time, those of equal times as they are. Those of one thread are in order already. */
TAILTRACE_SHARED void tailtrace_sort_(struct tailtrace_slot *slots, struct tailtrace_slot *room, size_t count)
{
    size_t half = count / 2, left = 0, right = half, filled = 0;
    if (count < 2)
        return;
    tailtrace_sort_(slots, room, half);
    tailtrace_sort_(slots + half, room, count - half);
    if (slots[half - 1].at <= slots[half].at)
        return;
    memcpy(room, slots, half * sizeof *slots);
    while (left < half)
        slots[filled++] = right < count && slots[right].at < room[left].at ? slots[right++] : room[left++];
}

/* Where an interval that begins in a lane is noted: over an open one of the same key, else where there is room. */
static inline struct tailtrace_begun *tailtrace_place_of(struct tailtrace_begun *group, uint64_t lane, int nests)
{
    struct tailtrace_begun *oldest = group;
    for (unsigned at = 0; at < TAILTRACE_IN_GROUP; at++) {
        if (!nests && group[at].at != 0 && group[at].lane == lane)
            return &group[at];
        if (group[at].at < oldest->at)
            oldest = &group[at];
    }
    return oldest;
}

/* When the innermost interval of a lane began, which is open no longer; 0 where there is none. */
static inline uint64_t tailtrace_take_begun(struct tailtrace_begun *group, uint64_t lane)
{
    struct tailtrace_begun *found = NULL;
    uint64_t since;
    for (unsigned at = 0; at < TAILTRACE_IN_GROUP; at++)
        if (group[at].at != 0 && group[at].lane == lane && (found == NULL || group[at].at > found->at))
            found = &group[at];
    if (found == NULL)
        return 0;
    since = found->at;
    found->at = 0;
    return since;
}

/* Pairs what was marked up to `until`, in order of time, and rings for what was slow. Others may mark earlier still, and come later. */
TAILTRACE_SHARED void tailtrace_judge_(uint64_t until)
{
    struct tailtrace_pairing *pairing = tailtrace_program_.pairing;
    size_t at = 0;
    if (pairing == NULL || pairing->count == 0)
        return;
    tailtrace_sort_(pairing->pending, pairing->sorted, pairing->count);
    for (; at < pairing->count && pairing->pending[at].at <= until; at++) {
        const struct tailtrace_slot *slot = &pairing->pending[at];
        struct tailtrace_begun *group = pairing->begun[slot->key % TAILTRACE_GROUPS];
        unsigned kind = (unsigned)(slot->what >> 56);
        if (kind == tailtrace_k_begin) {
            struct tailtrace_begun *begun = tailtrace_place_of(group, slot->key, (int)(slot->key >> 63));
            begun->at = slot->at;
            begun->lane = slot->key;
            continue;
        }
        uint64_t since = tailtrace_take_begun(group, slot->key);
        const char *label = (const char *)(uintptr_t)(slot->what & UINT64_MAX >> 8);
        char text[201];
        if (since == 0 || kind != tailtrace_k_end || slot->at - since <= __atomic_load_n(&tailtrace_program_.over, __ATOMIC_RELAXED) - 1)
            continue;
        int length = tailtrace_read_text_((uint64_t)(uintptr_t)label, text, sizeof text - 1);
        if (length >= 0) {
            text[length] = '\0';
            tailtrace_tell_slow_(text, since, slot->at, 1);
        }
    }
    memmove(pairing->pending, pairing->pending + at, (pairing->count - at) * sizeof *pairing->pending);
    pairing->count -= at;
}

static inline uint64_t tailtrace_mix(uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 32) * 0xd6e8feb86659fd93u;
    return value ^ value >> 32;
}

/* Has a begin or an end wait for its turn, if its label has a limit. `known`: its label. */
static inline void tailtrace_await(const struct tailtrace_ring *ring, const struct tailtrace_slot *slot,
                                   const struct tailtrace_text *known)
{
    struct tailtrace_pairing *pairing = tailtrace_program_.pairing;
    unsigned kind = (unsigned)(slot->what >> 56);
    int nests = slot->key == TAILTRACE_NO_KEY;
    uint64_t of_label = known->hash + (uint64_t)nests;
    if (!known->has_limit || (kind != tailtrace_k_begin && kind != tailtrace_k_end && kind != tailtrace_k_end_since))
        return;
    if (pairing->count == TAILTRACE_PENDING)
        tailtrace_judge_(UINT64_MAX); /* out of order where threads are, but not without end */
    struct tailtrace_slot *pending = &pairing->pending[pairing->count++];
    *pending = *slot;
    pending->key = tailtrace_mix(of_label + tailtrace_mix(nests ? (uint64_t)(unsigned)ring->tid : slot->key)) >> 1 | (uint64_t)nests << 63;
}

/* Whether the writing thread has to ring. */
static inline int tailtrace_rings_late(void)
{
    return tailtrace_program_.pairing != NULL && tailtrace_program_.has_bell && tailtrace_program_.limit_count > 0;
}

/* Where a string is known, if it is. */
static inline struct tailtrace_text *tailtrace_place_of_text(uint64_t address)
{
    return &tailtrace_program_.texts[(address * 0x9e3779b97f4a7c15u >> 32) % TAILTRACE_TEXTS];
}

/* Says of a label whether it has a limit, and what stands for it. */
static inline void tailtrace_know(struct tailtrace_text *label)
{
    label->has_limit = tailtrace_limit_of(label->bytes) != NULL;
    label->hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *byte = label->bytes; *byte != '\0'; byte++)
        label->hash = (label->hash ^ (unsigned char)*byte) * 0x100000001b3u;
}

/* Makes sure that the file holds the string at `address` as it is now; 0 where it cannot be read. */
TAILTRACE_SHARED int tailtrace_put_text_(uint64_t address)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_text *known = tailtrace_place_of_text(address);
    char bytes[sizeof known->bytes - 1];
    if (known->address == address && known->pass == program->pass)
        return 1;
    int length = tailtrace_read_text_(address, bytes, sizeof bytes);
    if (length < 0)
        return 0;
    if (known->address != address || known->length != (size_t)length || memcmp(known->bytes, bytes, (size_t)length) != 0) {
        tailtrace_put(address, (uint64_t)length, 0, tailtrace_k_text);
        for (int at = 0; at < length; at += 23) {
            char record[24] = {0};
            size_t some = (size_t)(length - at < 23 ? length - at : 23);
            memcpy(record, bytes + at, some);
            record[23] = (char)tailtrace_k_bytes;
            memcpy(&program->records[program->filled++], record, sizeof record);
        }
        memcpy(known->bytes, bytes, (size_t)length);
        known->bytes[length] = '\0';
        if (tailtrace_rings_late())
            tailtrace_know(known);
        known->address = address;
        known->length = (size_t)length;
    }
    known->pass = program->pass;
    return 1;
}

/* Says whose marks follow: where it changes, and now and then, for the reader of a damaged file. */
static inline void tailtrace_put_thread(const struct tailtrace_ring *ring)
{
    struct tailtrace_program *program = &tailtrace_program_;
    if (program->current != ring || program->since_thread >= 256) {
        uint64_t name[2];
        memcpy(name, ring->comm, sizeof name); /* 15 bytes at most, and the 0 that ends them */
        uint64_t ids = (uint64_t)(uint32_t)ring->tid << 32 | (uint32_t)program->pid;
        tailtrace_put(ids, name[0], name[1] << 8 >> 8, tailtrace_k_thread);
        program->current = ring;
        program->since_thread = 0;
    }
}

static inline void tailtrace_put_lost(const struct tailtrace_ring *ring, const struct tailtrace_slot *lost)
{
    tailtrace_reserve();
    tailtrace_put_thread(ring);
    tailtrace_cover(lost->at, lost->at + (lost->what & UINT64_MAX >> 16));
    tailtrace_program_.records[tailtrace_program_.filled++] = *lost;
}

/* Writes a mark; what it cannot trust is counted instead. */
static inline void tailtrace_put_mark(const struct tailtrace_ring *ring, const struct tailtrace_slot *slot,
                                      const struct tailtrace_slot *name)
{
    struct tailtrace_program *program = &tailtrace_program_;
    const uint64_t address = UINT64_MAX >> 8;
    unsigned kind = (unsigned)(slot->what >> 56);
    tailtrace_reserve();
    int is_mark = (kind >= tailtrace_k_begin && kind <= tailtrace_k_publish) || (kind >= tailtrace_k_end_since && kind <= tailtrace_k_task_await);
    if (!is_mark || !tailtrace_put_text_(slot->what & address) ||
        (name != NULL && !tailtrace_put_text_(name->what & address))) {
        struct tailtrace_slot lost = {slot->at, 1, 0};
        lost.what = (uint64_t)tailtrace_k_lost << 56 | (uint64_t)tailtrace_n_unreadable << 48;
        tailtrace_count(tailtrace_n_unreadable, 1);
        tailtrace_put_lost(ring, &lost);
        return;
    }
    tailtrace_put_thread(ring);
    tailtrace_cover(slot->at, slot->at);
    program->records[program->filled] = *slot;
    if (kind == tailtrace_k_end_since)
        program->records[program->filled].what = (slot->what & address) | (uint64_t)tailtrace_k_end << 56;
    program->filled++;
    if (tailtrace_rings_late())
        tailtrace_await(ring, slot, tailtrace_place_of_text(slot->what & address));
    if (name != NULL)
        program->records[program->filled++] = *name;
    program->marks++;
    program->since_thread++;
}

/* Adds what a thread dropped since it was last counted. */
static inline void tailtrace_count_lost(struct tailtrace_ring *ring)
{
    uint64_t full = __atomic_load_n(&ring->full, __ATOMIC_RELAXED);
    uint64_t handlers = __atomic_load_n(&ring->handlers, __ATOMIC_RELAXED);
    if (full != ring->full_counted)
        tailtrace_count(tailtrace_n_full, full - ring->full_counted);
    if (handlers != ring->handlers_counted)
        tailtrace_count(tailtrace_n_within, handlers - ring->handlers_counted);
    ring->full_counted = full;
    ring->handlers_counted = handlers;
}

/* No later mark is to mention these losses, unless its thread has just done so. */
static inline void tailtrace_note(struct tailtrace_ring *ring, uint64_t noted, uint64_t lost)
{
    __atomic_compare_exchange_n(&ring->noted, &noted, lost, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* A stage and a counter take two slots. */
static inline unsigned tailtrace_slots_of(const struct tailtrace_slot *slot)
{
    unsigned kind = (unsigned)(slot->what >> 56);
    return kind == tailtrace_k_stage || kind == tailtrace_k_counter ? 2 : 1;
}

/* Writes what a ring holds, and at the end the losses that no later mark will note. Returns whether it was filling up. */
TAILTRACE_SHARED int tailtrace_drain_(struct tailtrace_ring *ring, int is_last)
{
    int retired = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == tailtrace_retired;
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), tail = ring->tail;
    int filling = head - tail > TAILTRACE_SLOTS / 4;
    while (tail != head) {
        const struct tailtrace_slot *slot = &ring->slots[tail % TAILTRACE_SLOTS];
        unsigned slots = tailtrace_slots_of(slot);
        if (slot->what >> 56 == tailtrace_k_lost)
            tailtrace_put_lost(ring, slot);
        else
            tailtrace_put_mark(ring, slot, slots == 2 ? &ring->slots[(tail + 1) % TAILTRACE_SLOTS] : NULL);
        tail += slots;
        __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
    }
    tailtrace_count_lost(ring);
    if (retired || is_last) {
        uint64_t noted = __atomic_load_n(&ring->noted, __ATOMIC_RELAXED), lost = ring->full_counted + ring->handlers_counted;
        if (lost != noted) {
            struct tailtrace_slot slot = tailtrace_lost_slot(ring, noted, lost);
            tailtrace_put_lost(ring, &slot);
            tailtrace_note(ring, noted, lost); /* the next file has nothing of it */
        }
    }
    if (retired) {
        ring->noted = ring->full_counted + ring->handlers_counted;
        tailtrace_program_.current = NULL; /* its next thread has another name */
        __atomic_store_n(&ring->state, tailtrace_free, __ATOMIC_RELEASE);
    }
    return filling;
}

TAILTRACE_SHARED int tailtrace_drain_all_(int is_last)
{
    int filling = 0;
    struct tailtrace_ring *ring = __atomic_load_n(&tailtrace_program_.rings, __ATOMIC_ACQUIRE);
    uint64_t begun = tailtrace_now();
    tailtrace_program_.pass++;
    for (; ring != NULL; ring = ring->next) {
        int state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
        if (state == tailtrace_used || state == tailtrace_retired)
            filling |= tailtrace_drain_(ring, is_last);
    }
    if (tailtrace_program_.filled > 0)
        tailtrace_flush_();
    tailtrace_judge_(is_last ? UINT64_MAX : begun);
    return filling;
}

/* Nanoseconds of a clock; 0 if there is no such clock. */
static inline uint64_t tailtrace_clock(long clock)
{
    int64_t time[2] = {0, 0};
    if (tailtrace_call(tailtrace_sys_clock, clock, TAILTRACE_AT(time), 0, 0, 0, 0) != 0)
        return 0;
    return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

/* One reading of the TSC and of a clock: of five the one with the least time between. */
TAILTRACE_SHARED void tailtrace_put_pair_(long clock)
{
    struct tailtrace_program *program = &tailtrace_program_;
    uint64_t best = UINT64_MAX, tsc = 0, ns = 0, error = 0;
    for (int attempt = 0; attempt < 5; attempt++) {
        uint64_t before = tailtrace_now();
        uint64_t reading = tailtrace_clock(clock);
        uint64_t took = tailtrace_now() - before;
        if (reading != 0 && took < best) {
            best = took;
            tsc = before + took / 2;
            ns = reading;
        }
    }
    if (best == UINT64_MAX)
        return;
    if (clock == TAILTRACE_MONOTONIC_RAW && program->first_tsc == 0) {
        program->first_tsc = tsc;
        program->first_ns = ns;
    } else if (clock == TAILTRACE_MONOTONIC_RAW) {
        program->tick = (double)(ns - program->first_ns) / (double)(tsc - program->first_tsc);
        tailtrace_convert_limits();
    }
    if (program->tick > 0)
        error = (uint64_t)((double)best / 2 * program->tick) + 1;
    tailtrace_reserve();
    tailtrace_put(tsc, ns, (uint64_t)clock << 48 | (error >> 48 ? UINT64_MAX >> 16 : error), tailtrace_k_clock_pair);
}

TAILTRACE_SHARED void tailtrace_put_pairs_(void)
{
    /* First the one that runs like the TSC: it says what a tick is. */
    tailtrace_put_pair_(TAILTRACE_MONOTONIC_RAW);
    tailtrace_put_pair_(1);
    tailtrace_put_pair_(0);
    tailtrace_flush_();
}

/* The first line: 64 bytes, so that the records after it lie aligned. */
#define TAILTRACE_LINE "# tailtrace-intervals 1 clock=tsc form=binary                  \n"

/* Writes the counts in their place after the first line, which a full disk does not prevent; `closed`: they will not change. */
TAILTRACE_SHARED int tailtrace_put_totals_(int closed)
{
    struct tailtrace_slot totals[tailtrace_counts];
    for (int what = 0; what < tailtrace_counts; what++) {
        totals[what].at = __atomic_load_n(&tailtrace_program_.counts[what], __ATOMIC_RELAXED);
        totals[what].key = (uint64_t)closed;
        totals[what].what = (uint64_t)what | (uint64_t)tailtrace_k_total << 56;
    }
    return tailtrace_write_at_(totals, sizeof totals, sizeof TAILTRACE_LINE - 1);
}

/* Retires the buffers of threads that ended without a word. */
static inline void tailtrace_retire(void)
{
    struct tailtrace_ring *ring = __atomic_load_n(&tailtrace_program_.rings, __ATOMIC_ACQUIRE);
    for (; ring != NULL; ring = ring->next) {
        int expected = tailtrace_used;
        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == tailtrace_used &&
            tailtrace_call(tailtrace_sys_tgkill, tailtrace_program_.pid, ring->tid, 0, 0, 0, 0) == -ESRCH)
            __atomic_compare_exchange_n(&ring->state, &expected, tailtrace_retired, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

/* Reads a list of CPUs, `0,4-7`; 0 where it is none. */
TAILTRACE_SHARED int tailtrace_cpu_list_(const char *text, struct tailtrace_cpus *cpus)
{
    memset(cpus, 0, sizeof *cpus);
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; first <= last && first < 64 * sizeof cpus->of / sizeof *cpus->of; first++)
            cpus->of[first / 64] |= (uint64_t)1 << first % 64;
        text = *end == ',' ? end + 1 : end;
    }
    return *text == '\0' || *text == '\n';
}

/* Takes the CPUs that a file lists out of a set. */
TAILTRACE_SHARED void tailtrace_less_listed_(const char *path, struct tailtrace_cpus *cpus)
{
    char text[4096];
    struct tailtrace_cpus listed;
    long fd = tailtrace_call(tailtrace_sys_openat, -100 /* AT_FDCWD */, TAILTRACE_AT(path), TAILTRACE_O_CLOEXEC, 0, 0, 0);
    long length = fd < 0 ? fd : tailtrace_call(tailtrace_sys_read, fd, TAILTRACE_AT(text), sizeof text - 1, 0, 0, 0);
    if (fd >= 0)
        tailtrace_call(tailtrace_sys_close, fd, 0, 0, 0, 0, 0);
    text[length < 0 ? 0 : length] = '\0';
    if (tailtrace_cpu_list_(text, &listed))
        for (size_t at = 0; at < sizeof cpus->of / sizeof *cpus->of; at++)
            cpus->of[at] &= ~listed.of[at];
}

/* Moves this thread to those of `cpus` that are in `allowed`, less `without`; 0 where there are none. */
static inline int tailtrace_move(const struct tailtrace_cpus *cpus, const struct tailtrace_cpus *allowed,
                                 const struct tailtrace_cpus *without)
{
    struct tailtrace_cpus wanted;
    uint64_t any = 0;
    for (size_t at = 0; at < sizeof wanted.of / sizeof *wanted.of; at++)
        any |= wanted.of[at] = cpus->of[at] & allowed->of[at] & (without != NULL ? ~without->of[at] : UINT64_MAX);
    return any != 0 && tailtrace_call(tailtrace_sys_setaffinity, 0, sizeof wanted, TAILTRACE_AT(&wanted), 0, 0, 0) == 0;
}

/* Leaves the CPUs and the scheduling class that this thread has from its creator. */
TAILTRACE_SHARED void tailtrace_step_aside_(void)
{
    struct tailtrace_cpus creators, allowed, usual;
    int priority = 0;
    memset(&creators, 0, sizeof creators);
    memset(&allowed, 0xff, sizeof allowed);
    tailtrace_call(tailtrace_sys_prctl, 15 /* PR_SET_NAME */, TAILTRACE_AT("tailtrace"), 0, 0, 0, 0);
    tailtrace_call(tailtrace_sys_setscheduler, 0, 0 /* SCHED_OTHER */, TAILTRACE_AT(&priority), 0, 0, 0);
    tailtrace_call(tailtrace_sys_getaffinity, 0, sizeof creators, TAILTRACE_AT(&creators), 0, 0, 0);
    /* The kernel takes of all CPUs those that the process may use. */
    if (tailtrace_call(tailtrace_sys_setaffinity, 0, sizeof allowed, TAILTRACE_AT(&allowed), 0, 0, 0) != 0)
        return;
    memset(&allowed, 0, sizeof allowed);
    tailtrace_call(tailtrace_sys_getaffinity, 0, sizeof allowed, TAILTRACE_AT(&allowed), 0, 0, 0);
    usual = allowed;
    tailtrace_less_listed_("/sys/devices/system/cpu/isolated", &usual);
    tailtrace_less_listed_("/sys/devices/system/cpu/nohz_full", &usual);
    if (!tailtrace_move(&tailtrace_program_.writer_cpus, &allowed, NULL) && !tailtrace_move(&usual, &allowed, &creators) &&
        !tailtrace_move(&usual, &allowed, NULL))
        tailtrace_move(&allowed, &allowed, &creators);
}

TAILTRACE_SHARED void *tailtrace_write_(void *unused)
{
    struct tailtrace_program *program = &tailtrace_program_;
    int64_t pause[2] = {0, 2000000};
    uint64_t pairs_due = program->first_ns + 100000000u;
    int on, error;
    (void)unused;
    tailtrace_step_aside_();
    __atomic_store_n(&program->writer_runs, 1, __ATOMIC_RELEASE);
    do {
        on = __atomic_load_n(&program->on, __ATOMIC_ACQUIRE);
        int filling = tailtrace_drain_all_(!on);
        if (tailtrace_clock(TAILTRACE_MONOTONIC_RAW) >= pairs_due) {
            tailtrace_put_pairs_();
            tailtrace_put_totals_(0);
            tailtrace_retire();
            memset(program->texts, 0, sizeof program->texts); /* again in the file, for the reader of a damaged one */
            pairs_due = tailtrace_clock(TAILTRACE_MONOTONIC_RAW) + 100000000u; /* after a stop one, not all that were missed */
        }
        if (on && !filling)
            tailtrace_call(tailtrace_sys_nanosleep, TAILTRACE_AT(pause), 0, 0, 0, 0, 0);
    } while (on);
    tailtrace_put_pairs_();
    error = tailtrace_put_totals_(1);
    program->error = program->error != 0 ? program->error : error;
    return NULL;
}

/* ---- Opening and closing. ---- */

/* Counts the marks that came after the file was closed, and gives the file up. */
TAILTRACE_SHARED void tailtrace_settle_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_ring *ring;
    for (ring = __atomic_load_n(&program->rings, __ATOMIC_ACQUIRE); ring != NULL; ring = ring->next) {
        uint64_t full = __atomic_load_n(&ring->full, __ATOMIC_RELAXED);
        uint64_t handlers = __atomic_load_n(&ring->handlers, __ATOMIC_RELAXED);
        uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), tail = ring->tail;
        uint64_t late = full - ring->full_counted + (handlers - ring->handlers_counted);
        while (tail != head) {
            const struct tailtrace_slot *slot = &ring->slots[tail % TAILTRACE_SLOTS];
            late += slot->what >> 56 != tailtrace_k_lost;
            tail += tailtrace_slots_of(slot);
        }
        ring->full_counted = full;
        ring->handlers_counted = handlers;
        __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
        tailtrace_note(ring, __atomic_load_n(&ring->noted, __ATOMIC_RELAXED), full + handlers);
        tailtrace_count(tailtrace_n_late, late);
    }
    if (program->has_file) {
        tailtrace_put_totals_(1);
        tailtrace_call(tailtrace_sys_flock, program->fd, 8 /* LOCK_UN */, 0, 0, 0, 0); /* even if a child has it open still */
        tailtrace_call(tailtrace_sys_close, program->fd, 0, 0, 0, 0, 0);
    }
    program->has_file = 0;
}

/* Writes all marks and ends the file; later ones are dropped. Returns 0, or the errno of the first write that failed. */
TAILTRACE_SHARED int tailtrace_close(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    int error = 0;
    pthread_mutex_lock(&program->opening);
    if (program->on && program->pid == (int)getpid()) {
        __atomic_store_n(&program->dropped_as, tailtrace_n_late, __ATOMIC_RELAXED);
        __atomic_store_n(&program->on, 0, __ATOMIC_RELEASE);
        error = pthread_join(program->writer, NULL);
        if (error == 0)
            error = program->error;
        /* Closing a duplicate shows the errors that some file systems keep until then; late marks are still to be counted. */
        long same = tailtrace_call(tailtrace_sys_fcntl, program->fd, 1030 /* F_DUPFD_CLOEXEC */, 0, 0, 0, 0);
        long closed = same < 0 ? same : tailtrace_call(tailtrace_sys_close, same, 0, 0, 0, 0, 0);
        if (error == 0 && closed < 0)
            error = (int)-closed;
    }
    pthread_mutex_unlock(&program->opening);
    return error;
}

/* At exit(), and where a plugin with a state of its own is unloaded. */
TAILTRACE_SHARED void tailtrace_exit_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    tailtrace_close();
    pthread_mutex_lock(&program->opening);
    if (program->pid == (int)getpid())
        tailtrace_settle_();
    if (program->prepared)
        pthread_key_delete(program->thread_end);
    program->prepared = 0;
    pthread_mutex_unlock(&program->opening);
}

/* fork(): the child has neither the writing thread nor a file; what it marks is counted in the page that it shares. */
TAILTRACE_SHARED void tailtrace_before_fork_(void) { pthread_mutex_lock(&tailtrace_program_.opening); }

TAILTRACE_SHARED void tailtrace_after_fork_(void) { pthread_mutex_unlock(&tailtrace_program_.opening); }

TAILTRACE_SHARED void tailtrace_forget_parent_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    tailtrace_ring_ = NULL;
    program->rings = NULL;
    program->on = 0;
    program->dropped_as = tailtrace_n_forked;
    if (program->has_file)
        tailtrace_call(tailtrace_sys_close, program->fd, 0, 0, 0, 0, 0);
    program->has_file = 0;
}

TAILTRACE_SHARED void tailtrace_in_child_(void)
{
    tailtrace_forget_parent_();
    pthread_mutex_unlock(&tailtrace_program_.opening);
}

/* Creates the file; 0, or an errno. */
TAILTRACE_SHARED int tailtrace_create_(const char *path)
{
    struct tailtrace_program *program = &tailtrace_program_;
    long fd = tailtrace_call(tailtrace_sys_openat, -100 /* AT_FDCWD */, TAILTRACE_AT(path),
                             O_WRONLY | O_CREAT | TAILTRACE_O_CLOEXEC, 0644, 0, 0);
    int error = fd < 0 ? (int)-fd : 0;
    if (error != 0)
        return error;
    /* One program writes one file; a second one must not cut it off. Devices, which have no size, are for all. */
    if (tailtrace_call(tailtrace_sys_flock, fd, 2 | 4 /* LOCK_EX | LOCK_NB */, 0, 0, 0, 0) == -EWOULDBLOCK &&
        tailtrace_call(tailtrace_sys_lseek, fd, 0, 2 /* SEEK_END */, 0, 0, 0) > 0)
        error = EBUSY;
    program->fd = (int)fd;
    program->has_file = error == 0;
    program->offset = sizeof TAILTRACE_LINE - 1 + tailtrace_counts * sizeof(struct tailtrace_slot);
    if (error == 0) {
        tailtrace_call(tailtrace_sys_ftruncate, fd, 0, 0, 0, 0, 0);
        error = tailtrace_write_at_(TAILTRACE_LINE, sizeof TAILTRACE_LINE - 1, 0);
    }
    if (error == 0)
        error = tailtrace_put_totals_(0);
    if (error != 0) {
        tailtrace_call(tailtrace_sys_close, fd, 0, 0, 0, 0, 0);
        program->has_file = 0;
    }
    return error;
}

/* Starts the writing thread, which has all signals blocked from its start: another thread handles them. */
TAILTRACE_SHARED int tailtrace_start_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    /* All but 32 and 33, by which the C library has all threads change their user. */
    uint64_t all = ~((uint64_t)3 << 31), before = 0;
    int64_t pause[2] = {0, 100000};
    program->writer_runs = 0;
    tailtrace_call(tailtrace_sys_sigprocmask, 2 /* SIG_SETMASK */, TAILTRACE_AT(&all), TAILTRACE_AT(&before), 8, 0, 0);
    int error = pthread_create(&program->writer, NULL, tailtrace_write_, NULL);
    tailtrace_call(tailtrace_sys_sigprocmask, 2, TAILTRACE_AT(&before), 0, 8, 0, 0);
    /* It begins on this thread's CPUs and in its class: sleep, so that it can leave them even if these are a real-time thread's. */
    for (int wait = 0; error == 0 && wait < 10000 && !__atomic_load_n(&program->writer_runs, __ATOMIC_ACQUIRE); wait++)
        tailtrace_call(tailtrace_sys_nanosleep, TAILTRACE_AT(pause), 0, 0, 0, 0, 0);
    return error;
}

/* What is done once in a program: handlers, and the page of counts. */
static inline int tailtrace_prepare(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    uint64_t *counts;
    if (!program->prepared) {
        int error = pthread_key_create(&program->thread_end, tailtrace_thread_end_);
        if (error != 0)
            return error;
        program->prepared = 1;
        atexit(tailtrace_exit_);
        if (program->counts == NULL)
            pthread_atfork(tailtrace_before_fork_, tailtrace_after_fork_, tailtrace_in_child_);
    }
    /* A new page for each file: a child may still count in the one before. */
    counts = (uint64_t *)tailtrace_pages(4096, 1);
    if (counts == NULL)
        return ENOMEM;
    __atomic_store_n(&program->counts, counts, __ATOMIC_RELEASE);
    return 0;
}

/* Begins an interval file; NULL: $TAILTRACE_FILE, else tailtrace.marks. Returns 0, or an errno: EALREADY if one is open, EBUSY if
 * another process writes this one, ESPIPE if it is no file on a disk. */
TAILTRACE_SHARED int tailtrace_open(const char *path)
{
    struct tailtrace_program *program = &tailtrace_program_;
    const char *cpus = getenv("TAILTRACE_WRITER_CPUS");
    int error;
    pthread_mutex_lock(&program->opening);
    if (program->pid != 0 && program->pid != (int)getpid())
        tailtrace_forget_parent_(); /* a child that no fork() of the C library made */
    if (program->on) {
        pthread_mutex_unlock(&program->opening);
        return EALREADY;
    }
    tailtrace_settle_();
    if (path == NULL)
        path = getenv("TAILTRACE_FILE");
    if (cpus == NULL || !tailtrace_cpu_list_(cpus, &program->writer_cpus))
        memset(&program->writer_cpus, 0, sizeof program->writer_cpus);
    error = tailtrace_prepare();
    if (error == 0)
        error = tailtrace_create_(path != NULL ? path : "tailtrace.marks");
    if (error == 0) {
        program->pid = (int)getpid();
        program->filled = 0;
        program->marks = 0;
        program->first = UINT64_MAX;
        program->last = 0;
        program->error = 0;
        program->first_tsc = 0;
        program->tick = 0;
        program->current = NULL;
        memset(program->texts, 0, sizeof program->texts);
        tailtrace_open_bell_(getenv("TAILTRACE_OVER"), getenv("TAILTRACE_DOORBELL"));
        tailtrace_put_pairs_();
        __atomic_store_n(&program->on, 1, __ATOMIC_RELEASE);
        error = tailtrace_start_();
        if (error != 0)
            __atomic_store_n(&program->on, 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&program->opening);
    return error;
}

#ifdef __cplusplus
}
#endif

#endif /* TAILTRACE_H */
