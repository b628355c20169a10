/* A disk between the program and the real one, for LD_PRELOAD: it writes down what is done to the journal's files, so that
 * a test can tell what a power loss would have left of them; and it fails, or kills the process, where it is told to.
 *
 * The files are known by their names: those of SHIM_FILE, SHIM_FILE-wal and SHIM_FILE-journal, in any folder.
 * SHIM_LOG   what is done is appended to this file
 * SHIM_FAIL  OP:N:ERRNO:HOW: the N-th write or sync fails; HOW is once, after (it is done all the same) or on (so do all
 *            that follow)
 * SHIM_SPACE how many bytes the files may grow by, in all
 * SHIM_KILL  the process is killed before the N-th thing that it does to the files
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE, SYNC, CREATE, UNLINK, SYNC_FOLDER, FAILED_WRITE, FAILED_SYNC, LINK };
/* A new journal is made beside its place, under a name of its own, and linked when it holds something. */
enum { NONE, MAIN, WAL, ROLLBACK, ASIDE, ASIDE_WAL, ASIDE_ROLLBACK, FOLDER, KINDS };

#define FDS 4096

struct record {
    uint8_t op, file, dirty, unused;
    uint32_t length;
    uint64_t offset;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char kind_of_fd[FDS];
static unsigned char dirty[KINDS];
static int log_fd = -1, ready;
static char name[256];
static long fail_write, fail_sync, kill_at, things, writes, syncs;
static int fail_errno, fail_after, fail_on;
static long long space = -1;

/* Called with the lock held. */
static void prepare(void) {
    if (ready) return;
    ready = 1;
    const char *file = getenv("SHIM_FILE"), *log = getenv("SHIM_LOG"), *text;
    if (!file || !log) return;
    snprintf(name, sizeof name, "%s", file);
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if ((text = getenv("SHIM_FAIL"))) {
        char op[16], how[16];
        long n;
        if (sscanf(text, "%15[a-z]:%ld:%d:%15[a-z]", op, &n, &fail_errno, how) != 4) abort();
        if (strcmp(op, "write") == 0) fail_write = n; else fail_sync = n;
        fail_after = strcmp(how, "after") == 0;
        fail_on = strcmp(how, "on") == 0;
    }
    if ((text = getenv("SHIM_SPACE"))) space = atoll(text);
    if ((text = getenv("SHIM_KILL"))) kill_at = atol(text);
}

static int kind_of(const char *path) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t length = strlen(name);
    if (length == 0 || strncmp(base, name, length) != 0) return NONE;
    base += length;
    int aside = 0;
    if (strncmp(base, ".loading-", 9) == 0) {
        aside = ASIDE - MAIN;
        base += 9;
        while ((*base >= '0' && *base <= '9') || (*base == '-' && base[1] >= '0' && base[1] <= '9')) base++;
    }
    if (*base == 0) return MAIN + aside;
    if (strcmp(base, "-wal") == 0) return WAL + aside;
    if (strcmp(base, "-journal") == 0) return ROLLBACK + aside;
    return NONE;
}

static void note(int op, int file, uint64_t offset, const void *data, size_t length) {
    struct record head = {op, file, dirty[file], 0, (uint32_t)length, offset};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, length}};
    if (log_fd >= 0 && syscall(SYS_writev, log_fd, parts, length ? 2 : 1) < 0) abort();
}

/* Counts a thing that is about to be done. */
static void passing(void) {
    if (++things == kill_at) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
}

static int fails(long count, long at) {
    return at && (count == at || (fail_on && count > at));
}

static int file_of_fd(int fd) {
    return fd >= 0 && fd < FDS ? kind_of_fd[fd] : NONE;
}

#define REAL(type, symbol, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, symbol)

static int opened(int fd, const char *path, int flags, int was_there) {
    if (fd < 0 || fd >= FDS) return fd;
    int kind = kind_of(path);
    struct stat found;
    if (kind == NONE && fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)) kind = FOLDER;
    kind_of_fd[fd] = (unsigned char)kind;
    if (kind != NONE && kind != FOLDER && (flags & O_CREAT) && !was_there) note(CREATE, kind, 0, 0, 0);
    return fd;
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    pthread_mutex_lock(&lock);
    prepare();
    struct stat found;
    int kind = kind_of(path), was_there = kind != NONE && fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW) == 0;
    if (kind != NONE && (flags & O_CREAT) && !was_there) passing();
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode), error = errno;
    opened(fd, path, flags, was_there);
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }

int close(int fd) {
    pthread_mutex_lock(&lock);
    if (fd >= 0 && fd < FDS) kind_of_fd[fd] = NONE;
    long done = syscall(SYS_close, fd);
    pthread_mutex_unlock(&lock);
    return (int)done;
}

static ssize_t put(int fd, int file, const void *data, size_t length, off_t offset) {
    passing();
    int failing = fails(++writes, fail_write), error = fail_errno;
    size_t taken = length;
    if (failing && !fail_after) taken = 0;
    struct stat found;
    if (space >= 0 && fstat(fd, &found) == 0) {
        long long growth = (long long)offset + (long long)length - (long long)found.st_size;
        if (growth > space) {
            long long room = (long long)length - (growth - space);
            failing = 1;
            error = ENOSPC;
            taken = room > 0 ? (size_t)room : 0;
            growth = space;
        }
        if (growth > 0) space -= growth;
    }
    ssize_t done = taken ? syscall(SYS_pwrite64, fd, data, taken, offset) : 0;
    if (done > 0) {
        dirty[file] = 1;
        note(WRITE, file, (uint64_t)offset, data, (size_t)done);
    }
    if (!failing) return done;
    note(FAILED_WRITE, file, (uint64_t)offset, 0, 0);
    /* A disk takes what there is room for, and refuses the rest. */
    if (error == ENOSPC && done > 0) return done;
    errno = error;
    return -1;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    int file = file_of_fd(fd);
    if (file == NONE || file == FOLDER) return syscall(SYS_pwrite64, fd, data, length, offset);
    pthread_mutex_lock(&lock);
    ssize_t done = put(fd, file, data, length, offset);
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return pwrite(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
    int file = file_of_fd(fd);
    if (file == NONE || file == FOLDER) return syscall(SYS_write, fd, data, length);
    pthread_mutex_lock(&lock);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = put(fd, file, data, length, offset);
    int error = errno;
    if (done > 0) lseek(fd, offset + done, SEEK_SET);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int ftruncate(int fd, off_t size) {
    int file = file_of_fd(fd);
    if (file == NONE || file == FOLDER) return (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    passing();
    struct stat found;
    if (space >= 0 && fstat(fd, &found) == 0 && found.st_size > size) space += found.st_size - size;
    int done = (int)syscall(SYS_ftruncate, fd, size);
    if (done == 0) {
        dirty[file] = 1;
        note(TRUNCATE, file, (uint64_t)size, 0, 0);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static int sync_with(long call, int fd) {
    int file = file_of_fd(fd);
    if (file == NONE) return (int)syscall(call, fd);
    pthread_mutex_lock(&lock);
    passing();
    /* What a folder remembers is not worth the time of a real sync: the test keeps the account. Nor are the files. */
    if (file == FOLDER) {
        note(SYNC_FOLDER, FOLDER, 0, 0, 0);
        pthread_mutex_unlock(&lock);
        return 0;
    }
    int failing = fails(++syncs, fail_sync);
    if (failing) note(FAILED_SYNC, file, 0, 0, 0);
    if (!failing || fail_after) {
        note(SYNC, file, 0, 0, 0);
        dirty[file] = 0;
    }
    pthread_mutex_unlock(&lock);
    if (failing) errno = fail_errno;
    return failing ? -1 : 0;
}

int fsync(int fd) { return sync_with(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_with(SYS_fdatasync, fd); }

int unlink(const char *path) {
    pthread_mutex_lock(&lock);
    prepare();
    int file = kind_of(path);
    if (file != NONE) passing();
    int done = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0), error = errno;
    if (done == 0 && file != NONE) {
        note(UNLINK, file, 0, 0, 0);
        dirty[file] = 0;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

/* SQLite grows files in none of these ways here; were it to, the account would be wrong. */
int posix_fallocate(int fd, off_t offset, off_t length) {
    if (file_of_fd(fd) != NONE) abort();
    return syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    if (file_of_fd(fd) != NONE) abort();
    REAL(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
    return real(fd, parts, count, offset);
}

static int linked(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    pthread_mutex_lock(&lock);
    prepare();
    int kind = kind_of(to);
    if (kind != NONE) passing();
    int done = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags), error = errno;
    if (done == 0 && kind != NONE) {
        if (kind != MAIN || kind_of(from) != ASIDE) abort();
        note(LINK, MAIN, 0, 0, 0);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int link(const char *from, const char *to) { return linked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return linked(a, from, b, to, flags); }

int rename(const char *from, const char *to) {
    if (kind_of(from) != NONE || kind_of(to) != NONE) abort();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
