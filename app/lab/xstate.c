/* ptrace() for user-mode Linux 6.1 on a processor with AMX; preloaded by app/lab/xstate.py.
 *
 * Its arch/x86/um/os-Linux/registers.c restores the floating point and vector registers of a guest process
 * with PTRACE_SETREGSET, NT_X86_XSTATE and a buffer that ends where the AMX tiles begin. The host's
 * xstateregs_set (arch/x86/kernel/fpu/regset.c) requires the full buffer: it returns EFAULT, and the guest
 * panics. This ptrace extends such a buffer with zeros and clears the tiles' bits in its header, which marks
 * the tiles as unused. They are never in use, because a process must request them first, and the guest's
 * kernel has no such request.
 *
 * It needs a compiler, but no headers or libraries. Only one thread of a guest calls it.
 */

enum {
    PTRACE_PEEKTEXT = 1,
    PTRACE_PEEKUSER = 3,
    PTRACE_GETREGSET = 0x4204,
    PTRACE_SETREGSET = 0x4205,
    NT_X86_XSTATE = 0x202,
    SYS_PTRACE = 101,
    /* The XSAVE header (Intel's manual, volume 1, 13.4) begins with a bit for each state that follows. */
    HEADER = 512,
    BEFORE_AMX = 0x3ff, /* state components x87 to PKRU; the tiles have bits 17 and 18 */
    ROOM = 1 << 16,
};

struct iovec {
    void *base;
    unsigned long length;
};

static _Alignas(64) unsigned char room[ROOM];
/* Size of the host's full buffer, bytes; 0 until it is queried. */
static unsigned long whole;

extern int *__errno_location(void);

static long system_call(long request, long pid, const void *address, void *data)
{
    register void *fourth __asm__("r10") = data;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_PTRACE), "D"(request), "S"(pid), "d"(address), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

static void ask_whole(long pid, const void *address)
{
    struct iovec all = {room, ROOM};

    if (system_call(PTRACE_GETREGSET, pid, address, &all) == 0)
        whole = all.length;
    __builtin_memset(room, 0, ROOM);
}

long ptrace(int request, ...)
{
    __builtin_va_list rest;
    struct iovec all = {room, 0};
    long result, word = 0;
    int peeks = request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER;

    __builtin_va_start(rest, request);
    long pid = __builtin_va_arg(rest, int);
    const void *address = __builtin_va_arg(rest, void *);
    void *data = __builtin_va_arg(rest, void *);
    __builtin_va_end(rest);

    if (request == PTRACE_SETREGSET && (unsigned long)address == NT_X86_XSTATE) {
        const struct iovec *given = data;

        if (!whole)
            ask_whole(pid, address);
        if (given->length > HEADER + sizeof(unsigned long) && given->length < whole) {
            __builtin_memcpy(room, given->base, given->length);
            *(unsigned long *)(room + HEADER) &= BEFORE_AMX;
            all.length = whole;
            data = &all;
        }
    }
    /* Like the C library, return the value of a PEEK request, which the system call stores in memory. */
    result = system_call(request, pid, address, peeks ? &word : data);
    if (result < 0) {
        *__errno_location() = (int)-result;
        return -1;
    }
    return peeks ? word : result;
}
