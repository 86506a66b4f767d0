// The calls that open files, and those that create, rename and remove names.
#include "shim.h"

// MARK: Opening and closing

typedef int (*opener)(int directory, const char *path, int flags, mode_t mode);

// The side file of uploads is opened with the store; if that fails, the first upload opens it again.
static const char *opening_of(const char *path) {
  const char *name = strrchr(path, '/');
  return name && strcmp(name, "/stagers.lock") == 0 ? "stagers" : "open";
}

static int open_watched(int directory, const char *path, int flags, mode_t mode, opener perform) {
  int fd;
  LOCKED({
    if (strikes(opening_of(path), path)) {
      errno = settings.fail_errno;
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
  forget(fd);
  return fd;
}

#define MODE_ARGUMENT(last)            \
  mode_t mode = 0;                     \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest;                      \
    va_start(rest, last);              \
    mode = va_arg(rest, mode_t);       \
    va_end(rest);                      \
  }

int open(const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_any(AT_FDCWD, path, flags, mode, perform_open);
}

int open64(const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_any(AT_FDCWD, path, flags, mode, perform_open);
}

// Watched files are identified by absolute paths, so a path relative to a directory is resolved first.
static int open_in(int directory, const char *path, int flags, mode_t mode) {
  char whole[PATH_MAX], link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = path[0] == '/' || directory < 0 ? -1 : readlink(link, whole, sizeof whole);
  if (length > 0 && length + strlen(path) + 2 < sizeof whole) {
    whole[length] = '/';
    strcpy(whole + length + 1, path);
    if (is_watched_path(whole)) return open_watched(AT_FDCWD, whole, flags, mode, perform_openat);
  }
  return open_any(directory, path, flags, mode, perform_openat);
}

int openat(int directory, const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_in(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
  MODE_ARGUMENT(flags)
  return open_in(directory, path, flags, mode);
}

int close(int fd) {
  REAL(int, "close", int);
  forget(fd);
  return real(fd);
}

// MARK: Making, moving and removing

static uint64_t inode_of(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 ? facts.st_ino : 0;
}

// Counts and performs a change of names, and records it on success.
#define CHANGE_NAMES(operation, path, perform, record) \
  int result;                                          \
  LOCKED({                                             \
    if (strikes(operation, path)) {                    \
      errno = settings.fail_errno;                     \
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

// The store calls renameat2 by its number, because older C libraries have no function for it.
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
      errno = settings.fail_errno;
      result = NULL;
    } else {
      result = real(pattern);
      if (result) note('M', inode_of(result), 0, result, NULL);
    }
  })
  return result;
}
