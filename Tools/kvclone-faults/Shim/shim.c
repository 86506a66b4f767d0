// The fault shim: preloaded into a process that uses a store (LD_PRELOAD), it intercepts every call that changes the
// store's files, and makes the n-th of them fail or write too little, or kills the process before it. It can also keep
// a journal of the calls, from which a power loss is simulated.
//
// It watches KVCLONE_FAULT_ROOT and all files and directories below it. Calls are numbered from 1 in the order in which
// they begin. Syncs are recorded, not performed: a killed process loses nothing that is in the page cache, and the
// replayer simulates the effects of a power loss. Writes through a map are not intercepted; LMDB uses them only for its
// lock file.
//
//   KVCLONE_FAULT_ROOT=DIR          absolute, without a trailing slash
//   KVCLONE_FAULT_KILL=N            SIGKILL before call N
//   KVCLONE_FAULT_FAIL=N:ERRNO[:K]  calls N to N+K-1 fail (K: 1, or "sticky": all, until kvclone_fault_clear)
//   KVCLONE_FAULT_OPERATION=NAME    only calls of this kind count for FAIL: open write meta label sync dirsync truncate
//                                   rename unlink mkdir stagers (label: a write of the lock holder to a lock file;
//                                   stagers: opening stagers.lock)
//                                   read: calls that read are counted only for this, from 1
//   KVCLONE_FAULT_BAD_PAGE=N[:TIMES] reads of page N of data.mdb (4096 bytes each, from 0) fail with EIO, always or
//                                   the given number of times
//   KVCLONE_FAULT_BAD_FILE=NAME     BAD_PAGE is a page of this file instead
//   KVCLONE_FAULT_SHORT=1           a write that should fail writes half of its bytes instead, and returns that count
//   KVCLONE_FAULT_DROP=1            a failed sync is recorded as one that lost all data not yet durable
//   KVCLONE_FAULT_SWALLOW=NAME      a planted bug: sync, dirsync or meta writes return success without being durable;
//                                   hidden: syncs of files with a hidden name, or in a hidden directory, before their
//                                   rename
//   KVCLONE_FAULT_JOURNAL=FILE      the path of the journal; `Journal.swift` reads it
//   KVCLONE_FAULT_TRACE=FILE        a line for each call: number, operation, path; interleaved with acknowledgements,
//                                   "read" for each call that reads, "struck" if it fails, and "spill" after calls in
//                                   which LMDB wrote dirty pages before the commit
//   KVCLONE_FAULT_ACKNOWLEDGE=FD    writes to this descriptor are recorded in the journal at their position, and
//                                   "fault OPERATION N" is written to it when a fault is injected
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

// Clears the fault. A process under test finds this function by name, and calls it after enough failures.
__attribute__((visibility("default"))) void kvclone_fault_clear(void) {
  fail_from = fail_until = -1;
}

int swallows(const char *operation) {
  return swallowed && !strcmp(swallowed, operation);
}

// MARK: The fault

// Reports an injected fault to the acknowledgement descriptor.
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
