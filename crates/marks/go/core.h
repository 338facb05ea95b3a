/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What marks.go calls of tailtrace.h: cgo cannot name functions that are macros. Labels and names are addresses of C strings.
 */
#include <stdint.h>

int core_open(const char *path);
int core_close(void);
int core_thread(void);
uint64_t core_begin(uintptr_t label, uint64_t key);
void core_end(uintptr_t label, uint64_t key);
void core_end_since(uintptr_t label, uint64_t key, uint64_t since);
void core_publish(uintptr_t label, uint64_t key);
void core_stage(uintptr_t label, uint64_t key, uintptr_t name);
void core_counter(uintptr_t label, uint64_t key, uintptr_t name, int64_t value);
