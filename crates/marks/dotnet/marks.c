/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The native methods of Marks.cs, by tailtrace.h. Labels and names are addresses of texts that are kept for as long as the process lives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>

#include "tailtrace.h"

#define NATIVE(type, name) __attribute__((visibility("default"))) type tailtrace_dotnet_##name

/* NULL: the default path. */
NATIVE(int, open)(const char *path)
{
    return tailtrace_open(path);
}

NATIVE(int, close)(void)
{
    return tailtrace_close();
}

NATIVE(const char *, message)(int failed)
{
    return strerror(failed);
}

NATIVE(int, thread)(void)
{
    return tailtrace_thread() != NULL;
}

NATIVE(uint64_t, begin)(const char *label, uint64_t key)
{
    return tailtrace_begin(label, key);
}

NATIVE(void, end)(const char *label, uint64_t key)
{
    tailtrace_end(label, key);
}

NATIVE(void, end_since)(const char *label, uint64_t key, uint64_t since)
{
    tailtrace_end_since(label, key, since);
}

NATIVE(void, publish)(const char *label, uint64_t key)
{
    tailtrace_publish(label, key);
}

NATIVE(void, stage)(const char *label, uint64_t key, const char *name)
{
    tailtrace_stage(label, key, name);
}

NATIVE(void, counter)(const char *label, uint64_t key, const char *name, int64_t value)
{
    tailtrace_counter(label, key, name, value);
}
