#ifndef KVCLONE_ROCKS_PEER_INTERNAL_H
#define KVCLONE_ROCKS_PEER_INTERNAL_H
#include <rocksdb/c.h>
#include <stdbool.h>
#include <string.h>
#include "rocks_peer.h"

// Column families. Records have big-endian ids as keys, so that scans follow ids. Child lists are keys of parent |
// child without a value: adding a child is a put, not a rewrite of its parent. A photo contains its album and tags.
// Images are separate from photos, so that scans do not read them.
enum family { META, LIBRARY, ALBUM, PHOTO, TAG, NODE, LIBRARY_ALBUM, ALBUM_PHOTO, TAG_PHOTO, IMAGE, FAMILIES };

// The highest id of each family of records, stored in META under the family's number.
struct rocks_peer {
  rocksdb_t *db;
  rocksdb_cache_t *cache;
  rocksdb_column_family_handle_t *families[FAMILIES];
  rocksdb_writebatch_t *loading;
  uint64_t highest[FAMILIES];
};

// The record of a photo: these bytes, then tags, then the title. Fixed offsets avoid parsing.
struct photo_head {
  uint64_t album;
  double taken, rating;
  int64_t width;
  uint8_t uuid[16];
  uint32_t tag_count, has_image;
};
struct node_record { uint64_t next, previous; int64_t number; };

int rocks_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Takes RocksDB's error text, if there is one, and frees it.
int rocks_error(char *text, const char *what);
double rocks_seconds(void);

#define TRY(call)                  \
  do {                             \
    int try_code = (call);         \
    if (try_code) return try_code; \
  } while (0)

static inline uint64_t big64(uint64_t v) { return __builtin_bswap64(v); }
static inline uint64_t load_big(const char *at) { uint64_t v; memcpy(&v, at, 8); return big64(v); }

static inline void put(rocks_peer *peer, rocksdb_writebatch_t *batch, enum family family, uint64_t id,
                       const void *value, size_t length) {
  uint64_t key = big64(id);
  rocksdb_writebatch_put_cf(batch, peer->families[family], (const char *)&key, 8, value, length);
}

static inline void put_edge(rocks_peer *peer, rocksdb_writebatch_t *batch, enum family family, uint64_t parent,
                            uint64_t child) {
  uint64_t key[2] = {big64(parent), big64(child)};
  rocksdb_writebatch_put_cf(batch, peer->families[family], (const char *)key, 16, NULL, 0);
}

void put_highest(rocks_peer *peer, rocksdb_writebatch_t *batch, enum family family, uint64_t id);
#endif
