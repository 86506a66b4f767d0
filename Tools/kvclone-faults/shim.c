// The fault shim: preloaded into a process that uses a store (LD_PRELOAD), it sees every call that changes the store's
// files, and makes the n-th of them fail, write too little, or never happen because the process is killed first. It can
// also keep a journal of them, from which a power loss is simulated.
//
// What it looks at: files and directories below KVCLONE_FAULT_ROOT, and that directory itself. Every call counts, from
// 1, in the order in which calls begin. Syncs are recorded, not performed: a process that is killed loses nothing that
// the kernel has, and what a power loss takes is the replayer's business. What is written through a map is not seen:
// LMDB writes its lock file so, and nothing else.
//
//   KVCLONE_FAULT_ROOT=DIR          absolute, without a slash at its end
//   KVCLONE_FAULT_KILL=N            SIGKILL before call N
//   KVCLONE_FAULT_FAIL=N:ERRNO[:K]  calls N to N+K-1 fail (K: 1, or "sticky": all, until kvclone_fault_clear)
//   KVCLONE_FAULT_OPERATION=NAME    only calls of this kind count for FAIL: open write meta label sync dirsync truncate
//                                   rename unlink mkdir (label: a write to a lock file, which says who holds it)
//   KVCLONE_FAULT_SHORT=1           a write that should fail writes half of its bytes instead, and says so
//   KVCLONE_FAULT_DROP=1            a sync that fails is journalled as one that lost what was not yet durable
//   KVCLONE_FAULT_SWALLOW=NAME      a planted bug: sync, dirsync or meta writes pretend to be durable and are not
//   KVCLONE_FAULT_JOURNAL=FILE      where the journal goes; `Journal.swift` reads it
//   KVCLONE_FAULT_TRACE=FILE        a line for each call: number, operation, path; in between, what was acknowledged,
//                                   and "spill" after calls with which LMDB wrote dirty pages ahead of the commit
//   KVCLONE_FAULT_ACKNOWLEDGE=FD    what is written to this descriptor stands in the journal too, at its place, and
//                                   "fault OPERATION N" is written to it when a fault strikes
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// MARK: The real functions

// The next definition in the order of loading, looked up at the first call: calls can come before our constructor.
#define REAL(result, name, ...)                  \
  static result (*real)(__VA_ARGS__);            \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

static ssize_t real_write(int fd, const void *bytes, size_t count) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return real(fd, bytes, count);
}

static int real_open(const char *path, int flags, mode_t mode) {
  REAL(int, "open64", const char *, int, ...);
  return real(path, flags, mode);
}

// MARK: State

enum { MAXIMUM_DESCRIPTORS = 1024 };

typedef struct {
  int is_watched;
  int is_directory;
  int is_synchronous;  // O_DSYNC: LMDB writes its meta pages through such a descriptor
  int is_lock;
  uint64_t inode;
} watched_file;

static watched_file files[MAXIMUM_DESCRIPTORS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static int is_short, drops_pages, journal = -1, trace = -1, acknowledge = -1;
static const char *operation_that_fails, *swallowed;
static long kill_at = -1, fail_from = -1, fail_until = -1, calls, candidates;
static int fail_errno = EIO;

static long number_of(const char *name, long fallback) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : fallback;
}

static int file_of(const char *name) {
  const char *path = getenv(name);
  return path ? real_open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600) : -1;
}

__attribute__((constructor)) static void start(void) {
  root = getenv("KVCLONE_FAULT_ROOT");
  if (!root) return;
  root_length = strlen(root);
  is_short = getenv("KVCLONE_FAULT_SHORT") != NULL;
  drops_pages = getenv("KVCLONE_FAULT_DROP") != NULL;
  operation_that_fails = getenv("KVCLONE_FAULT_OPERATION");
  swallowed = getenv("KVCLONE_FAULT_SWALLOW");
  kill_at = number_of("KVCLONE_FAULT_KILL", -1);
  acknowledge = (int)number_of("KVCLONE_FAULT_ACKNOWLEDGE", -1);
  journal = file_of("KVCLONE_FAULT_JOURNAL");
  trace = file_of("KVCLONE_FAULT_TRACE");
  const char *fail = getenv("KVCLONE_FAULT_FAIL");
  char count[16] = "";
  if (fail && sscanf(fail, "%ld:%d:%15s", &fail_from, &fail_errno, count) >= 2) {
    fail_until = !strcmp(count, "sticky") ? LONG_MAX : fail_from + (*count ? atol(count) : 1) - 1;
  }
}

// The fault goes away. A process under test finds this by its name, and calls it when it has seen enough.
__attribute__((visibility("default"))) void kvclone_fault_clear(void) {
  fail_from = fail_until = -1;
}

static int swallows(const char *operation) {
  return swallowed && !strcmp(swallowed, operation);
}

// MARK: What is watched

static int is_lock(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  return !strcmp(name, "lock.mdb") || !strcmp(name, "writer.lock") || !strcmp(name, "stagers.lock");
}

static int is_watched_path(const char *path) {
  if (!root || !path || strncmp(path, root, root_length) != 0) return 0;
  return path[root_length] == 0 || path[root_length] == '/';
}

static watched_file *watched(int fd) {
  return fd >= 0 && fd < MAXIMUM_DESCRIPTORS && files[fd].is_watched ? &files[fd] : NULL;
}

static void watch(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= MAXIMUM_DESCRIPTORS) return;
  struct stat facts;
  watched_file file = {0};
  if (is_watched_path(path) && fstat(fd, &facts) == 0) {
    file.is_watched = 1;
    file.is_directory = S_ISDIR(facts.st_mode);
    file.is_synchronous = (flags & O_DSYNC) != 0;
    file.is_lock = is_lock(path);
    file.inode = facts.st_ino;
  }
  files[fd] = file;
}

// MARK: The journal

// A record's head; then come `first` and `second` bytes of paths (without the root), then, for W, D and A, `length`
// bytes. Types: W write, D durable write, S sync, F sync that lost pages, T truncation (to `offset`), C new file,
// M new directory, R rename, U unlink, X directory removed, Y directory synced, A acknowledgement, P pages spilled.
typedef struct {
  uint8_t type;
  uint8_t unused;
  uint16_t first, second, unused2;
  uint64_t inode, offset, length;
} record_head;

static const char *below_root(const char *path) {
  return path ? path + root_length : "";
}

static void note(char type, uint64_t inode, uint64_t offset, const char *first, const char *second) {
  if (journal < 0) return;
  first = below_root(first);
  second = below_root(second);
  record_head head = {.type = (uint8_t)type,
                      .first = (uint16_t)strlen(first),
                      .second = (uint16_t)strlen(second),
                      .inode = inode,
                      .offset = offset};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)first, head.first}, {(void *)second, head.second}};
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  real(journal, parts, 3);
}

static void note_bytes(char type, uint64_t inode, uint64_t offset, const struct iovec *parts, int count,
                       size_t length) {
  if (journal < 0) return;
  record_head head = {.type = (uint8_t)type, .inode = inode, .offset = offset, .length = length};
  real_write(journal, &head, sizeof head);
  for (int index = 0; index < count && length > 0; index++) {
    size_t part = parts[index].iov_len < length ? parts[index].iov_len : length;
    for (size_t done = 0; done < part;) {
      ssize_t wrote = real_write(journal, (const char *)parts[index].iov_base + done, part - done);
      if (wrote <= 0) return;
      done += (size_t)wrote;
    }
    length -= part;
  }
}

// MARK: The fault

// Counts a call, which begins now: kills the process, or answers whether the call shall fail. The lock is held.
static int strikes(const char *operation, const char *path) {
  calls++;
  if (trace >= 0) dprintf(trace, "%ld %s %s\n", calls, operation, path ? below_root(path) : "");
  if (calls == kill_at) {
    kill(getpid(), SIGKILL);
    pause();
  }
  if (fail_from < 0) return 0;
  if (operation_that_fails && strcmp(operation_that_fails, operation)) return 0;
  candidates++;
  long number = operation_that_fails ? candidates : calls;
  if (number < fail_from || number > fail_until) return 0;
  if (acknowledge >= 0) {
    char line[64];
    int length = snprintf(line, sizeof line, "fault %s %ld\n", operation, calls);
    real_write(acknowledge, line, (size_t)length);
  }
  return 1;
}

#define LOCKED(body)             \
  pthread_mutex_lock(&lock);     \
  body;                          \
  {                              \
    int kept = errno;            \
    pthread_mutex_unlock(&lock); \
    errno = kept;                \
  }

// MARK: Writing

typedef ssize_t (*performer)(int, const struct iovec *, int, off_t);

static ssize_t write_watched(watched_file *file, int fd, const struct iovec *parts, int count, off_t offset,
                             performer perform) {
  size_t total = 0;
  ssize_t result;
  const char *operation = file->is_lock ? "label" : file->is_synchronous ? "meta" : "write";
  for (int index = 0; index < count; index++) total += parts[index].iov_len;
  LOCKED({
    int is_struck = strikes(operation, NULL);
    if (is_struck && !is_short) {
      errno = fail_errno;
      result = -1;
    } else {
      struct iovec half[IOV_MAX];
      if (is_struck) {
        size_t rest = total / 2;
        int used = 0;
        for (; used < count && rest > 0; used++) {
          half[used] = parts[used];
          if (half[used].iov_len > rest) half[used].iov_len = rest;
          rest -= half[used].iov_len;
        }
        parts = half;
        count = used;
      }
      result = perform(fd, parts, count, offset);
      char type = file->is_synchronous && !swallows("meta") ? 'D' : 'W';
      if (result > 0) note_bytes(type, file->inode, (uint64_t)offset, parts, count, (size_t)result);
    }
  })
  return result;
}

static ssize_t perform_pwrite(int fd, const struct iovec *parts, int count, off_t offset) {
  (void)count;
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
  return real(fd, parts[0].iov_base, parts[0].iov_len, offset);
}

static ssize_t perform_pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  REAL(ssize_t, "pwritev64", int, const struct iovec *, int, off_t);
  return real(fd, parts, count, offset);
}

// The offset is the descriptor's own, and moves.
static ssize_t perform_writev(int fd, const struct iovec *parts, int count, off_t offset) {
  (void)offset;
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  return real(fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  struct iovec part = {(void *)bytes, count};
  watched_file *file = watched(fd);
  return file ? write_watched(file, fd, &part, 1, offset, perform_pwrite) : perform_pwrite(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
  return pwrite(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  watched_file *file = watched(fd);
  return file ? write_watched(file, fd, parts, count, offset, perform_pwritev)
              : perform_pwritev(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) {
  return pwritev(fd, parts, count, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  watched_file *file = watched(fd);
  return file ? write_watched(file, fd, parts, count, lseek(fd, 0, SEEK_CUR), perform_writev)
              : perform_writev(fd, parts, count, 0);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  struct iovec part = {(void *)bytes, count};
  watched_file *file = watched(fd);
  if (file) return write_watched(file, fd, &part, 1, lseek(fd, 0, SEEK_CUR), perform_writev);
  if (fd >= 0 && fd == acknowledge) {
    LOCKED({
      note_bytes('A', 0, 0, &part, 1, count);
      if (trace >= 0) real_write(trace, bytes, count);
    })
  }
  return real_write(fd, bytes, count);
}

// MARK: Syncing and sizes

static int sync_watched(watched_file *file) {
  const char *operation = file->is_directory ? "dirsync" : "sync";
  int result = 0;
  LOCKED({
    if (strikes(operation, NULL)) {
      if (drops_pages && !file->is_directory) note('F', file->inode, 0, NULL, NULL);
      errno = fail_errno;
      result = -1;
    } else if (!swallows(operation)) {
      note(file->is_directory ? 'Y' : 'S', file->inode, 0, NULL, NULL);
    }
  })
  return result;
}

int fsync(int fd) {
  REAL(int, "fsync", int);
  watched_file *file = watched(fd);
  return file ? sync_watched(file) : real(fd);
}

int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  watched_file *file = watched(fd);
  return file ? sync_watched(file) : real(fd);
}

// LMDB syncs a map with it only when it writes through the map, which this package never lets it do.
int msync(void *address, size_t length, int flags) {
  REAL(int, "msync", void *, size_t, int);
  return real(address, length, flags);
}

int ftruncate(int fd, off_t length) {
  REAL(int, "ftruncate64", int, off_t);
  watched_file *file = watched(fd);
  if (!file) return real(fd, length);
  int result;
  LOCKED({
    if (strikes("truncate", NULL)) {
      errno = fail_errno;
      result = -1;
    } else {
      result = real(fd, length);
      if (result == 0) note('T', file->inode, (uint64_t)length, NULL, NULL);
    }
  })
  return result;
}

int ftruncate64(int fd, off_t length) {
  return ftruncate(fd, length);
}

// MARK: Spills

typedef struct {
  size_t length;
  void *bytes;
} lmdb_value;  // MDB_val

// A transaction that spills writes pages long before its commit. The store makes LMDB do so by declaring a value that
// is far too large; that files were written meanwhile tells it from a probe of whether that works.
int mdb_put(void *transaction, unsigned table, lmdb_value *key, lmdb_value *value, unsigned flags) {
  REAL(int, "mdb_put", void *, unsigned, lmdb_value *, lmdb_value *, unsigned);
  if (!root || value->length < (size_t)512 << 20) return real(transaction, table, key, value, flags);
  long before = calls;
  int result = real(transaction, table, key, value, flags);
  LOCKED({
    if (calls > before) {
      note('P', 0, 0, NULL, NULL);
      if (trace >= 0) dprintf(trace, "spill\n");
    }
  })
  return result;
}

// MARK: Names

typedef int (*opener)(int directory, const char *path, int flags, mode_t mode);

static int open_watched(int directory, const char *path, int flags, mode_t mode, opener perform) {
  int fd;
  LOCKED({
    if (strikes("open", path)) {
      errno = fail_errno;
      fd = -1;
    } else {
      int is_new = (flags & O_CREAT) && faccessat(directory, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
      fd = perform(directory, path, flags, mode);
      watch(fd, path, flags);
      watched_file *file = watched(fd);
      if (file && is_new) note('C', file->inode, 0, path, NULL);
      if (file && !is_new && (flags & O_TRUNC)) note('T', file->inode, 0, NULL, NULL);
    }
  })
  return fd;
}

static int perform_open(int directory, const char *path, int flags, mode_t mode) {
  (void)directory;
  return real_open(path, flags, mode);
}

static int perform_openat(int directory, const char *path, int flags, mode_t mode) {
  REAL(int, "openat64", int, const char *, int, ...);
  return real(directory, path, flags, mode);
}

static int open_any(int directory, const char *path, int flags, mode_t mode, opener perform) {
  if (is_watched_path(path)) return open_watched(directory, path, flags, mode, perform);
  int fd = perform(directory, path, flags, mode);
  if (fd >= 0 && fd < MAXIMUM_DESCRIPTORS) files[fd].is_watched = 0;
  return fd;
}

#define MODE_ARGUMENT(last)                                         \
  mode_t mode = 0;                                                  \
  if (flags & (O_CREAT | O_TMPFILE)) {                              \
    va_list rest;                                                   \
    va_start(rest, last);                                           \
    mode = va_arg(rest, mode_t);                                    \
    va_end(rest);                                                   \
  }

int open(const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_any(AT_FDCWD, path, flags, mode, perform_open);
}

int open64(const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_any(AT_FDCWD, path, flags, mode, perform_open);
}

int openat(int directory, const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_any(directory, path, flags, mode, perform_openat);
}

int openat64(int directory, const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_any(directory, path, flags, mode, perform_openat);
}

int close(int fd) {
  REAL(int, "close", int);
  if (fd >= 0 && fd < MAXIMUM_DESCRIPTORS) files[fd].is_watched = 0;
  return real(fd);
}

static uint64_t inode_of(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 ? facts.st_ino : 0;
}

// Counts and performs a change of names, and notes it when it is done.
#define CHANGE_NAMES(operation, path, perform, record) \
  int result;                                          \
  LOCKED({                                             \
    if (strikes(operation, path)) {                    \
      errno = fail_errno;                              \
      result = -1;                                     \
    } else {                                           \
      result = (perform);                              \
      if (result == 0) record;                         \
    }                                                  \
  })                                                   \
  return result

static long real_syscall(long number, long a, long b, long c, long d, long e, long f) {
  REAL(long, "syscall", long, ...);
  return real(number, a, b, c, d, e, f);
}

static int rename_any(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  long a = from_directory, b = (long)from, c = to_directory, d = (long)to, e = flags;
  if (!is_watched_path(from) && !is_watched_path(to)) return (int)real_syscall(SYS_renameat2, a, b, c, d, e, 0);
  CHANGE_NAMES("rename", from, (int)real_syscall(SYS_renameat2, a, b, c, d, e, 0), note('R', 0, 0, from, to));
}

int rename(const char *from, const char *to) {
  return rename_any(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  return rename_any(from_directory, from, to_directory, to, 0);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  return rename_any(from_directory, from, to_directory, to, flags);
}

// The store calls renameat2 by its number, because C libraries older than it have no function for it.
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_renameat2) return rename_any((int)a, (const char *)b, (int)c, (const char *)d, (unsigned)e);
  return real_syscall(number, a, b, c, d, e, f);
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  if (!is_watched_path(path)) return real(path);
  CHANGE_NAMES("unlink", path, real(path), note('U', 0, 0, path, NULL));
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  if (!is_watched_path(path)) return real(directory, path, flags);
  CHANGE_NAMES("unlink", path, real(directory, path, flags), note(flags & AT_REMOVEDIR ? 'X' : 'U', 0, 0, path, NULL));
}

int rmdir(const char *path) {
  REAL(int, "rmdir", const char *);
  if (!is_watched_path(path)) return real(path);
  CHANGE_NAMES("unlink", path, real(path), note('X', 0, 0, path, NULL));
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  if (!is_watched_path(path)) return real(path, mode);
  CHANGE_NAMES("mkdir", path, real(path, mode), note('M', inode_of(path), 0, path, NULL));
}

char *mkdtemp(char *pattern) {
  REAL(char *, "mkdtemp", char *);
  if (!is_watched_path(pattern)) return real(pattern);
  char *result;
  LOCKED({
    if (strikes("mkdir", pattern)) {
      errno = fail_errno;
      result = NULL;
    } else {
      result = real(pattern);
      if (result) note('M', inode_of(result), 0, result, NULL);
    }
  })
  return result;
}
