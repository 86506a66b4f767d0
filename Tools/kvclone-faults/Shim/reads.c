// The calls that read; reads of a bad page fail.
#include "shim.h"

// Whether a call fails. As in the kernel, a read returns the bytes before a bad page: `length` is reduced then.
static int is_struck(int fd, off_t offset, size_t *length) {
  watched_file *file = watched(fd);
  if (!file) return 0;
  int result;
  LOCKED({
    if (offset < 0) offset = lseek(fd, 0, SEEK_CUR);
    result = strikes_read(file, offset, *length);
    *length = readable(file, offset, *length);
  })
  if (result) errno = settings.fail_errno;
  return result;
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
  REAL(ssize_t, "pread64", int, void *, size_t, off_t);
  return is_struck(fd, offset, &count) ? -1 : real(fd, bytes, count, offset);
}

ssize_t pread64(int fd, void *bytes, size_t count, off_t offset) {
  return pread(fd, bytes, count, offset);
}

ssize_t read(int fd, void *bytes, size_t count) {
  REAL(ssize_t, "read", int, void *, size_t);
  return is_struck(fd, -1, &count) ? -1 : real(fd, bytes, count);
}
