#ifndef KVCLONE_LMDB_PEER_INTERNAL_H
#define KVCLONE_LMDB_PEER_INTERNAL_H
#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include "format.h"
#include "lmdb_peer.h"

enum {
  MOST_ENTITIES = 4, MOST_STEPS = 4, MOST_BLOB_FIELDS = 8,
  // Queued links and blobs: 8 bytes each, and as many again to sort them. 2 M are 16 MiB.
  MOST_LINKS = 1 << 21, MOST_BLOBS = 1 << 18
};

// 64 objects: a bit for each cloned object, and the number of cloned objects before them. They are in one struct
// because lookups need both.
struct word { uint64_t bits, before; };

// A clone to add to a shared object's list. Stores with more than 2^32 objects are not supported here.
struct link { uint32_t target, clone; };

// A relationship of an entity.
struct step {
  const char *name;
  uint16_t code, inverse_code;
  bool many, follow;
  // The offset of the slot in the record: a target's id or the head of a list.
  unsigned slot;
  struct entity *target;
  // The inverse list of the target, which gains clones; only for shared targets.
  struct step *inverse;
  struct link *links, *sorted;
  size_t link_count;
};

struct entity {
  const char *name;
  uint16_t code, layout;
  MDB_dbi table;
  struct step steps[MOST_STEPS];
  unsigned step_count;
  bool follows;  // whether any step is followed, so that its objects must be visited
  // The offsets of parts of the record: heads are adjacent, and so are end offsets.
  unsigned heads, head_count, ends, end_count, inline_ids, uuid_slot;
  // State of a clone. Serials below `next` exist; a clone's serial is `next` + the rank of its source.
  uint64_t next, count;
  struct word *words;
  MDB_cursor *reader, *writer;
};

struct queue { uint64_t *ids; size_t count, room; };

struct lmdb_peer {
  MDB_env *environment;
  MDB_dbi metadata, links, blobs, blobinfo;
  struct entity entities[MOST_ENTITIES];
  unsigned entity_count;
  // State of a clone.
  MDB_txn *reading, *writing;
  MDB_cursor *read_links, *read_blobs, *read_blobinfo, *write_links, *write_blobs, *write_blobinfo;
  bool checks;
  unsigned flags;
  uint64_t commit, next_blob, random[4];
  uint64_t *shared_blobs;
  size_t shared_count;
  struct queue level, discovered;
  lmdb_peer_result *result;
};

// Stores an error message, and returns `code`.
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
double now_seconds(void);

#define TRY(call)                \
  do {                           \
    int try_code = (call);       \
    if (try_code) return try_code; \
  } while (0)

// The same for LMDB's own functions, with a message for their codes.
#define LMDB(call)                                                                                      \
  do {                                                                                                  \
    int lmdb_code = (call);                                                                             \
    if (lmdb_code) return fail(lmdb_code, "%s:%d: %s", __FILE_NAME__, __LINE__, mdb_strerror(lmdb_code)); \
  } while (0)

int read_schema(lmdb_peer *peer, MDB_txn *transaction);
int read_counter(lmdb_peer *peer, MDB_txn *transaction, const char *name, uint64_t otherwise, uint64_t *value);
int write_counter(lmdb_peer *peer, const char *name, uint64_t value);
int mark(lmdb_peer *peer, struct entity *entity, uint64_t root);
int stream(lmdb_peer *peer);
int copy_floor(lmdb_peer *peer, struct entity *root);
int publish_links(lmdb_peer *peer, struct step *step);
int share_blob(lmdb_peer *peer, uint64_t serial);
int publish_blobs(lmdb_peer *peer);
int copy_blob(lmdb_peer *peer, uint64_t from, uint64_t to);

static inline uint16_t root_of(uint64_t id) { return (uint16_t)(id >> 48); }
static inline uint64_t serial_of(uint64_t id) { return id & SERIAL_MASK; }
static inline uint64_t id_of(const struct entity *entity, uint64_t serial) {
  return (uint64_t)entity->code << 48 | serial;
}
static inline uint64_t object_table(const struct entity *entity) { return TABLE_OBJECTS + (uint64_t)entity->code; }
static inline bool holds(const struct entity *entity, uint64_t id) {
  return root_of(id) == entity->code && serial_of(id) < entity->next;
}

static inline uint64_t ones(uint64_t word) {
#if defined(__x86_64__)
  // One instruction instead of a dozen; every x86-64 processor since 2008 has it, but compilers must not assume this.
  __asm__("popcnt %0, %0" : "+r"(word) : : "cc");
  return word;
#else
  return (uint64_t)__builtin_popcountll(word);
#endif
}

// The clone's id of an object; 0 if it is not cloned. The entity must contain `id`.
static inline uint64_t clone_of(const struct entity *entity, uint64_t id) {
  uint64_t serial = serial_of(id), bit = UINT64_C(1) << (serial & 63);
  const struct word *word = &entity->words[serial >> 6];
  if (!(word->bits & bit)) return 0;
  return id_of(entity, entity->next + word->before + ones(word->bits & (bit - 1)));
}

// Whether a record belongs to the entity, has the known layout, and is long enough. In modes with checksums, the
// checksum is verified first.
static inline int verify_record(const lmdb_peer *peer, const struct entity *entity, uint64_t id, const MDB_val *value) {
  const uint8_t *record = value->mv_data;
  size_t length = value->mv_size;
  if (length < entity->inline_ids) return fail(-1, "%s/%lu is too short", entity->name, (unsigned long)serial_of(id));
  if (peer->checks && xxh3(record + 8, length - 8, seed_of(id, object_table(entity))) != load64(record))
    return fail(-1, "the checksum of %s/%lu is wrong", entity->name, (unsigned long)serial_of(id));
  if (load16(record + RECORD_LAYOUT) != entity->layout || load16(record + RECORD_ENTITY) != entity->code ||
      load32(record + RECORD_LENGTH) != length)
    return fail(-1, "%s/%lu is not in the current layout", entity->name, (unsigned long)serial_of(id));
  size_t ids = 0;
  for (unsigned list = 0; list < entity->head_count; list++) {
    uint64_t head = load64(record + entity->heads + 8 * list);
    if (!(head & HEAD_CHUNKED)) ids += head & HEAD_COUNT;
  }
  if (ids > (length - entity->inline_ids) / 8)
    return fail(-1, "%s/%lu is too short for its lists", entity->name, (unsigned long)serial_of(id));
  return 0;
}

// The number of ids in a chunk under `key`; 0 if it is corrupted.
static inline unsigned verify_chunk(const lmdb_peer *peer, const MDB_val *key, const MDB_val *value) {
  const uint8_t *chunk = value->mv_data;
  if (value->mv_size < CHUNK_HEADER) return 0;
  unsigned count = load16(chunk + 8);
  if (!count || count > CHUNK_CAPACITY || value->mv_size != CHUNK_HEADER + 8 * count) return 0;
  if (peer->checks && xxh3(chunk + 8, value->mv_size - 8, xxh3(key->mv_data, LINK_KEY, TABLE_LINKS)) != load64(chunk))
    return 0;
  return count;
}

// Writes the checksum of a value, or 0 in the modes without checksums.
static inline void seal(const lmdb_peer *peer, uint8_t *value, size_t length, uint64_t seed) {
  store64(value, peer->checks ? xxh3(value + 8, length - 8, seed) : 0);
}
static inline void seal_chunk(const lmdb_peer *peer, uint8_t *chunk, size_t length, const uint8_t *key) {
  store64(chunk, peer->checks ? xxh3(chunk + 8, length - 8, xxh3(key, LINK_KEY, TABLE_LINKS)) : 0);
}

// Whether an entry of `links` belongs to the list of `prefix` (owner, relationship, kind).
static inline bool same_list(const MDB_val *key, const uint8_t *prefix) {
  return key->mv_size == LINK_KEY && memcmp(key->mv_data, prefix, 11) == 0;
}
#endif
