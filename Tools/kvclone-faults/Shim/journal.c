// The journal: changes of files, in order.
#include "shim.h"

// The head of a record, followed by `first` and `second` bytes of paths (relative to the root), and for W, D and A by
// `length` bytes. Types: W write, D durable write, S sync, F sync that lost pages, T truncation (to `offset`), C new
// file, M new directory, R rename, U unlink, X directory removed, Y directory synced, A acknowledgement, P pages
// spilled.
typedef struct {
  uint8_t type;
  uint8_t unused;
  uint16_t first, second, unused2;
  uint64_t inode, offset, length;
} record_head;

const char *below_root(const char *path) {
  return path ? path + settings.root_length : "";
}

void note(char type, uint64_t inode, uint64_t offset, const char *first, const char *second) {
  if (settings.journal < 0) return;
  first = below_root(first);
  second = below_root(second);
  record_head head = {.type = (uint8_t)type,
                      .first = (uint16_t)strlen(first),
                      .second = (uint16_t)strlen(second),
                      .inode = inode,
                      .offset = offset};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)first, head.first}, {(void *)second, head.second}};
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  real(settings.journal, parts, 3);
}

void note_bytes(char type, uint64_t inode, uint64_t offset, const struct iovec *parts, int count, size_t length) {
  if (settings.journal < 0) return;
  record_head head = {.type = (uint8_t)type, .inode = inode, .offset = offset, .length = length};
  real_write(settings.journal, &head, sizeof head);
  for (int index = 0; index < count && length > 0; index++) {
    size_t part = parts[index].iov_len < length ? parts[index].iov_len : length;
    for (size_t done = 0; done < part;) {
      ssize_t wrote = real_write(settings.journal, (const char *)parts[index].iov_base + done, part - done);
      if (wrote <= 0) return;
      done += (size_t)wrote;
    }
    length -= part;
  }
}
