/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"
#include "tailtrace.h"

int core_open(const char *path) { return tailtrace_open(path); }
int core_close(void) { return tailtrace_close(); }
int core_thread(void) { return tailtrace_thread() != NULL; }
uint64_t core_begin(uintptr_t label, uint64_t key) { return tailtrace_begin((const char *)label, key); }
void core_end(uintptr_t label, uint64_t key) { tailtrace_end((const char *)label, key); }
void core_end_since(uintptr_t label, uint64_t key, uint64_t since) { tailtrace_end_since((const char *)label, key, since); }
void core_publish(uintptr_t label, uint64_t key) { tailtrace_publish((const char *)label, key); }
void core_stage(uintptr_t label, uint64_t key, uintptr_t name)
{
    tailtrace_stage((const char *)label, key, (const char *)name);
}
void core_counter(uintptr_t label, uint64_t key, uintptr_t name, int64_t value)
{
    tailtrace_counter((const char *)label, key, (const char *)name, value);
}
