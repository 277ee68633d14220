/* PVM 3.4: the functions of libpvm3 and libgpvm3 as hpvm provides them (docs/pvm.md). */
#ifndef HPVM_PVM3_H
#define HPVM_PVM3_H
#define _PVM3_H_

#include <stdio.h>
#include <sys/time.h>

/* The version of PVM whose functions these are. */
#define PVM_VER "3.4.6"
#define PVM_MAJOR_VERSION 3
#define PVM_MINOR_VERSION 4
#define PVM_PATCH_VERSION 6

/* Encodings, for pvm_initsend and pvm_mkbuf. */
#define PvmDataDefault 0
#define PvmDataRaw 1
#define PvmDataInPlace 2
#define PvmDataFoo PvmDataDefault
#define PvmDataTrace 4

/* Flags of pvm_spawn. */
#define PvmTaskDefault 0
#define PvmTaskHost 1
#define PvmTaskArch 2
#define PvmTaskDebug 4
#define PvmTaskTrace 8
#define PvmMppFront 16
#define PvmHostCompl 32
#define PvmNoSpawnParent 64

/* Events, for pvm_notify. */
#define PvmTaskExit 1
#define PvmHostDelete 2
#define PvmHostAdd 3
#define PvmRouteAdd 4
#define PvmRouteDelete 5
#define PvmNotifyCancel 256

/* Error codes. */
#define PvmOk 0
#define PvmBadParam -2
#define PvmMismatch -3
#define PvmOverflow -4
#define PvmNoData -5
#define PvmNoHost -6
#define PvmNoFile -7
#define PvmDenied -8
#define PvmNoMem -10
#define PvmBadMsg -12
#define PvmSysErr -14
#define PvmNoBuf -15
#define PvmNoSuchBuf -16
#define PvmNullGroup -17
#define PvmDupGroup -18
#define PvmNoGroup -19
#define PvmNotInGroup -20
#define PvmNoInst -21
#define PvmHostFail -22
#define PvmNoParent -23
#define PvmNotImpl -24
#define PvmDSysErr -25
#define PvmBadVersion -26
#define PvmOutOfRes -27
#define PvmDupHost -28
#define PvmCantStart -29
#define PvmAlready -30
#define PvmNoTask -31
#define PvmNotFound -32
#define PvmExists -33
#define PvmHostrNMstr -34
#define PvmParentNotSet -35
#define PvmIPLoopback -36
#define PvmNoEntry PvmNotFound
#define PvmDupEntry PvmDenied

/* Flags of the mailbox. */
#define PvmMboxDefault 0
#define PvmMboxPersistent 1
#define PvmMboxMultiInstance 2
#define PvmMboxOverWritable 4
#define PvmMboxFirstAvail 8
#define PvmMboxReadAndDelete 16
#define PvmMboxWaitForInfo 32
#define PvmMboxMaxFlag 512
#define PvmMboxDirectIndexShift 10

/* Types, for pvm_psend, pvm_precv and the calls of groups. */
#define PVM_STR 0
#define PVM_BYTE 1
#define PVM_SHORT 2
#define PVM_INT 3
#define PVM_FLOAT 4
#define PVM_CPLX 5
#define PVM_DOUBLE 6
#define PVM_DCPLX 7
#define PVM_LONG 8
#define PVM_USHORT 9
#define PVM_UINT 10
#define PVM_ULONG 11

/* Names in the mailbox that PVM itself uses. */
#define PVMNORESETCLASS "###_PVM_NO_RESET_###"
#define PVMHOSTERCLASS "###_PVM_HOSTER_###"
#define PVMTASKERCLASS "###_PVM_TASKER_###"
#define PVMTRACERCLASS "###_PVM_TRACER_###"
#define PVMRMCLASS "###_PVM_RM_###"

/* Options and their values, for pvm_setopt and pvm_getopt; whose traces; the first context. */
#define PvmRoute 1
#define PvmDontRoute 1
#define PvmAllowDirect 2
#define PvmRouteDirect 3
#define PvmDebugMask 2
#define PvmAutoErr 3
#define PvmOutputTid 4
#define PvmOutputCode 5
#define PvmTraceTid 6
#define PvmTraceCode 7
#define PvmTraceBuffer 8
#define PvmTraceOptions 9
#define PvmTraceFull 1
#define PvmTraceTime 2
#define PvmTraceCount 3
#define PvmFragSize 10
#define PvmResvTids 11
#define PvmSelfOutputTid 12
#define PvmSelfOutputCode 13
#define PvmSelfTraceTid 14
#define PvmSelfTraceCode 15
#define PvmSelfTraceBuffer 16
#define PvmSelfTraceOptions 17
#define PvmShowTids 18
#define PvmPollType 19
#define PvmPollConstant 1
#define PvmPollSleep 2
#define PvmPollTime 20
#define PvmOutputContext 21
#define PvmTraceContext 22
#define PvmSelfOutputContext 23
#define PvmSelfTraceContext 24
#define PvmNoReset 25
#define PvmTaskSelf 0
#define PvmTaskChild 1
#define PvmBaseContext 0

/* The index in a flag of pvm_putinfo: at which entry a message is put. */
#define PvmMboxMaxDirectIndex (1u << (31 - PvmMboxDirectIndexShift))
#define PvmMboxDirectIndex(index) ((index) << PvmMboxDirectIndexShift)
#define PvmMboxDirectIndexOf(flags) (((unsigned)(flags) >> PvmMboxDirectIndexShift) & (PvmMboxMaxDirectIndex - 1))

struct pvmhostinfo {
    int hi_tid;
    char *hi_name;
    char *hi_arch;
    int hi_speed;
    int hi_dsig;
};

struct pvmtaskinfo {
    int ti_tid;
    int ti_ptid;
    int ti_host;
    int ti_flag;
    char *ti_a_out;
    int ti_pid;
};

struct pvmminfo {
    int len;
    int ctx;
    int tag;
    int wid;
    int enc;
    int crc;
    int src;
    int dst;
};

struct pvmmboxinfo {
    char *mi_name;
    int mi_nentries;
    int *mi_indices;
    int *mi_owners;
    int *mi_flags;
};

#ifdef __cplusplus
extern "C" {
#endif

extern int pvm_errno;

/* Tasks. */
int pvm_mytid(void);
int pvm_exit(void);
int pvm_parent(void);
int pvm_siblings(int **tids);
int pvm_spawn(char *file, char **argv, int flags, char *where, int count, int *tids);
int pvm_kill(int tid);
int pvm_sendsig(int tid, int signal);
int pvm_pstat(int tid);
int pvm_tasks(int where, int *count, struct pvmtaskinfo **tasks);
int pvm_tidtohost(int tid);
int pvm_notify(int what, int tag, int count, int *tids);
int pvm_catchout(FILE *file);

/* The virtual machine. */
int pvm_addhosts(char **hosts, int count, int *infos);
int pvm_delhosts(char **hosts, int count, int *infos);
int pvm_config(int *hosts, int *formats, struct pvmhostinfo **list);
int pvm_mstat(char *host);
int pvm_hostsync(int host, struct timeval *clock, struct timeval *delta);
int pvm_halt(void);
int pvm_start_pvmd(int argc, char **argv, int block);
int pvm_tickle(int argc, int *argv, int *count, int *values);
int pvm_archcode(char *arch);
int pvm_export(char *name);
int pvm_unexport(char *name);
int pvm_getnoresets(int **tids, int *count);
char *pvm_version(void);

/* Messages. */
int pvm_send(int tid, int tag);
int pvm_mcast(int *tids, int count, int tag);
int pvm_psend(int tid, int tag, void *data, int count, int type);
int pvm_recv(int tid, int tag);
int pvm_nrecv(int tid, int tag);
int pvm_trecv(int tid, int tag, struct timeval *time);
int pvm_precv(int tid, int tag, void *data, int count, int type, int *from, int *got, int *length);
int pvm_probe(int tid, int tag);
int (*pvm_recvf(int (*match)(int, int, int)))(int, int, int);
int pvm_addmhf(int source, int tag, int context, int (*handler)(int));
int pvm_delmhf(int handler);
int pvm_getcontext(void);
int pvm_setcontext(int context);
int pvm_newcontext(void);
int pvm_freecontext(int context);
int pvm_getfds(int **fds);

/* Buffers. */
int pvm_mkbuf(int encoding);
int pvm_initsend(int encoding);
int pvm_freebuf(int buffer);
int pvm_getsbuf(void);
int pvm_getrbuf(void);
int pvm_setsbuf(int buffer);
int pvm_setrbuf(int buffer);
int pvm_bufinfo(int buffer, int *bytes, int *tag, int *tid);
int pvm_getminfo(int buffer, struct pvmminfo *info);
int pvm_setminfo(int buffer, struct pvmminfo *info);
int pvm_getmwid(int buffer);
int pvm_setmwid(int buffer, int wait);

/* Packing. */
int pvm_packf(const char *format, ...);
int pvm_pkbyte(char *data, int count, int stride);
int pvm_pkcplx(float *data, int count, int stride);
int pvm_pkdcplx(double *data, int count, int stride);
int pvm_pkdouble(double *data, int count, int stride);
int pvm_pkfloat(float *data, int count, int stride);
int pvm_pkint(int *data, int count, int stride);
int pvm_pklong(long *data, int count, int stride);
int pvm_pkshort(short *data, int count, int stride);
int pvm_pkuint(unsigned int *data, int count, int stride);
int pvm_pkulong(unsigned long *data, int count, int stride);
int pvm_pkushort(unsigned short *data, int count, int stride);
int pvm_pkstr(char *text);
int pvm_pkmesg(int buffer);
int pvm_pkmesgbody(int buffer);
int pvm_unpackf(const char *format, ...);
int pvm_upkbyte(char *data, int count, int stride);
int pvm_upkcplx(float *data, int count, int stride);
int pvm_upkdcplx(double *data, int count, int stride);
int pvm_upkdouble(double *data, int count, int stride);
int pvm_upkfloat(float *data, int count, int stride);
int pvm_upkint(int *data, int count, int stride);
int pvm_upklong(long *data, int count, int stride);
int pvm_upkshort(short *data, int count, int stride);
int pvm_upkuint(unsigned int *data, int count, int stride);
int pvm_upkulong(unsigned long *data, int count, int stride);
int pvm_upkushort(unsigned short *data, int count, int stride);
int pvm_upkstr(char *text);
int pvm_upkmesg(void);

/* The mailbox. */
int pvm_putinfo(char *name, int buffer, int flags);
int pvm_recvinfo(char *name, int index, int flags);
int pvm_delinfo(char *name, int index, int flags);
int pvm_getmboxinfo(char *pattern, int *count, struct pvmmboxinfo **classes);
int pvm_insert(char *name, int request, int data);
int pvm_lookup(char *name, int request, int *data);
int pvm_delete(char *name, int request);

/* Groups. */
int pvm_joingroup(char *group);
int pvm_lvgroup(char *group);
int pvm_barrier(char *group, int count);
int pvm_bcast(char *group, int tag);
int pvm_freezegroup(char *group, int size);
int pvm_getinst(char *group, int tid);
int pvm_gettid(char *group, int instance);
int pvm_gsize(char *group);
int pvm_gather(void *result, void *data, int count, int type, int tag, char *group, int root);
int pvm_scatter(void *result, void *data, int count, int type, int tag, char *group, int root);
int pvm_reduce(void (*function)(int *, void *, void *, int *, int *), void *data, int count, int type, int tag,
               char *group, int root);
void PvmMax(int *type, void *x, void *y, int *count, int *info);
void PvmMin(int *type, void *x, void *y, int *count, int *info);
void PvmSum(int *type, void *x, void *y, int *count, int *info);
void PvmProduct(int *type, void *x, void *y, int *count, int *info);

/* Options and errors. */
int pvm_setopt(int what, int value);
int pvm_getopt(int what);
int pvm_perror(char *text);
char *pvm_strerror(void);

/* Parts of PVM's daemon that a program may replace: always PvmNotImpl. */
int pvm_reg_hoster(void);
int pvm_reg_rm(struct pvmhostinfo **hosts);
int pvm_reg_tasker(void);
int pvm_reg_tracer(int tid, int context, int tag, int output, char *mask, int buffer, int options);

#ifdef __cplusplus
}
#endif

#endif
