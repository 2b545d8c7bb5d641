/* A disk that fails: loaded into a program before the C library, it counts what the program
 * asks of files below a directory, and fails one of these calls, or all from one on, or
 * kills the program there.
 *
 *   FAULTS_UNDER  how the names of the files begin that count (`/place`, `pipe:`)
 *   FAULTS_CALLS  "read"; "write", which is all that needs the disk; or "change": that and
 *                 what takes names away
 *   FAULTS_AT     which of them, from 1; 0 is none
 *   FAULTS_ERROR  the number of the error, or 0 to kill the program
 *   FAULTS_STAYS  set if it fails from there on. Then the first one still writes a half
 *   FAULTS_LOG    a file that gets a line a call
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { READ, WRITE, NAME };

static const char *under;
static enum kind chosen = WRITE;
static int changes, stays, error_number, log_file = -1;
static long at, count;

__attribute__((constructor)) static void begin(void) {
    const char *calls = getenv("FAULTS_CALLS"), *log = getenv("FAULTS_LOG");
    if (calls != NULL && strcmp(calls, "read") == 0) chosen = READ;
    changes = calls != NULL && strcmp(calls, "change") == 0;
    stays = getenv("FAULTS_STAYS") != NULL;
    if (getenv("FAULTS_AT") != NULL) at = atol(getenv("FAULTS_AT"));
    if (getenv("FAULTS_ERROR") != NULL) error_number = atoi(getenv("FAULTS_ERROR"));
    if (log != NULL) log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    under = getenv("FAULTS_UNDER");
}

static int counts(const char *path) {
    return under != NULL && path != NULL && strncmp(path, under, strlen(under)) == 0;
}

enum verdict { PASS, HALF, FAIL };

static enum verdict judge(enum kind kind, const char *what, const char *path, size_t size) {
    char line[4400];
    long number;
    int hit;
    if (!counts(path)) return PASS;
    if (chosen == READ ? kind != READ : kind == READ || (kind == NAME && !changes)) return PASS;
    number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    hit = at > 0 && (number == at || (stays && number > at));
    if (log_file >= 0) {
        int length = snprintf(line, sizeof line, "%s%s %s\n", hit ? "failed " : "", what, path);
        if (length > 0) syscall(SYS_write, log_file, line, (size_t)length);
    }
    if (!hit) return PASS;
    if (error_number == 0) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if (stays && number == at && size > 1) return HALF;
    errno = error_number;
    return FAIL;
}

static enum verdict judge_file(enum kind kind, const char *what, int file, size_t size) {
    char link[64], path[4200];
    ssize_t length;
    int before = errno;
    enum verdict verdict;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return PASS;
    path[length] = 0;
    verdict = judge(kind, what, path, size);
    return verdict;
}

#define NEXT(result, name, ...) \
    static result (*next)(__VA_ARGS__); \
    if (next == NULL) next = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define READS(name, result, parameters, types, arguments) \
    result name parameters { \
        NEXT(result, #name, types); \
        return judge_file(READ, #name, file, 0) == FAIL ? -1 : next arguments; \
    }
#define TYPES(...) __VA_ARGS__
READS(read, ssize_t, (int file, void *to, size_t size), TYPES(int, void *, size_t), (file, to, size))
READS(pread, ssize_t, (int file, void *to, size_t size, off_t from), TYPES(int, void *, size_t, off_t), (file, to, size, from))
READS(pread64, ssize_t, (int file, void *to, size_t size, off64_t from), TYPES(int, void *, size_t, off64_t), (file, to, size, from))
READS(readv, ssize_t, (int file, const struct iovec *to, int size), TYPES(int, const struct iovec *, int), (file, to, size))

#define WRITES(name, parameters, types, whole, half) \
    ssize_t name parameters { \
        NEXT(ssize_t, #name, types); \
        switch (judge_file(WRITE, #name, file, size)) { \
        case FAIL: return -1; \
        case HALF: return next half; \
        default: return next whole; \
        } \
    }
WRITES(write, (int file, const void *from, size_t size), TYPES(int, const void *, size_t), (file, from, size), (file, from, size / 2))
WRITES(pwrite, (int file, const void *from, size_t size, off_t to), TYPES(int, const void *, size_t, off_t), (file, from, size, to), (file, from, size / 2, to))
WRITES(pwrite64, (int file, const void *from, size_t size, off64_t to), TYPES(int, const void *, size_t, off64_t), (file, from, size, to), (file, from, size / 2, to))

ssize_t writev(int file, const struct iovec *from, int size) {
    NEXT(ssize_t, "writev", int, const struct iovec *, int);
    return judge_file(WRITE, "writev", file, 0) == FAIL ? -1 : next(file, from, size);
}

#define SIZES(name, offset) \
    int name(int file, offset size) { \
        NEXT(int, #name, int, offset); \
        return judge_file(WRITE, #name, file, 0) == FAIL ? -1 : next(file, size); \
    }
SIZES(ftruncate, off_t)
SIZES(ftruncate64, off64_t)

#define RESERVES(name, offset) \
    int name(int file, offset from, offset size) { \
        NEXT(int, #name, int, offset, offset); \
        return judge_file(WRITE, #name, file, 0) == FAIL ? error_number : next(file, from, size); \
    }
RESERVES(posix_fallocate, off_t)
RESERVES(posix_fallocate64, off64_t)

#define SYNCS(name) \
    int name(int file) { \
        struct stat found; \
        NEXT(int, #name, int); \
        enum kind kind = fstat(file, &found) == 0 && S_ISDIR(found.st_mode) ? NAME : WRITE; \
        return judge_file(kind, #name, file, 0) == FAIL ? -1 : next(file); \
    }
SYNCS(fsync)
SYNCS(fdatasync)

static int has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

/* To open what is there needs nothing of the disk. */
static int makes(const char *path, int flags) {
    int before = errno, is_there = (flags & O_TMPFILE) != O_TMPFILE && access(path, F_OK) == 0;
    errno = before;
    return has_mode(flags) && !is_there;
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        mode_t mode; \
        NEXT(int, #name, const char *, int, ...); \
        va_start(rest, flags); \
        mode = has_mode(flags) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if (makes(path, flags) && judge(WRITE, #name, path, 0) == FAIL) return -1; \
        return next(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

int mkdir(const char *path, mode_t mode) {
    NEXT(int, "mkdir", const char *, mode_t);
    return judge(WRITE, "mkdir", path, 0) == FAIL ? -1 : next(path, mode);
}

int rename(const char *from, const char *to) {
    NEXT(int, "rename", const char *, const char *);
    return judge(WRITE, "rename", to, 0) == FAIL ? -1 : next(from, to);
}

int unlink(const char *path) {
    NEXT(int, "unlink", const char *);
    return judge(NAME, "unlink", path, 0) == FAIL ? -1 : next(path);
}

int rmdir(const char *path) {
    NEXT(int, "rmdir", const char *);
    return judge(NAME, "rmdir", path, 0) == FAIL ? -1 : next(path);
}
