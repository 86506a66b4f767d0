// The watched paths and descriptors.
#include "shim.h"

enum { MAXIMUM_DESCRIPTORS = 1024 };

static watched_file files[MAXIMUM_DESCRIPTORS];

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int is_lock(const char *path) {
  const char *name = name_of(path);
  return !strcmp(name, "lock.mdb") || !strcmp(name, "writer.lock") || !strcmp(name, "stagers.lock");
}

int is_watched_path(const char *path) {
  if (!settings.root || !path || strncmp(path, settings.root, settings.root_length) != 0) return 0;
  return path[settings.root_length] == 0 || path[settings.root_length] == '/';
}

watched_file *watched(int fd) {
  return fd >= 0 && fd < MAXIMUM_DESCRIPTORS && files[fd].is_watched ? &files[fd] : NULL;
}

void watch(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= MAXIMUM_DESCRIPTORS) return;
  struct stat facts;
  watched_file file = {0};
  if (is_watched_path(path) && fstat(fd, &facts) == 0) {
    file.is_watched = 1;
    file.is_directory = S_ISDIR(facts.st_mode);
    file.is_synchronous = (flags & O_DSYNC) != 0;
    file.is_lock = is_lock(path);
    file.is_bad = !strcmp(name_of(path), settings.bad_file);
    file.is_hidden = strstr(below_root(path), "/.") != NULL;
    file.inode = facts.st_ino;
  }
  files[fd] = file;
}

void forget(int fd) {
  if (fd >= 0 && fd < MAXIMUM_DESCRIPTORS) files[fd].is_watched = 0;
}
