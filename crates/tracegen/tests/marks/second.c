#include "tailtrace.h"

void other_file(void);

void other_file(void) { tailtrace_end("a, \"quoted\"\nlabel", 7); }
