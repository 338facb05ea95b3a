/* Linked to the kernel's addresses by a test: stands for a vmlinux. */
__asm__(".globl _text\n.text\n_text: nop\n");

static int counter;

static inline __attribute__((always_inline)) int deepest(int value) {
    return counter += value;
}

__attribute__((noinline)) int do_work(int value) {
    return deepest(value) * 3;
}

void _start(void) {
    for (;;)
        do_work(counter);
}
