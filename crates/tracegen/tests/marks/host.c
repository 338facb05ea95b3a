/* A program with a plugin: `host FILE PLUGIN [PLUGINS_FILE]`. The plugin marks; again; it is unloaded at once; five marks of the
 * program's own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tailtrace.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    int (*mark)(const char *);
    void *plugin, *symbol;
    if (count < 3 || tailtrace_open(arguments[1]) != 0)
        return 1;
    plugin = dlopen(arguments[2], RTLD_NOW);
    symbol = plugin == NULL ? NULL : dlsym(plugin, "plugin_mark");
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&mark, &symbol, sizeof mark);
    if (mark(count > 3 ? arguments[3] : NULL) != 0)
        return 2;
    usleep(20000);
    mark(NULL);
    dlclose(plugin); /* its labels go with it */
    for (int at = 0; at < 5; at++)
        tailtrace_begin("host", (uint64_t)at);
    usleep(5000);
    return tailtrace_close();
}
