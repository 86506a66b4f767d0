// What the parts of the fault shim share: what they were told, what is watched, and the place where faults strike.
#ifndef KVCLONE_FAULT_SHIM_H
#define KVCLONE_FAULT_SHIM_H

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

// The next definition in the order of loading, looked up at the first call: calls can come before our constructor.
#define REAL(result, name, ...)       \
  static result (*real)(__VA_ARGS__); \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

// Does something as one step in the order of calls, and keeps the errno it left.
#define LOCKED(body)             \
  pthread_mutex_lock(&lock);     \
  body;                          \
  {                              \
    int kept = errno;            \
    pthread_mutex_unlock(&lock); \
    errno = kept;                \
  }

// A preloaded library stands before all others: a name it exports would replace theirs. Only the intercepted calls may.
#pragma GCC visibility push(hidden)

// What the environment asks for; `shim.c` says what each means. Descriptors are -1 where there is none.
typedef struct {
  const char *root;  // NULL: nothing is watched
  size_t root_length;
  int is_short, drops_pages;
  int journal, trace, acknowledge;
  int fail_errno;
  const char *bad_file;  // whose page cannot be read
  long bad_page;
} shim_settings;

// An open descriptor below the root.
typedef struct {
  int is_watched;
  int is_directory;
  int is_synchronous;  // O_DSYNC: LMDB writes its meta pages through such a descriptor
  int is_lock;
  int is_bad;  // the file of which a page cannot be read, if one cannot
  int is_hidden;  // being made, under a name that it does not keep
  uint64_t inode;
} watched_file;

extern shim_settings settings;
extern pthread_mutex_t lock;
extern long calls;  // how many calls have begun

// Counts a call, which begins now: kills the process, or answers whether the call shall fail. The lock is held.
int strikes(const char *operation, const char *path);
// Whether a call that reads shall fail; it counts for that alone. The lock is held.
int strikes_read(watched_file *file, off_t offset, size_t length);
// How much of it lies before the page that cannot be read. The lock is held.
size_t readable(watched_file *file, off_t offset, size_t length);
int swallows(const char *operation);

int is_watched_path(const char *path);
watched_file *watched(int fd);  // NULL where it is not
void watch(int fd, const char *path, int flags);
void forget(int fd);

// Into the journal, where there is one. The lock is held.
void note(char type, uint64_t inode, uint64_t offset, const char *first, const char *second);
void note_bytes(char type, uint64_t inode, uint64_t offset, const struct iovec *parts, int count, size_t length);
const char *below_root(const char *path);  // "" where there is no path

ssize_t real_write(int fd, const void *bytes, size_t count);
int real_open(const char *path, int flags, mode_t mode);

#pragma GCC visibility pop

#endif
