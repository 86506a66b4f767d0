// The shared parts of the fault shim: settings, watched files, and the functions that inject faults.
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

// The next definition in load order, resolved at the first call, because calls can precede the constructor.
#define REAL(result, name, ...)       \
  static result (*real)(__VA_ARGS__); \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, name)

// Performs the body as one step in the order of calls, and preserves its errno.
#define LOCKED(body)             \
  pthread_mutex_lock(&lock);     \
  body;                          \
  {                              \
    int kept = errno;            \
    pthread_mutex_unlock(&lock); \
    errno = kept;                \
  }

// A symbol exported by a preloaded library replaces that of other libraries, so only the intercepted calls are
// exported.
#pragma GCC visibility push(hidden)

// The settings from the environment; `shim.c` describes them. Descriptors are -1 if not set.
typedef struct {
  const char *root;  // NULL: nothing is watched
  size_t root_length;
  int is_short, drops_pages;
  int journal, trace, acknowledge;
  int fail_errno;
  const char *bad_file;  // the file with the unreadable page
  long bad_page;
} shim_settings;

// An open descriptor below the root.
typedef struct {
  int is_watched;
  int is_directory;
  int is_synchronous;  // O_DSYNC, which LMDB uses to write its meta pages
  int is_lock;
  int is_bad;  // the file with the unreadable page, if there is one
  int is_hidden;  // created under a temporary hidden name
  uint64_t inode;
} watched_file;

extern shim_settings settings;
extern pthread_mutex_t lock;
extern long calls;  // the number of calls that have begun

// Counts a call at its beginning: kills the process, or returns whether the call fails. Requires the lock.
int strikes(const char *operation, const char *path);
// Whether a reading call fails; the count is used only for this. Requires the lock.
int strikes_read(watched_file *file, off_t offset, size_t length);
// The number of bytes before the unreadable page. Requires the lock.
size_t readable(watched_file *file, off_t offset, size_t length);
int swallows(const char *operation);

int is_watched_path(const char *path);
watched_file *watched(int fd);  // NULL if it is not watched
void watch(int fd, const char *path, int flags);
void forget(int fd);

// Write to the journal, if there is one. Require the lock.
void note(char type, uint64_t inode, uint64_t offset, const char *first, const char *second);
void note_bytes(char type, uint64_t inode, uint64_t offset, const struct iovec *parts, int count, size_t length);
const char *below_root(const char *path);  // "" without a path

ssize_t real_write(int fd, const void *bytes, size_t count);
int real_open(const char *path, int flags, mode_t mode);

#pragma GCC visibility pop

#endif
