/* Whether a file can be opened for marks: `first_error FILE` prints `open ERRNO`. */
#include "tailtrace.h"

#include <stdio.h>

int main(int count, char **arguments)
{
    if (count == 2)
        printf("open %d\n", tailtrace_open(arguments[1]));
    return 0;
}
