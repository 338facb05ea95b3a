/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * tailtrace.h: marks intervals in a program, at a cost of some ten nanoseconds a mark.
 *
 *     #include "tailtrace.h"
 *
 *     tailtrace_open("orders.csv");            once, before the first mark
 *     tailtrace_thread();                      optional, in each thread before its hot path: makes its buffer
 *     tailtrace_begin("order", id);            on any thread
 *     tailtrace_stage("order", id, "parse");
 *     tailtrace_counter("order", id, "bytes", n);
 *     tailtrace_publish("order", id);          handed to another thread
 *     tailtrace_end("order", id);              on any thread
 *     tailtrace_close();                       optional: exit() does it, too
 *
 *     tailtrace explain -i perf.data --intervals orders.csv
 *
 * What goes in: a label (a string that lives as long as the program: a literal), and a key that pairs the marks of one interval
 * (TAILTRACE_NO_KEY: marks of one thread nest). What comes out: docs/interval-file.md, "One line per marker", clock TSC, with clock
 * pairs for CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW and CLOCK_REALTIME at the start, every 100 ms and at the end.
 *
 * A mark reads the TSC and writes 24 bytes (stage and counter: 48) into a buffer of its thread; a thread of its own turns the
 * buffers into text every 2 ms. No lock, no system call, no allocation after a thread's first mark. A crash loses what the buffers
 * hold: at most the last 2 ms. Where marks come faster than they can be written, they are dropped, counted and reported
 * in the file ("# lost"), never waited for.
 *
 * C99 or C++, GCC or Clang, Linux on x86-64; several files of one program may include it: they share one state. Link with
 * -lpthread where the C library still wants it. After fork() the child's marks are dropped until it opens a file of its own.
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

/* Marks that one thread's buffer holds, a power of two; 24 bytes each. */
#ifndef TAILTRACE_SLOTS
#define TAILTRACE_SLOTS 32768u
#endif

/* For marks that pair by nesting on their own thread. */
#define TAILTRACE_NO_KEY UINT64_MAX

/* Shared by all files of a program that include this one: the linker keeps one of each. */
#define TAILTRACE_SHARED __attribute__((weak))

enum tailtrace_kind { tailtrace_k_begin, tailtrace_k_end, tailtrace_k_stage, tailtrace_k_counter, tailtrace_k_publish };

/* One mark. A stage or a counter takes two slots: the second holds value, nothing, name. */
struct tailtrace_slot {
    uint64_t at;
    uint64_t key;
    uint64_t label; /* address of the label in bits 55:0, kind above */
};

enum tailtrace_ring_state { tailtrace_free, tailtrace_used, tailtrace_retired };

/* One thread's marks on their way to the file: one writer, one reader. */
struct tailtrace_ring {
    /* The marking thread's own line. */
    uint64_t head;
    uint64_t tail_seen;
    uint64_t lost;
    char gap_[64 - 24];
    /* The writing thread's. */
    uint64_t tail;
    uint64_t lost_told;
    uint64_t named;
    struct tailtrace_ring *next;
    int state;
    int tid;
    char comm[16];
    struct tailtrace_slot slots[TAILTRACE_SLOTS];
};

struct tailtrace_program {
    struct tailtrace_ring *rings;
    pthread_mutex_t opening;
    pthread_t writer;
    pthread_key_t thread_end;
    int has_key;
    int on; /* marks are taken */
    int pid;
    int fd;
    int error; /* errno of the first failed write */
    /* The first reading of CLOCK_MONOTONIC_RAW, and from the second on the nanoseconds of a tick. */
    uint64_t first_tsc;
    uint64_t first_ns;
    double tick;
    size_t filled;
    char text[1 << 16];
};

TAILTRACE_SHARED struct tailtrace_program tailtrace_program_;
TAILTRACE_SHARED __thread struct tailtrace_ring *tailtrace_ring_;

static inline uint64_t tailtrace_now(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

TAILTRACE_SHARED struct tailtrace_ring *tailtrace_thread(void);

/* The ring with room for `slots` marks; NULL if there is none. */
static inline struct tailtrace_ring *tailtrace_room(uint64_t slots)
{
    struct tailtrace_ring *ring = tailtrace_ring_;
    if (__builtin_expect(ring == NULL, 0)) {
        ring = tailtrace_thread();
        if (ring == NULL)
            return NULL;
    }
    if (__builtin_expect(ring->head + slots - ring->tail_seen > TAILTRACE_SLOTS, 0)) {
        ring->tail_seen = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
        if (ring->head + slots - ring->tail_seen > TAILTRACE_SLOTS) {
            __atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELAXED);
            return NULL;
        }
    }
    return ring;
}

static inline struct tailtrace_slot *tailtrace_fill(struct tailtrace_ring *ring, enum tailtrace_kind kind,
                                                    const char *label, uint64_t key)
{
    struct tailtrace_slot *slot = &ring->slots[ring->head % TAILTRACE_SLOTS];
    slot->key = key;
    slot->label = (uint64_t)(uintptr_t)label | (uint64_t)kind << 56;
    return slot;
}

/* An interval begins: the time is read last. */
static inline void tailtrace_begin(const char *label, uint64_t key)
{
    struct tailtrace_ring *ring = tailtrace_room(1);
    if (ring != NULL) {
        struct tailtrace_slot *slot = tailtrace_fill(ring, tailtrace_k_begin, label, key);
        slot->at = tailtrace_now();
        __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
    }
}

static inline void tailtrace_mark(enum tailtrace_kind kind, const char *label, uint64_t key)
{
    uint64_t at = tailtrace_now();
    struct tailtrace_ring *ring = tailtrace_room(1);
    if (ring != NULL) {
        tailtrace_fill(ring, kind, label, key)->at = at;
        __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
    }
}

static inline void tailtrace_mark_named(enum tailtrace_kind kind, const char *label, uint64_t key, const char *name,
                                        int64_t value)
{
    uint64_t at = tailtrace_now();
    struct tailtrace_ring *ring = tailtrace_room(2);
    if (ring != NULL) {
        struct tailtrace_slot *second = &ring->slots[(ring->head + 1) % TAILTRACE_SLOTS];
        tailtrace_fill(ring, kind, label, key)->at = at;
        second->at = (uint64_t)value;
        second->label = (uint64_t)(uintptr_t)name;
        __atomic_store_n(&ring->head, ring->head + 2, __ATOMIC_RELEASE);
    }
}

/* An interval ends: the time is read first. */
static inline void tailtrace_end(const char *label, uint64_t key) { tailtrace_mark(tailtrace_k_end, label, key); }

/* The interval's work goes over to another thread. */
static inline void tailtrace_publish(const char *label, uint64_t key)
{
    tailtrace_mark(tailtrace_k_publish, label, key);
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

/* System calls by hand: strict C99 hides their declarations, depending on what the program included before. */
static inline long tailtrace_call(long number, long first, long second, long third)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

#define TAILTRACE_MONOTONIC_RAW 4

enum { tailtrace_sys_nanosleep = 35, tailtrace_sys_prctl = 157, tailtrace_sys_gettid = 186, tailtrace_sys_clock = 228 };

TAILTRACE_SHARED void tailtrace_flush_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    size_t done = 0;
    while (done < program->filled && program->error == 0) {
        ssize_t wrote = write(program->fd, program->text + done, program->filled - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            program->error = errno;
    }
    program->filled = 0;
}

static inline void tailtrace_put_text(const char *text)
{
    struct tailtrace_program *program = &tailtrace_program_;
    size_t length = strlen(text);
    memcpy(program->text + program->filled, text, length);
    program->filled += length;
}

static inline void tailtrace_put_number(uint64_t number)
{
    char digits[21];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    tailtrace_put_text(first);
}

/* A cell of at most 200 bytes; quoted as RFC 4180 says where a comma or quote stands in it. */
static inline void tailtrace_put_cell(const char *text)
{
    struct tailtrace_program *program = &tailtrace_program_;
    size_t length = strlen(text);
    int quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (length > 200)
        length = 200;
    if (quoted)
        program->text[program->filled++] = '"';
    for (size_t at = 0; at < length; at++) {
        if (text[at] == '"')
            program->text[program->filled++] = '"';
        program->text[program->filled++] = text[at];
    }
    if (quoted)
        program->text[program->filled++] = '"';
}

/* Room for one line, whatever it holds: lines are written whole. */
static inline void tailtrace_line(void)
{
    if (tailtrace_program_.filled > sizeof tailtrace_program_.text - 1024)
        tailtrace_flush_();
}

/* Nanoseconds of a clock; 0 if there is no such clock. */
static inline uint64_t tailtrace_clock(long clock)
{
    int64_t time[2] = {0, 0};
    if (tailtrace_call(tailtrace_sys_clock, clock, (long)(uintptr_t)time, 0) != 0)
        return 0;
    return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

/* One reading of the TSC and of a clock: of five the one with the least time between. */
TAILTRACE_SHARED void tailtrace_put_pair_(const char *name, long clock)
{
    struct tailtrace_program *program = &tailtrace_program_;
    uint64_t best = UINT64_MAX, tsc = 0, ns = 0;
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
    tailtrace_line();
    tailtrace_put_text("# clock-pair ");
    tailtrace_put_text(name);
    tailtrace_put_text(" tsc=");
    tailtrace_put_number(tsc);
    tailtrace_put_text(" ns=");
    tailtrace_put_number(ns);
    if (clock == TAILTRACE_MONOTONIC_RAW && program->first_tsc == 0) {
        program->first_tsc = tsc;
        program->first_ns = ns;
    } else if (clock == TAILTRACE_MONOTONIC_RAW) {
        program->tick = (double)(ns - program->first_ns) / (double)(tsc - program->first_tsc);
    }
    if (program->tick > 0) {
        tailtrace_put_text(" error=");
        tailtrace_put_number((uint64_t)((double)best / 2 * program->tick) + 1);
    }
    tailtrace_put_text("\n");
}

TAILTRACE_SHARED void tailtrace_put_pairs_(void)
{
    /* First the one that runs like the TSC: it says what a tick is. */
    tailtrace_put_pair_("monotonic-raw", TAILTRACE_MONOTONIC_RAW);
    tailtrace_put_pair_("monotonic", 1);
    tailtrace_put_pair_("realtime", 0);
}

TAILTRACE_SHARED void tailtrace_put_mark_(const struct tailtrace_ring *ring, const struct tailtrace_slot *slot,
                                          const struct tailtrace_slot *second)
{
    static const char *const kinds[] = {"begin,", "end,", "stage,", "counter,", "publish,"};
    unsigned kind = (unsigned)(slot->label >> 56);
    tailtrace_line();
    tailtrace_put_text(kinds[kind]);
    tailtrace_put_cell((const char *)(uintptr_t)(slot->label << 8 >> 8));
    tailtrace_put_text(",");
    tailtrace_put_number(slot->at);
    tailtrace_put_text(",");
    if (slot->key != TAILTRACE_NO_KEY)
        tailtrace_put_number(slot->key);
    tailtrace_put_text(",");
    tailtrace_put_number((uint64_t)tailtrace_program_.pid);
    tailtrace_put_text(",");
    tailtrace_put_number((uint64_t)ring->tid);
    tailtrace_put_text(",");
    if (second != NULL)
        tailtrace_put_cell((const char *)(uintptr_t)second->label);
    tailtrace_put_text(",");
    if (kind == tailtrace_k_counter && second != NULL) {
        int negative = (int64_t)second->at < 0;
        if (negative)
            tailtrace_put_text("-");
        tailtrace_put_number(negative ? 0 - second->at : second->at);
    }
    tailtrace_put_text("\n");
}

/* Writes what a ring holds. */
TAILTRACE_SHARED void tailtrace_drain_(struct tailtrace_ring *ring)
{
    int retired = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == tailtrace_retired;
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
    if (head != ring->tail && !ring->named) {
        tailtrace_line();
        tailtrace_put_text("# thread pid=");
        tailtrace_put_number((uint64_t)tailtrace_program_.pid);
        tailtrace_put_text(" tid=");
        tailtrace_put_number((uint64_t)ring->tid);
        tailtrace_put_text(" comm=");
        tailtrace_put_text(ring->comm);
        tailtrace_put_text("\n");
        ring->named = 1;
    }
    while (ring->tail != head) {
        const struct tailtrace_slot *slot = &ring->slots[ring->tail % TAILTRACE_SLOTS];
        unsigned kind = (unsigned)(slot->label >> 56);
        int named = kind == tailtrace_k_stage || kind == tailtrace_k_counter;
        tailtrace_put_mark_(ring, slot, named ? &ring->slots[(ring->tail + 1) % TAILTRACE_SLOTS] : NULL);
        __atomic_store_n(&ring->tail, ring->tail + (named ? 2 : 1), __ATOMIC_RELEASE);
    }
    if (lost != ring->lost_told) {
        tailtrace_line();
        tailtrace_put_text("# lost ");
        tailtrace_put_number(lost - ring->lost_told);
        tailtrace_put_text(" marks of tid ");
        tailtrace_put_number((uint64_t)ring->tid);
        tailtrace_put_text(": they came faster than they can be written\n");
        ring->lost_told = lost;
    }
    if (retired)
        __atomic_store_n(&ring->state, tailtrace_free, __ATOMIC_RELEASE);
}

TAILTRACE_SHARED void tailtrace_drain_all_(void)
{
    struct tailtrace_ring *ring = __atomic_load_n(&tailtrace_program_.rings, __ATOMIC_ACQUIRE);
    for (; ring != NULL; ring = ring->next)
        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != tailtrace_free)
            tailtrace_drain_(ring);
    tailtrace_flush_();
}

TAILTRACE_SHARED void *tailtrace_write_(void *unused)
{
    int64_t pause[2] = {0, 2000000};
    uint64_t pairs_due = tailtrace_program_.first_ns + 100000000u;
    (void)unused;
    while (__atomic_load_n(&tailtrace_program_.on, __ATOMIC_ACQUIRE)) {
        tailtrace_drain_all_();
        if (tailtrace_clock(TAILTRACE_MONOTONIC_RAW) >= pairs_due) {
            tailtrace_put_pairs_();
            pairs_due += 100000000u;
        }
        tailtrace_call(tailtrace_sys_nanosleep, (long)(uintptr_t)pause, 0, 0);
    }
    return NULL;
}

TAILTRACE_SHARED void tailtrace_thread_end_(void *ring)
{
    __atomic_store_n(&((struct tailtrace_ring *)ring)->state, tailtrace_retired, __ATOMIC_RELEASE);
    tailtrace_ring_ = NULL;
}

/* Makes this thread's buffer, so that its first mark need not; NULL if no file is open or there is no memory. */
TAILTRACE_SHARED struct tailtrace_ring *tailtrace_thread(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_ring *ring;
    if (tailtrace_ring_ != NULL || !__atomic_load_n(&program->on, __ATOMIC_ACQUIRE))
        return tailtrace_ring_;
    for (ring = __atomic_load_n(&program->rings, __ATOMIC_ACQUIRE); ring != NULL; ring = ring->next) {
        int expected = tailtrace_free;
        if (__atomic_compare_exchange_n(&ring->state, &expected, tailtrace_used, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            break;
    }
    if (ring == NULL) {
        ring = (struct tailtrace_ring *)malloc(sizeof *ring);
        if (ring == NULL)
            return NULL;
        __asm__ volatile("" : "+r"(ring)); /* else compilers make calloc of it, which touches no page */
        memset(ring, 0, sizeof *ring);     /* touches every page now, not in the hot path */
        ring->state = tailtrace_used;
        ring->next = __atomic_load_n(&program->rings, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&program->rings, &ring->next, ring, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            ;
    }
    ring->tid = (int)tailtrace_call(tailtrace_sys_gettid, 0, 0, 0);
    tailtrace_call(tailtrace_sys_prctl, 16 /* PR_GET_NAME */, (long)(uintptr_t)ring->comm, 0);
    ring->comm[strcspn(ring->comm, "\r\n")] = '\0';
    ring->named = 0;
    tailtrace_ring_ = ring;
    pthread_setspecific(program->thread_end, ring);
    return ring;
}

/* Writes all marks and ends the file. Marks that come later are dropped. */
TAILTRACE_SHARED void tailtrace_close(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    pthread_mutex_lock(&program->opening);
    if (program->on && program->pid == (int)getpid()) {
        __atomic_store_n(&program->on, 0, __ATOMIC_RELEASE);
        pthread_join(program->writer, NULL);
        tailtrace_drain_all_();
        tailtrace_put_pairs_();
        tailtrace_flush_();
        close(program->fd);
    }
    pthread_mutex_unlock(&program->opening);
}

/* Drops what the buffers hold from before this file: marks after a close(), or a parent's. */
TAILTRACE_SHARED void tailtrace_forget_(void)
{
    struct tailtrace_program *program = &tailtrace_program_;
    struct tailtrace_ring *ring;
    if (program->pid != (int)getpid()) {
        program->rings = NULL;
        tailtrace_ring_ = NULL;
    }
    for (ring = program->rings; ring != NULL; ring = ring->next) {
        __atomic_store_n(&ring->tail, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
        ring->lost_told = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
        ring->named = 0;
    }
}

/* Begins an interval file; NULL: $TAILTRACE_FILE, else tailtrace.csv. Returns 0, or an errno. */
TAILTRACE_SHARED int tailtrace_open(const char *path)
{
    struct tailtrace_program *program = &tailtrace_program_;
    int error = 0;
    pthread_mutex_lock(&program->opening);
    if (program->on && program->pid == (int)getpid()) {
        pthread_mutex_unlock(&program->opening);
        return EALREADY;
    }
    if (path == NULL)
        path = getenv("TAILTRACE_FILE");
    program->fd = open(path != NULL ? path : "tailtrace.csv", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    if (program->fd < 0)
        error = errno;
    if (error == 0 && !program->has_key) {
        error = pthread_key_create(&program->thread_end, tailtrace_thread_end_);
        program->has_key = error == 0;
        if (error == 0)
            atexit(tailtrace_close);
    }
    if (error == 0) {
        tailtrace_forget_();
        program->pid = (int)getpid();
        program->filled = 0;
        program->error = 0;
        program->first_tsc = 0;
        program->tick = 0;
        tailtrace_put_text("# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid,name,value\n");
        tailtrace_put_pairs_();
        tailtrace_flush_();
        __atomic_store_n(&program->on, 1, __ATOMIC_RELEASE);
        error = pthread_create(&program->writer, NULL, tailtrace_write_, NULL);
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
