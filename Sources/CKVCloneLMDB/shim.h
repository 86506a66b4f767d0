#ifndef CKVCLONELMDB_SHIM_H
#define CKVCLONELMDB_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// LMDB 1.0 (2026) has another data format, another lock file, and other private structures than those that KVCloneLMDB
// relies on. The article Decisions says what support takes.
#if MDB_VERSION_MAJOR != 0 || MDB_VERSION_MINOR != 9
#error "KVClone supports LMDB 0.9 only. Put its lmdb.h first in the include path: liblmdb-dev 0.9, or CPATH"
#endif

// Swift cannot call variadic C functions, and glibc hides some Linux constants behind _GNU_SOURCE. These functions
// are the whole of the C code of the library; each returns 0 (or a count) on success and an errno value on failure.

// Open file description locks (Linux 3.15): they belong to the descriptor, not to the process, so closing an
// unrelated descriptor of the same file does not drop them, and they vanish with the process that held them.
#define KVCLONE_F_OFD_GETLK 36
#define KVCLONE_F_OFD_SETLK 37

// A lock on `length` bytes from `offset` on, 0 for all bytes behind it; the file need not be that long.
static inline struct flock kvclone_range(short type, int64_t offset, int64_t length) {
  struct flock range = {0};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = (off_t)offset;
  range.l_len = (off_t)length;
  return range;
}

// Returns 1 if another descriptor or another process holds the lock, shared or exclusive, 0 if none does, and a
// negative errno value on failure.
static inline int kvclone_ofd_is_range_locked_elsewhere(int fd, int64_t offset, int64_t length) {
  struct flock range = kvclone_range(F_WRLCK, offset, length);
  if (fcntl(fd, KVCLONE_F_OFD_GETLK, &range) != 0) return -errno;
  return range.l_type == F_UNLCK ? 0 : 1;
}

// All bytes that a file may have, except for the last ones: those are locked one by one, for other purposes.
#define KVCLONE_FILE_RANGE (INT64_C(1) << 61)

static inline int kvclone_ofd_lock(int fd, int exclusive) {
  struct flock range = kvclone_range(exclusive ? F_WRLCK : F_UNLCK, 0, KVCLONE_FILE_RANGE);
  return fcntl(fd, KVCLONE_F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

// The same for one byte of a file.
static inline int kvclone_ofd_lock_byte(int fd, int64_t offset, int exclusive) {
  struct flock range = kvclone_range(exclusive ? F_WRLCK : F_UNLCK, offset, 1);
  return fcntl(fd, KVCLONE_F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

// Takes a shared lock on one byte, without waiting.
static inline int kvclone_ofd_share_byte(int fd, int64_t offset) {
  struct flock range = kvclone_range(F_RDLCK, offset, 1);
  return fcntl(fd, KVCLONE_F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

static inline int kvclone_ofd_is_byte_locked_elsewhere(int fd, int64_t offset) {
  return kvclone_ofd_is_range_locked_elsewhere(fd, offset, 1);
}

static inline int kvclone_ofd_is_held_elsewhere(int fd) { return kvclone_ofd_is_range_locked_elsewhere(fd, 0, KVCLONE_FILE_RANGE); }

// Returns 1 if a lock of another process, or an open file description lock of any process, prevents this process from
// taking a POSIX record lock on one byte; 0 if none does; a negative errno value on failure.
static inline int kvclone_is_byte_locked_by_others(int fd, int64_t offset) {
  struct flock range = kvclone_range(F_WRLCK, offset, 1);
  if (fcntl(fd, F_GETLK, &range) != 0) return -errno;
  return range.l_type == F_UNLCK ? 0 : 1;
}

// Locks an open directory exclusively against other callers of this function; EWOULDBLOCK if it is locked. Closing the
// descriptor releases the lock.
static inline int kvclone_lock_directory(int fd) {
  int code;
  do code = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  while (code == EINTR);
  return code;
}

// Makes all writes to the file system of an open file or directory durable.
static inline int kvclone_sync_file_system(int fd) { return syscall(SYS_syncfs, fd) == 0 ? 0 : errno; }

static inline int kvclone_set_close_on_exec(int fd) {
  int flags = fcntl(fd, F_GETFD);
  if (flags < 0) return errno;
  return fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == 0 ? 0 : errno;
}

static inline int kvclone_open(const char *path, int flags, unsigned mode) {
  int fd;
  do fd = open(path, flags, (mode_t)mode);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

// The same for a name in an open directory.
static inline int kvclone_open_at(int directory, const char *name, int flags, unsigned mode) {
  int fd;
  do fd = openat(directory, name, flags, (mode_t)mode);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

// Creates a file in a directory that never has a name, closed on exec. Returns a descriptor, or a negative errno value:
// not every file system supports it. O_TMPFILE by number, because glibc defines it only with _GNU_SOURCE.
static inline int kvclone_open_unnamed(const char *directory) {
  return kvclone_open(directory, 020000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
}

// membarrier(2) by number: glibc has no function for it. 8 is MEMBARRIER_CMD_PRIVATE_EXPEDITED, 16 its registration.
static inline int kvclone_membarrier_register(void) { return syscall(SYS_membarrier, 16, 0) == 0 ? 0 : errno; }
static inline int kvclone_membarrier(void) { return syscall(SYS_membarrier, 8, 0) == 0 ? 0 : errno; }

// Prefetches the beginning of some bytes that are about to be read: as much as the processor loads while one record is
// processed.
static inline void kvclone_prefetch(const void *bytes, size_t count) {
  size_t end = count < 320 ? count : 320;
  for (size_t at = 0; at < end; at += 64) __builtin_prefetch((const char *)bytes + at);
}

// Whether the page cache has a page of a mapped file. If the kernel does not report it, the page counts as cached.
static inline int kvclone_is_resident(const void *page) {
  unsigned char resident = 1;
  return mincore((void *)page, 4096, &resident) != 0 || (resident & 1) != 0;
}

// Requests a part of a mapped file that the page cache lacks from the kernel, without waiting for it.
static inline void kvclone_request_mapped(const void *start, size_t length) {
  (void)madvise((void *)start, length, MADV_WILLNEED);
}

// The same for a file that is read by its descriptor.
static inline void kvclone_request(int fd, int64_t start, int64_t length) {
  (void)posix_fadvise(fd, (off_t)start, (off_t)length, POSIX_FADV_WILLNEED);
}

// Returns the address at which the file of a readable mapping that contains `address` begins in memory; NULL if the
// kernel does not report it, or the mapping does not begin with the file. LMDB does not report the address of its map.
static inline const void *kvclone_mapped_file(const void *address) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return NULL;
  char *line = NULL;
  size_t room = 0;
  const void *found = NULL;
  while (getline(&line, &room, maps) > 0) {
    uint64_t start, end, offset;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r%*3c %" SCNx64, &start, &end, &offset) != 3) continue;
    if ((uint64_t)(uintptr_t)address < start || (uint64_t)(uintptr_t)address >= end) continue;
    if (offset == 0) found = (const void *)(uintptr_t)start;
    break;
  }
  free(line);
  fclose(maps);
  return found;
}

// Creates a file in memory, closed on exec. Returns a descriptor, or a negative errno value.
static inline int kvclone_memory_file(const char *name) {
  int fd = (int)syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);
  return fd < 0 ? -errno : fd;
}

// The number of bytes that malloc has allocated, mapped blocks included; 0 if another allocator replaces it.
static inline uint64_t kvclone_allocated_bytes(void) {
#if __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2();
  return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
#else
  return 0;
#endif
}

// Starts writeback of a file's dirty pages, and does not wait for it. Durability still needs fdatasync, which then has
// less to write. Does nothing if the call does not exist, or does not support this file system.
static inline void kvclone_begin_writing_back(int fd) {
#ifdef SYS_sync_file_range
  const unsigned write = 2;  // SYNC_FILE_RANGE_WRITE
  (void)syscall(SYS_sync_file_range, fd, (int64_t)0, (int64_t)0, write);
#else
  (void)fd;
#endif
}

// Makes an empty file a copy of another one that shares its blocks (FICLONE, by number, because its header is not
// available everywhere). The kernel first writes the source's dirty pages. EOPNOTSUPP, EXDEV, EINVAL or ENOTTY if the
// two files cannot share blocks.
static inline int kvclone_share_blocks(int target, int source) {
  int code;
  do code = ioctl(target, _IOW(0x94, 9, int), source) == 0 ? 0 : errno;
  while (code == EINTR);
  return code;
}

// btrfs: whether writes of a file, or of future files of a directory, go to new blocks each time, which is also the
// condition for checksums (FS_NOCOW_FL, by number like the calls, because its header is not available everywhere). 1
// for off, 0 for on, -1 on another file system, or if it is unknown.
static inline int kvclone_is_copy_on_write_off(int fd) {
  struct statfs facts;
  int flags = 0;
  if (fstatfs(fd, &facts) != 0 || (uint32_t)facts.f_type != 0x9123683E) return -1;
  if (ioctl(fd, _IOR('f', 1, long), &flags) != 0) return -1;
  return (flags & 0x00800000) != 0;
}

// btrfs: makes the kernel rewrite adjoining small extents of a range (less than 256 KiB each) as one
// (BTRFS_IOC_DEFRAG_RANGE, by number). The bytes do not change, even with concurrent readers and writers. 0, or an
// errno value; elsewhere ENOTTY.
static inline int kvclone_merge_extents(int fd, uint64_t start, uint64_t length) {
  struct {
    uint64_t start, length, flags;
    uint32_t threshold, compression, unused[4];
  } range = {.start = start, .length = length, .threshold = 256 * 1024};
  struct statfs facts;
  if (fstatfs(fd, &facts) != 0) return errno;
  if ((uint32_t)facts.f_type != 0x9123683E) return ENOTTY;
  return ioctl(fd, _IOW(0x94, 16, range), &range) == 0 ? 0 : errno;
}

// btrfs: whether its data has copies on other devices, or a second one on the same device, from which it repairs data
// that does not match its checksum. 1, 0, or -1 on another file system, or if it is unknown (BTRFS_IOC_SPACE_INFO).
static inline int kvclone_is_mirrored(int fd) {
  struct statfs facts;
  struct {
    uint64_t slots, count;
    struct {
      uint64_t flags, total, used;
    } spaces[32];
  } answer = {.slots = 32};
  if (fstatfs(fd, &facts) != 0 || (uint32_t)facts.f_type != 0x9123683E) return -1;
  if (ioctl(fd, _IOWR(0x94, 20, uint64_t[2]), &answer) != 0) return -1;
  for (uint64_t i = 0; i < answer.count && i < 32; i++) {
    // Data, and RAID1, DUP, RAID10, RAID5, RAID6, RAID1C3 or RAID1C4.
    if ((answer.spaces[i].flags & 1) != 0 && (answer.spaces[i].flags & 0x7F0) != 0) return 1;
  }
  return 0;
}

// Turns copy-on-write off or on: of a directory, or of an empty file. Does nothing elsewhere, or if the file system
// refuses.
static inline void kvclone_set_copy_on_write_off(int fd, int off) {
  int flags = 0;
  if (kvclone_is_copy_on_write_off(fd) == off || ioctl(fd, _IOR('f', 1, long), &flags) != 0) return;
  flags = off ? flags | 0x00800000 : flags & ~0x00800000;
  (void)ioctl(fd, _IOW('f', 2, long), &flags);
}

// Turns direct I/O on or off, which bypasses the page cache; 0, or an errno value if the file system does not support
// it. O_DIRECT by number, because glibc defines it only with _GNU_SOURCE; the number depends on the processor.
static inline int kvclone_write_directly(int fd, int directly) {
#if defined(__aarch64__) || defined(__arm__)
  const int direct = 0200000;
#else
  const int direct = 040000;
#endif
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return errno;
  return fcntl(fd, F_SETFL, directly ? flags | direct : flags & ~direct) == 0 ? 0 : errno;
}

// Drops a file's clean pages from the page cache, so that they are read from the disk again.
static inline void kvclone_forget_pages(int fd) { (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); }

// Returns the offset of the first stored bytes of a file from `offset` on; INT64_MAX if no stored bytes follow, and
// `offset` if the file system does not report it. Moves the descriptor's position, which LMDB writes at: never use it
// for a descriptor of LMDB's.
static inline int64_t kvclone_find_data(int fd, int64_t offset) {
  const int data = 3;  // SEEK_DATA of linux/fs.h, which glibc has with _GNU_SOURCE only.
  off_t found = lseek(fd, (off_t)offset, data);
  return found >= 0 ? (int64_t)found : errno == ENXIO ? INT64_MAX : offset;
}

// The longest file this process may write (RLIMIT_FSIZE); UINT64_MAX for no limit.
static inline uint64_t kvclone_file_size_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return (uint64_t)limit.rlim_cur;
}

// Whether the process could map so many more bytes; tried by mapping them briefly.
static inline int kvclone_can_reserve(uint64_t bytes) {
  void *space = mmap(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return 0;
  munmap(space, bytes);
  return 1;
}

// renameat2(RENAME_NOREPLACE) by number, because its declaration needs _GNU_SOURCE.
static inline int kvclone_rename_without_replacing(const char *from, const char *to) {
  return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1u) == 0 ? 0 : errno;
}

// One page that reads as zero in a forked child (MADV_WIPEONFORK, Linux 4.14); NULL if the kernel has none.
static inline uint64_t *kvclone_wiped_on_fork_page(void) {
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 0;
  if (madvise(page, 4096, 18 /* MADV_WIPEONFORK */) != 0) {
    munmap(page, 4096);
    return 0;
  }
  return (uint64_t *)page;
}

// A process that was started with standard input, output or error closed would get them as descriptors of the store's
// files, and the next print would overwrite the store: closed ones become /dev/null first.
static inline void kvclone_fill_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return;
  }
}

// A file beyond RLIMIT_FSIZE would kill the process; ignored, the write fails with EFBIG. A handler of the
// application's own is left in place.
static inline void kvclone_ignore_file_size_signal(void) {
  struct sigaction now;
  if (sigaction(SIGXFSZ, 0, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGXFSZ, SIG_IGN);
}

// Reserves space for a file from `start` on, beyond its end; the length does not change. 0, or the error of the file
// system (EOPNOTSUPP: not supported). By number, because _GNU_SOURCE is not defined: 1 is FALLOC_FL_KEEP_SIZE.
static inline int kvclone_keep_room(int fd, int64_t start, int64_t count) {
  return syscall(SYS_fallocate, fd, 1, start, count) == 0 ? 0 : errno;
}

// Releases the space reserved beyond a file's end. Holes cannot be punched there; setting the length to its current
// value releases it.
static inline int kvclone_give_up_room(int fd) {
  struct stat facts;
  return fstat(fd, &facts) == 0 && ftruncate(fd, facts.st_size) == 0 ? 0 : errno;
}

// The start of struct statx. By number, because glibc declares it with _GNU_SOURCE only.
struct kvclone_statx {
  uint32_t mask, block_size;
  uint64_t attributes;
  uint32_t links, owner, group;
  uint16_t mode, unused;
  uint64_t inode, size, blocks, rest[25];
};

// Size and 512-byte blocks of an open file, without its timestamps: since Linux 6.13, the first write after fstat has read
// the timestamps stores a new one, and the next fdatasync then writes the inode, too. 0, or an errno value.
static inline int kvclone_file_extent(int fd, int64_t *size, int64_t *blocks) {
#ifdef SYS_statx
  struct kvclone_statx facts;
  const unsigned empty_path = 0x1000, wanted = 0x200 | 0x400;
  if (syscall(SYS_statx, fd, "", empty_path, wanted, &facts) == 0 && (facts.mask & wanted) == wanted) {
    *size = (int64_t)facts.size;
    *blocks = (int64_t)facts.blocks;
    return 0;
  }
#endif
  struct stat all;
  if (fstat(fd, &all) != 0) return errno;
  *size = (int64_t)all.st_size;
  *blocks = (int64_t)all.st_blocks;
  return 0;
}

// The number of bytes that are allocated for a file, or -1.
static inline int64_t kvclone_given_room(int fd) {
  int64_t size, blocks;
  return kvclone_file_extent(fd, &size, &blocks) == 0 ? blocks * 512 : -1;
}

// Whether a file of so many bytes could be created in a directory: 0, or the error of the file system. Leaves no file.
static inline int kvclone_try_room(const char *directory, int64_t count) {
  int fd = kvclone_open_unnamed(directory);
  if (fd < 0) return -fd;
  int code = kvclone_keep_room(fd, 0, count);
  close(fd);
  return code;
}

static inline uint64_t kvclone_file_system_type(const char *path, int *error) {
  struct statfs facts;
  if (statfs(path, &facts) != 0) {
    *error = errno;
    return 0;
  }
  *error = 0;
  return (uint64_t)(uint32_t)facts.f_type;
}
#endif
