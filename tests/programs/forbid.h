/* A filter that makes one system call fail with EPERM in this process and its children, as
 * containers do. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FORBID_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FORBID_ARCH AUDIT_ARCH_AARCH64
#else
#error "forbid.h does not know this architecture"
#endif

__attribute__((unused)) static void forbid(long call)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FORBID_ARCH, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("forbid: no seccomp filter");
        exit(77);
    }
    /* Both calls reject these arguments otherwise, with EINVAL or by copying nothing. */
    if (syscall(call, -1L, 0L, 0L, 0L, 0L, 0L) != -1 || errno != EPERM) {
        fprintf(stderr, "forbid: the filter does not work: %d\n", errno);
        exit(78);
    }
}

/* Puts the filter in force in the ranks that `who` names: none, first, last, all. */
__attribute__((unused)) static void forbid_in(const char *who, long call)
{
    const char *number = getenv("PMI_RANK"), *ranks = getenv("PMI_SIZE");
    if (!number || !ranks)
        exit(79);
    int rank = atoi(number), last = atoi(ranks) - 1;
    if (who[0] == 'a' || (who[0] == 'f' && rank == 0) || (who[0] == 'l' && rank == last))
        forbid(call);
}
