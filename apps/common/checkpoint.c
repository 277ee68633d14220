/* The state of a run in a file, written and read by all ranks through MPI's files.
 *
 *     fixed part | head | one entry per rank | records of rank 0, of rank 1, ...
 *
 * Every part has a checksum (CRC-32). The file is written under another name and renamed when it
 * is on the disk: who is killed in the middle leaves the previous checkpoint as it was. */
#include "app.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { VERSION = 1, NAME_SIZE = 16, SENTENCE = 256 };
enum { MOST_RANKS = 1 << 20 }; /* of a file: an entry for each must fit the memory */
static const char MAGIC[8] = "hpvmapp";
static const uint32_t BYTE_ORDER_MARK = 0x01020304;

struct fixed {
    char magic[8];
    uint32_t version, byte_order;
    char name[NAME_SIZE];
    uint64_t head_size, record_size, ranks;
    uint64_t head_sum, table_sum;
    uint64_t sum; /* of what stands before it */
};

struct entry {
    uint64_t count, sum;
};

static uint64_t checksum(const void *data, size_t size)
{
    const size_t most = 1 << 30; /* zlib takes lengths of 32 bits */
    const unsigned char *at = data;
    uLong sum = crc32(0, NULL, 0);
    for (size_t part; size > 0; size -= part, at += part) {
        part = size < most ? size : most;
        sum = crc32(sum, at, (uInt)part);
    }
    return sum;
}

static void explain(char sentence[SENTENCE], const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    snprintf(sentence, SENTENCE, "%.40s: %.200s", what, text);
}

/* Whether all ranks are well. If not, the first that is not says why, and nobody else. */
static int all_well(const struct app *app, MPI_Comm comm, const char *path, const char *sentence)
{
    int rank, first, bad;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &bad);
    int mine = *sentence ? rank : bad;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == rank && *sentence)
        fprintf(stderr, "%s: checkpoint %s: %s\n", app->name, path, sentence);
    return first == bad;
}

static int opened(const struct app *app, MPI_Comm comm, const char *path, int mode, MPI_File *file)
{
    char sentence[SENTENCE] = "";
    int code = MPI_File_open(comm, path, mode, MPI_INFO_NULL, file);
    if (code != MPI_SUCCESS)
        explain(sentence, "cannot be opened", code);
    return all_well(app, comm, path, sentence);
}

static void fill_fixed(struct fixed *fixed, const struct app *app, const struct app_state *state,
                       const struct entry *table, int ranks)
{
    memset(fixed, 0, sizeof *fixed);
    memcpy(fixed->magic, MAGIC, sizeof fixed->magic);
    fixed->version = VERSION;
    fixed->byte_order = BYTE_ORDER_MARK;
    snprintf(fixed->name, sizeof fixed->name, "%s", app->name);
    fixed->head_size = state->head_size;
    fixed->record_size = state->record_size;
    fixed->ranks = (uint64_t)ranks;
    fixed->head_sum = checksum(state->head, state->head_size);
    fixed->table_sum = checksum(table, (size_t)ranks * sizeof *table);
    fixed->sum = checksum(fixed, offsetof(struct fixed, sum));
}

static uint64_t records_begin(const struct fixed *fixed)
{
    return sizeof *fixed + fixed->head_size + fixed->ranks * sizeof(struct entry);
}

/* Rank 0's part: everything before the records. */
static int write_front(MPI_File file, const struct fixed *fixed, const void *head,
                       const struct entry *table)
{
    MPI_Offset at = 0;
    int code = MPI_File_write_at(file, at, fixed, sizeof *fixed, MPI_BYTE, MPI_STATUS_IGNORE);
    at += (MPI_Offset)sizeof *fixed;
    if (code == MPI_SUCCESS)
        code = MPI_File_write_at(file, at, head, (int)fixed->head_size, MPI_BYTE, MPI_STATUS_IGNORE);
    at += (MPI_Offset)fixed->head_size;
    if (code == MPI_SUCCESS)
        code = MPI_File_write_at(file, at, table, (int)(fixed->ranks * sizeof *table), MPI_BYTE,
                                 MPI_STATUS_IGNORE);
    return code;
}

/* Writes everything into an open file and closes it. */
static void write_all(MPI_File file, MPI_Comm comm, const struct app *app,
                      const struct app_state *state, char sentence[SENTENCE])
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    struct entry *table = app_memory((size_t)ranks, sizeof *table);
    struct entry mine = {(uint64_t)state->count,
                         checksum(state->records, (size_t)state->count * state->record_size)};
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, table, sizeof mine, MPI_BYTE, comm);
    struct fixed fixed;
    fill_fixed(&fixed, app, state, table, ranks);
    uint64_t at = records_begin(&fixed), end = at;
    for (int r = 0; r < ranks; r++) {
        at += r < rank ? table[r].count * state->record_size : 0;
        end += table[r].count * state->record_size;
    }
    MPI_Datatype record;
    MPI_Type_contiguous((int)state->record_size, MPI_BYTE, &record);
    MPI_Type_commit(&record);
    int codes[5] = {MPI_File_set_size(file, (MPI_Offset)end), MPI_SUCCESS};
    if (rank == 0)
        codes[1] = write_front(file, &fixed, state->head, table);
    codes[2] = MPI_File_write_at_all(file, (MPI_Offset)at, state->records, (int)state->count, record,
                                     MPI_STATUS_IGNORE);
    codes[3] = MPI_File_sync(file);
    codes[4] = MPI_File_close(&file);
    for (int i = 0; i < 5; i++)
        if (codes[i] != MPI_SUCCESS && !*sentence)
            explain(sentence, "cannot be written", codes[i]);
    MPI_Type_free(&record);
    free(table);
}

/* The new name is on the disk when the folder is. */
static void rename_durably(const char *from, const char *to, char sentence[SENTENCE])
{
    char folder[APP_TEXT_SIZE];
    if (rename(from, to) != 0) {
        snprintf(sentence, SENTENCE, "cannot be renamed: %s", strerror(errno));
        return;
    }
    snprintf(folder, sizeof folder, "%s", to);
    int open_folder = open(dirname(folder), O_RDONLY | O_DIRECTORY);
    if (open_folder >= 0) {
        fsync(open_folder);
        close(open_folder);
    }
}

int app_checkpoint_write(const struct app *app, MPI_Comm comm, const char *path,
                         const struct app_state *state)
{
    char new_path[APP_TEXT_SIZE + 8], sentence[SENTENCE] = "";
    int rank;
    MPI_File file;
    MPI_Comm_rank(comm, &rank);
    snprintf(new_path, sizeof new_path, "%s.new", path);
    if (rank == 0)
        unlink(new_path); /* of a run that was killed */
    MPI_Barrier(comm);
    if (!opened(app, comm, new_path, MPI_MODE_CREATE | MPI_MODE_WRONLY, &file))
        return APP_FILE;
    write_all(file, comm, app, state, sentence);
    if (!all_well(app, comm, new_path, sentence)) {
        if (rank == 0)
            unlink(new_path); /* perhaps the disk is full */
        return APP_FILE;
    }
    if (rank == 0)
        rename_durably(new_path, path, sentence);
    return all_well(app, comm, path, sentence) ? 0 : APP_FILE;
}

/* Checks the fixed part against the program and the size of the file. */
static void check_fixed(const struct fixed *fixed, const struct app *app,
                        const struct app_state *state, MPI_Offset size, char sentence[SENTENCE])
{
    if (memcmp(fixed->magic, MAGIC, sizeof fixed->magic) != 0)
        snprintf(sentence, SENTENCE, "this is not a checkpoint of these programs");
    else if (fixed->byte_order != BYTE_ORDER_MARK)
        snprintf(sentence, SENTENCE, "it was written on a machine of another byte order");
    else if (fixed->version != VERSION)
        snprintf(sentence, SENTENCE, "it has version %u; this program reads version %d",
                 fixed->version, VERSION);
    else if (fixed->sum != checksum(fixed, offsetof(struct fixed, sum)))
        snprintf(sentence, SENTENCE, "its first bytes are damaged (checksum)");
    else if (strncmp(fixed->name, app->name, NAME_SIZE) != 0)
        snprintf(sentence, SENTENCE, "it was written by %.*s, not by %s", NAME_SIZE, fixed->name,
                 app->name);
    else if (fixed->head_size != state->head_size || fixed->record_size != state->record_size)
        snprintf(sentence, SENTENCE, "it was written by another version of %s", app->name);
    else if (fixed->ranks == 0 || fixed->ranks > MOST_RANKS ||
             (uint64_t)size < records_begin(fixed))
        snprintf(sentence, SENTENCE, "it ends after %lld bytes, before the records", (long long)size);
}

/* Reads what stands before the records; every rank does. Returns the table, or NULL. */
static struct entry *read_front(MPI_File file, const struct app *app, struct fixed *fixed,
                                struct app_state *state, char sentence[SENTENCE])
{
    MPI_Offset size = 0;
    MPI_File_get_size(file, &size);
    if (size < (MPI_Offset)sizeof *fixed) {
        snprintf(sentence, SENTENCE, "it has %lld bytes, which is too short for a checkpoint",
                 (long long)size);
        return NULL;
    }
    int code = MPI_File_read_at(file, 0, fixed, sizeof *fixed, MPI_BYTE, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) {
        explain(sentence, "cannot be read", code);
        return NULL;
    }
    check_fixed(fixed, app, state, size, sentence);
    if (*sentence)
        return NULL;
    struct entry *table = app_memory(fixed->ranks, sizeof *table);
    MPI_Offset at = (MPI_Offset)sizeof *fixed;
    MPI_File_read_at(file, at, state->head, (int)state->head_size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, at + (MPI_Offset)fixed->head_size, table,
                     (int)(fixed->ranks * sizeof *table), MPI_BYTE, MPI_STATUS_IGNORE);
    uint64_t end = records_begin(fixed);
    if (checksum(state->head, state->head_size) != fixed->head_sum ||
        checksum(table, fixed->ranks * sizeof *table) != fixed->table_sum)
        snprintf(sentence, SENTENCE, "its parameters are damaged (checksum)");
    for (uint64_t s = 0; s < fixed->ranks && !*sentence; s++) {
        if (table[s].count > INT32_MAX)
            snprintf(sentence, SENTENCE, "a rank has more records than can be read");
        end += table[s].count * fixed->record_size;
    }
    if (!*sentence && (uint64_t)size != end)
        snprintf(sentence, SENTENCE, "it has %lld bytes, but %llu were written", (long long)size,
                 (unsigned long long)end);
    return table;
}

/* Reads the records of those ranks that wrote them which are this rank's turn. */
static void read_records(MPI_File file, MPI_Comm comm, const struct fixed *fixed,
                         const struct entry *table, struct app_state *state,
                         char sentence[SENTENCE])
{
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    uint64_t first = ((uint64_t)rank * fixed->ranks + (uint64_t)ranks - 1) / (uint64_t)ranks;
    uint64_t behind = (((uint64_t)rank + 1) * fixed->ranks + (uint64_t)ranks - 1) / (uint64_t)ranks;
    MPI_Offset at = (MPI_Offset)records_begin(fixed);
    for (uint64_t s = 0; s < first; s++)
        at += (MPI_Offset)(table[s].count * fixed->record_size);
    state->count = 0;
    for (uint64_t s = first; s < behind; s++)
        state->count += (int64_t)table[s].count;
    state->records = app_memory((size_t)state->count, state->record_size);
    MPI_Datatype record;
    MPI_Type_contiguous((int)state->record_size, MPI_BYTE, &record);
    MPI_Type_commit(&record);
    char *to = state->records;
    for (uint64_t s = first; s < behind && !*sentence; s++) {
        size_t bytes = table[s].count * fixed->record_size;
        int code = MPI_File_read_at(file, at, to, (int)table[s].count, record, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            explain(sentence, "cannot be read", code);
        else if (checksum(to, bytes) != table[s].sum)
            snprintf(sentence, SENTENCE, "the records of rank %llu are damaged (checksum)",
                     (unsigned long long)s);
        at += (MPI_Offset)bytes;
        to += bytes;
    }
    MPI_Type_free(&record);
}

int app_checkpoint_read(const struct app *app, MPI_Comm comm, const char *path,
                        struct app_state *state)
{
    char sentence[SENTENCE] = "";
    MPI_File file;
    struct fixed fixed;
    state->records = NULL;
    if (!opened(app, comm, path, MPI_MODE_RDONLY, &file))
        return APP_FILE;
    struct entry *table = read_front(file, app, &fixed, state, sentence);
    int good = all_well(app, comm, path, sentence);
    if (good) {
        read_records(file, comm, &fixed, table, state, sentence);
        good = all_well(app, comm, path, sentence);
    }
    MPI_File_close(&file);
    free(table);
    return good ? 0 : APP_FILE;
}
