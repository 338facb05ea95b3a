/* Regions in the trace: each name has one number, which the collector gives. Exit code 1: it has another. */
#include <ittnotify.h>

int main(void)
{
    __itt_pt_region parse = __itt_pt_region_create("parse"), answer = __itt_pt_region_create("answer the client");
    if (parse != 0 || answer != 1 || __itt_pt_region_create("parse") != parse)
        return 1;
    for (int round = 0; round < 3; round++) {
        __itt_mark_pt_region_begin(parse);
        __itt_mark_pt_region_begin(answer);
        __itt_mark_pt_region_end(answer);
        __itt_mark_pt_region_end(parse);
    }
    return 0;
}
