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
//                                   rename unlink mkdir stagers (label: a write to a lock file, which says who holds
//                                   it; stagers: opening stagers.lock)
//                                   read: calls that read count for this alone, from 1
//   KVCLONE_FAULT_BAD_PAGE=N[:TIMES] what reads a byte of page N of data.mdb (4096 bytes each, from 0) fails with EIO, each time, or
//                                   so many times
//   KVCLONE_FAULT_BAD_FILE=NAME     BAD_PAGE is one of this file instead
//   KVCLONE_FAULT_SHORT=1           a write that should fail writes half of its bytes instead, and says so
//   KVCLONE_FAULT_DROP=1            a sync that fails is journalled as one that lost what was not yet durable
//   KVCLONE_FAULT_SWALLOW=NAME      a planted bug: sync, dirsync or meta writes pretend to be durable and are not; hidden: syncs
//                                   of files that have a hidden name yet, or are in a directory that has, before they are renamed
//   KVCLONE_FAULT_JOURNAL=FILE      where the journal goes; `Journal.swift` reads it
//   KVCLONE_FAULT_TRACE=FILE        a line for each call: number, operation, path; in between, what was acknowledged,
//                                   "read" for each call that reads, "struck" where it is to fail, and "spill" after calls with which LMDB wrote dirty
//                                   pages ahead of the commit
//   KVCLONE_FAULT_ACKNOWLEDGE=FD    what is written to this descriptor stands in the journal too, at its place, and
//                                   "fault OPERATION N" is written to it when a fault strikes
#include "shim.h"

shim_settings settings = {.bad_file = "data.mdb", .bad_page = -1, .journal = -1, .trace = -1, .acknowledge = -1, .fail_errno = EIO};
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long calls;

static const char *operation_that_fails, *swallowed;
static long bad_times = LONG_MAX;
static long kill_at = -1, fail_from = -1, fail_until = -1, candidates;

// MARK: Settings

static long number_of(const char *name, long fallback) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : fallback;
}

static int file_of(const char *name) {
  const char *path = getenv(name);
  return path ? real_open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600) : -1;
}

__attribute__((constructor)) static void start(void) {
  settings.root = getenv("KVCLONE_FAULT_ROOT");
  if (!settings.root) return;
  settings.root_length = strlen(settings.root);
  settings.is_short = getenv("KVCLONE_FAULT_SHORT") != NULL;
  settings.drops_pages = getenv("KVCLONE_FAULT_DROP") != NULL;
  operation_that_fails = getenv("KVCLONE_FAULT_OPERATION");
  swallowed = getenv("KVCLONE_FAULT_SWALLOW");
  kill_at = number_of("KVCLONE_FAULT_KILL", -1);
  const char *bad_file = getenv("KVCLONE_FAULT_BAD_FILE");
  if (bad_file) settings.bad_file = bad_file;
  const char *bad = getenv("KVCLONE_FAULT_BAD_PAGE");
  if (bad) sscanf(bad, "%ld:%ld", &settings.bad_page, &bad_times);
  settings.acknowledge = (int)number_of("KVCLONE_FAULT_ACKNOWLEDGE", -1);
  settings.journal = file_of("KVCLONE_FAULT_JOURNAL");
  settings.trace = file_of("KVCLONE_FAULT_TRACE");
  const char *fail = getenv("KVCLONE_FAULT_FAIL");
  char count[16] = "";
  if (fail && sscanf(fail, "%ld:%d:%15s", &fail_from, &settings.fail_errno, count) >= 2) {
    fail_until = !strcmp(count, "sticky") ? LONG_MAX : fail_from + (*count ? atol(count) : 1) - 1;
  }
}

// The fault goes away. A process under test finds this by its name, and calls it when it has seen enough.
__attribute__((visibility("default"))) void kvclone_fault_clear(void) {
  fail_from = fail_until = -1;
}

int swallows(const char *operation) {
  return swallowed && !strcmp(swallowed, operation);
}

// MARK: The fault

// Says so, too.
static int is_its_turn(const char *operation, long number) {
  if (number < fail_from || number > fail_until) return 0;
  if (settings.acknowledge >= 0) {
    char line[64];
    int length = snprintf(line, sizeof line, "fault %s %ld\n", operation, calls);
    real_write(settings.acknowledge, line, (size_t)length);
  }
  return 1;
}

int strikes(const char *operation, const char *path) {
  calls++;
  if (settings.trace >= 0) dprintf(settings.trace, "%ld %s %s\n", calls, operation, path ? below_root(path) : "");
  if (calls == kill_at) {
    kill(getpid(), SIGKILL);
    pause();
  }
  if (fail_from < 0) return 0;
  if (operation_that_fails && strcmp(operation_that_fails, operation)) return 0;
  candidates++;
  return is_its_turn(operation, operation_that_fails ? candidates : calls);
}

size_t readable(watched_file *file, off_t offset, size_t length) {
  off_t bad = settings.bad_page * 4096;
  int is_cut = file->is_bad && bad >= 0 && bad_times > 0 && offset < bad && offset + (off_t)length > bad;
  return is_cut ? (size_t)(bad - offset) : length;
}

int strikes_read(watched_file *file, off_t offset, size_t length) {
  if (settings.trace >= 0) dprintf(settings.trace, "read\n");
  off_t bad = settings.bad_page * 4096;
  int result = file->is_bad && bad >= 0 && offset >= bad && offset < bad + 4096 && length > 0 && bad_times-- > 0;
  if (!result && fail_from >= 0 && operation_that_fails && !strcmp(operation_that_fails, "read")) {
    candidates++;
    result = is_its_turn("read", candidates);
  }
  if (result && settings.trace >= 0) dprintf(settings.trace, "struck\n");
  return result;
}

// MARK: The real functions

ssize_t real_write(int fd, const void *bytes, size_t count) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return real(fd, bytes, count);
}

int real_open(const char *path, int flags, mode_t mode) {
  REAL(int, "open64", const char *, int, ...);
  return real(path, flags, mode);
}
