// The calls that change bytes and sizes, and those that make them durable.
#include "shim.h"

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
    if (is_struck && !settings.is_short) {
      errno = settings.fail_errno;
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
      char type = file->is_synchronous && !swallows("meta") && !(file->is_hidden && swallows("hidden")) ? 'D' : 'W';
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

// Uses and advances the offset of the descriptor.
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
  if (fd >= 0 && fd == settings.acknowledge) {
    LOCKED({
      note_bytes('A', 0, 0, &part, 1, count);
      if (settings.trace >= 0) real_write(settings.trace, bytes, count);
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
      if (settings.drops_pages && !file->is_directory) note('F', file->inode, 0, NULL, NULL);
      errno = settings.fail_errno;
      result = -1;
    } else if (!swallows(operation) && !(file->is_hidden && !file->is_directory && swallows("hidden"))) {
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

// LMDB syncs the map only if it writes through the map, which this package never enables.
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
      errno = settings.fail_errno;
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

// A transaction that spills writes pages long before its commit. The store triggers this in LMDB by reserving a far too
// large value; writes during the call distinguish it from a probe of whether that works.
int mdb_put(void *transaction, unsigned table, lmdb_value *key, lmdb_value *value, unsigned flags) {
  REAL(int, "mdb_put", void *, unsigned, lmdb_value *, lmdb_value *, unsigned);
  if (!settings.root || value->length < (size_t)512 << 20) return real(transaction, table, key, value, flags);
  long before = calls;
  int result = real(transaction, table, key, value, flags);
  LOCKED({
    if (calls > before) {
      note('P', 0, 0, NULL, NULL);
      if (settings.trace >= 0) dprintf(settings.trace, "spill\n");
    }
  })
  return result;
}
