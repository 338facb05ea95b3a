/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes a jitdump: which code lay where from when on, with its bytes and lines. Source: tools/perf/Documentation/jitdump-specification.txt of the
 * Linux kernel. One file for each process, in all of its life.
 */
#ifndef TAILTRACE_DUMP_H
#define TAILTRACE_DUMP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { CODE_LOAD = 0, CODE_DEBUG_INFO = 2, CODE_CLOSE = 3, MACHINE_X86_64 = 62, TIMES_OF_TSC = 1 };

struct header {
    uint32_t magic, version, size, machine, unused, pid;
    uint64_t time, flags;
};

/* What each record begins with. */
struct prefix {
    uint32_t kind, size;
    uint64_t time;
};

struct load {
    struct prefix prefix;
    uint32_t pid, tid;
    uint64_t virtual_address, address, size, index; /* the name follows, and the code */
};

struct lines {
    struct prefix prefix;
    uint64_t address, count; /* entries follow */
};

/* From an address on the code is of a line; the file's name follows. */
struct entry {
    uint64_t address;
    uint32_t line, discriminator;
};

/* Bytes that grow; `failed` where there was no memory. */
struct bytes {
    char *at;
    size_t used, room;
    int failed;
};

static struct {
    pthread_mutex_t mutex; /* compiling threads call at the same time */
    int file;              /* -1: there is none, or no more */
    pid_t pid;             /* whose file it is, or was; 0: there was none */
    char *path;
    int of_tsc;
    uint64_t index;
} dump = {PTHREAD_MUTEX_INITIALIZER, -1, 0, NULL, 1, 0};

static uint64_t now(void)
{
    struct timespec time;
    if (dump.of_tsc)
        return __rdtsc();
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void put(struct bytes *bytes, const void *what, size_t length)
{
    if (bytes->used + length > bytes->room) {
        size_t room = 2 * (bytes->used + length);
        char *grown = bytes->failed ? NULL : (char *)realloc(bytes->at, room);
        if (grown == NULL) {
            bytes->failed = 1;
            return;
        }
        bytes->at = grown;
        bytes->room = room;
    }
    memcpy(bytes->at + bytes->used, what, length);
    bytes->used += length;
}

static void put_text(struct bytes *bytes, const char *text)
{
    put(bytes, text, strlen(text));
}

static void end_text(struct bytes *bytes)
{
    put(bytes, "", 1);
}

/* Appends to the file; one that cannot be written on is closed. The mutex is held. */
static void append(const struct bytes *bytes)
{
    size_t done = 0;
    while (dump.file >= 0 && done < bytes->used) {
        ssize_t wrote = write(dump.file, bytes->at + done, bytes->used - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            if (wrote == 0)
                errno = EIO; /* write says nothing of it */
            perror("tailtrace: jitdump");
            close(dump.file);
            dump.file = -1;
            return;
        }
        done += (size_t)wrote;
    }
}

/* The file. */

/* Whether the file is this process's: a child that it forks has the descriptor, too, and its mutex may be locked for ever. */
static int is_own(void)
{
    return dump.pid == getpid();
}

/* Closes and removes the file, as if there had been none. */
static void drop_dump(void)
{
    pthread_mutex_lock(&dump.mutex);
    if (dump.file >= 0)
        close(dump.file);
    if (dump.path != NULL)
        unlink(dump.path);
    free(dump.path);
    dump.file = -1;
    dump.pid = 0;
    dump.path = NULL;
    pthread_mutex_unlock(&dump.mutex);
}

/* Makes the file, a new one: one that is there may be another process's, or a link to one. */
static int make_file(const char *folder)
{
    char *path;
    if (asprintf(&path, "%s/jit-%d.dump", folder, (int)getpid()) < 0)
        return -1;
    if (unlink(path) == 0 || errno == ENOENT)
        dump.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (dump.file < 0) {
        perror(path);
        free(path);
        return -1;
    }
    dump.path = path;
    dump.pid = getpid();
    return 0;
}

/* Opens the file and maps the page by which recorders learn of it. */
static int open_dump(const char *folder)
{
    struct header header = {.magic = 0x4a695444, .version = 1, .size = sizeof header, .machine = MACHINE_X86_64, .pid = (uint32_t)getpid()};
    struct bytes record = {(char *)&header, sizeof header, sizeof header, 0};
    if (make_file(folder) != 0)
        return -1;
    header.time = now();
    header.flags = dump.of_tsc ? TIMES_OF_TSC : 0;
    append(&record);
    if (dump.file >= 0
        && mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, dump.file, 0) != MAP_FAILED)
        return 0;
    if (dump.file >= 0)
        perror(dump.path);
    drop_dump();
    return -1;
}

static void close_dump(void)
{
    struct prefix last = {CODE_CLOSE, sizeof last, 0};
    struct bytes record = {(char *)&last, sizeof last, sizeof last, 0};
    if (!is_own())
        return;
    pthread_mutex_lock(&dump.mutex);
    last.time = now();
    append(&record);
    if (dump.file >= 0)
        close(dump.file);
    dump.file = -1;
    pthread_mutex_unlock(&dump.mutex);
}

/* Writes `record`, which holds the lines if there are any, and the code by its name. */
static void write_code(struct bytes *record, const char *name, const void *address, size_t size)
{
    struct load load = {.prefix = {.kind = CODE_LOAD, .size = (uint32_t)(sizeof load + strlen(name) + 1 + size)},
                        .pid = (uint32_t)getpid(),
                        .tid = (uint32_t)syscall(SYS_gettid),
                        .virtual_address = (uint64_t)(uintptr_t)address,
                        .address = (uint64_t)(uintptr_t)address,
                        .size = size};
    size_t start = record->used;
    put(record, &load, sizeof load);
    put_text(record, name);
    end_text(record);
    put(record, address, size);
    if (record->failed || !is_own())
        return;
    pthread_mutex_lock(&dump.mutex);
    load.index = dump.index++;
    load.prefix.time = now();
    memcpy(record->at + start, &load, sizeof load);
    append(record);
    pthread_mutex_unlock(&dump.mutex);
}

#endif /* TAILTRACE_DUMP_H */
