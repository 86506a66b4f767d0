#include <stdlib.h>
#include "rocks.h"

// The clone: marks objects through the child lists with one bit per object, then scans each family once in the order of
// ids. A clone's id is the highest id so far plus its source's rank. All writes are in one atomic WriteBatch, written
// with a sync.

struct word { uint64_t bits, before; };
struct set { struct word *words; uint64_t base, count, limit; };

static int make_set(struct set *set, uint64_t highest) {
  set->base = highest + 1;
  set->limit = highest;
  set->count = 0;
  set->words = calloc(highest / 64 + 1, sizeof *set->words);
  return set->words ? 0 : rocks_fail("no memory for a bitmap");
}

// Returns whether the id is new; -1 for an id that does not exist.
static inline int insert(struct set *set, uint64_t id) {
  if (id > set->limit) return rocks_fail("an id is above all others");
  uint64_t bit = UINT64_C(1) << (id & 63);
  if (set->words[id >> 6].bits & bit) return 0;
  set->words[id >> 6].bits |= bit;
  return 1;
}

static void rank(struct set *set) {
  for (uint64_t word = 0; word <= set->limit / 64; word++) {
    set->words[word].before = set->count;
    set->count += (uint64_t)__builtin_popcountll(set->words[word].bits);
  }
}

// The clone's id; 0 if the object is not cloned.
static inline uint64_t clone_of(const struct set *set, uint64_t id) {
  uint64_t bit = UINT64_C(1) << (id & 63);
  if (id > set->limit || !(set->words[id >> 6].bits & bit)) return 0;
  uint64_t bits = set->words[id >> 6].bits & (bit - 1);
  return set->base + set->words[id >> 6].before + (uint64_t)__builtin_popcountll(bits);
}

// The first marked id from `id` on; 0 if none is marked.
static inline uint64_t next_marked(const struct set *set, uint64_t id) {
  if (id > set->limit) return 0;
  uint64_t index = id >> 6, bits = set->words[index].bits & ~UINT64_C(0) << (id & 63);
  while (!bits) {
    if (++index > set->limit / 64) return 0;
    bits = set->words[index].bits;
  }
  return index << 6 | (uint64_t)__builtin_ctzll(bits);
}

struct edge { uint64_t tag, photo; };

// A clone in progress.
struct clone {
  rocks_peer *peer;
  rocksdb_writebatch_t *batch;
  rocksdb_readoptions_t *reading;
  const rocksdb_snapshot_t *snapshot;
  struct set albums, photos, nodes;
  // Entries of the tags' lists, to be sorted.
  struct edge *edges;
  size_t edge_count, edge_room;
  rocks_peer_result *result;
  uint64_t random[4];
  unsigned flags;
};

typedef int (*visitor)(struct clone *clone, uint64_t id, uint64_t new_id, const char *value, size_t length);

static rocksdb_iterator_t *iterate(struct clone *clone, enum family family) {
  return rocksdb_create_iterator_cf(clone->peer->db, clone->reading, clone->peer->families[family]);
}

static int finish(rocksdb_iterator_t *iterator, int code) {
  char *error = NULL;
  rocksdb_iter_get_error(iterator, &error);
  rocksdb_iter_destroy(iterator);
  int failed = rocks_error(error, "scan");
  return code ? code : failed;
}

// Moves to the key of an id; tries the next key first, because a step is cheaper than a seek.
static void move_to(rocksdb_iterator_t *iterator, uint64_t id) {
  size_t length;
  if (rocksdb_iter_valid(iterator)) {
    uint64_t at = load_big(rocksdb_iter_key(iterator, &length));
    if (at == id) return;
    if (at < id) {
      rocksdb_iter_next(iterator);
      if (rocksdb_iter_valid(iterator) && load_big(rocksdb_iter_key(iterator, &length)) == id) return;
    }
  }
  uint64_t key = big64(id);
  rocksdb_iter_seek(iterator, (const char *)&key, 8);
}

// Marks the children of one parent. The iterator is then at the children of the next parent.
static int mark_children(rocksdb_iterator_t *iterator, uint64_t parent, struct set *set) {
  size_t length;
  if (!rocksdb_iter_valid(iterator) || load_big(rocksdb_iter_key(iterator, &length)) != parent) {
    uint64_t key[2] = {big64(parent), 0};
    rocksdb_iter_seek(iterator, (const char *)key, 16);
  }
  for (; rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    const char *key = rocksdb_iter_key(iterator, &length);
    if (length != 16 || load_big(key) != parent) break;
    if (insert(set, load_big(key + 8)) < 0) return -1;
  }
  return 0;
}

static int mark_library(struct clone *clone, uint64_t library) {
  rocksdb_iterator_t *iterator = iterate(clone, LIBRARY_ALBUM);
  TRY(finish(iterator, mark_children(iterator, library, &clone->albums)));
  iterator = iterate(clone, ALBUM_PHOTO);
  int code = 0;
  for (uint64_t album = next_marked(&clone->albums, 0); album && !code; album = next_marked(&clone->albums, album + 1))
    code = mark_children(iterator, album, &clone->photos);
  TRY(finish(iterator, code));
  rank(&clone->albums);
  rank(&clone->photos);
  return 0;
}

// Visits the marked records of a family in the order of ids. Images may be missing, because not every photo has one.
static int stream(struct clone *clone, enum family family, struct set *set, visitor visit) {
  rocksdb_iterator_t *iterator = iterate(clone, family);
  size_t length;
  int code = 0;
  rocksdb_iter_seek_to_first(iterator);
  for (uint64_t id = next_marked(set, 0); id && !code; id = next_marked(set, id + 1)) {
    // Ids ascend, so an iterator beyond this id, or at the end, shows that it is missing.
    if (rocksdb_iter_valid(iterator) && load_big(rocksdb_iter_key(iterator, &length)) < id) move_to(iterator, id);
    bool found = rocksdb_iter_valid(iterator) && load_big(rocksdb_iter_key(iterator, &length)) == id;
    if (found) {
      const char *value = rocksdb_iter_value(iterator, &length);
      code = visit(clone, id, clone_of(set, id), value, length);
    } else if (family != IMAGE) {
      code = rocks_fail("a record is missing");
    } else if (!rocksdb_iter_valid(iterator)) {
      break;
    }
  }
  return finish(iterator, code);
}

static int clone_album(struct clone *clone, uint64_t id, uint64_t new_id, const char *value, size_t length) {
  (void)id;
  char record[8 + 256];
  if (length < 8 || length > sizeof record) return rocks_fail("an album is damaged");
  memcpy(record, value, length);
  memcpy(record, &clone->result->root, 8);
  put(clone->peer, clone->batch, ALBUM, new_id, record, length);
  put_edge(clone->peer, clone->batch, LIBRARY_ALBUM, clone->result->root, new_id);
  return 0;
}

static uint64_t next_random(uint64_t s[4]) {  // xoshiro256**, https://prng.di.unimi.it
  uint64_t five = s[1] * 5, result = (five << 7 | five >> 57) * 9, shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = s[3] << 45 | s[3] >> 19;
  return result;
}

static int clone_photo(struct clone *clone, uint64_t id, uint64_t new_id, const char *value, size_t length) {
  (void)id;
  struct photo_head head;
  char record[sizeof head + 8 * 256 + 256];
  if (length < sizeof head || length > sizeof record) return rocks_fail("a photo is damaged");
  memcpy(record, value, length);
  memcpy(&head, value, sizeof head);
  if (sizeof head + 8 * (size_t)head.tag_count > length) return rocks_fail("a photo is damaged");
  head.album = clone_of(&clone->albums, head.album);
  if (clone->flags & ROCKS_PEER_REBUILD_UUID) {
    uint64_t random[2] = {next_random(clone->random), next_random(clone->random)};
    memcpy(head.uuid, random, 16);
    head.uuid[6] = (head.uuid[6] & 0x0f) | 0x40;
    head.uuid[8] = (head.uuid[8] & 0x3f) | 0x80;
  }
  memcpy(record, &head, sizeof head);
  put(clone->peer, clone->batch, PHOTO, new_id, record, length);
  put_edge(clone->peer, clone->batch, ALBUM_PHOTO, head.album, new_id);
  if (clone->edge_room - clone->edge_count < head.tag_count) {
    size_t room = 2 * clone->edge_room + 1024;
    struct edge *edges = realloc(clone->edges, room * sizeof *edges);
    if (!edges) return rocks_fail("no memory for links");
    clone->edges = edges;
    clone->edge_room = room;
  }
  for (uint32_t index = 0; index < head.tag_count; index++) {
    struct edge *edge = &clone->edges[clone->edge_count++];
    memcpy(&edge->tag, value + sizeof head + 8 * index, 8);
    edge->photo = new_id;
    if (edge->tag > clone->peer->highest[TAG]) return rocks_fail("a tag's id is above all others");
  }
  clone->result->links += head.tag_count;
  return 0;
}

// Puts the entries of the tags' lists in the order of their keys: a memtable accepts ascending keys several times
// faster than random ones. Photos ascend already, so one counting sort by tag is sufficient.
static int put_edges(struct clone *clone) {
  size_t tags = clone->peer->highest[TAG] + 1, start = 0;
  size_t *starts = calloc(tags, sizeof *starts);
  uint64_t *photos = malloc((clone->edge_count + 1) * sizeof *photos);
  if (starts && photos) {
    for (size_t index = 0; index < clone->edge_count; index++) starts[clone->edges[index].tag]++;
    for (size_t tag = 0; tag < tags; tag++) {
      start += starts[tag];
      starts[tag] = start - starts[tag];
    }
    for (size_t index = 0; index < clone->edge_count; index++)
      photos[starts[clone->edges[index].tag]++] = clone->edges[index].photo;
    // Each start is now the end of its tag.
    start = 0;
    for (size_t tag = 0; tag < tags; tag++)
      for (; start < starts[tag]; start++) put_edge(clone->peer, clone->batch, TAG_PHOTO, tag, photos[start]);
  }
  int code = starts && photos ? 0 : rocks_fail("no memory to sort links");
  free(starts);
  free(photos);
  return code;
}

static int clone_image(struct clone *clone, uint64_t id, uint64_t new_id, const char *value, size_t length) {
  (void)id;
  put(clone->peer, clone->batch, IMAGE, new_id, value, length);
  clone->result->images++;
  return 0;
}

static int clone_node(struct clone *clone, uint64_t id, uint64_t new_id, const char *value, size_t length) {
  (void)id;
  struct node_record record;
  if (length != sizeof record) return rocks_fail("a node is damaged");
  memcpy(&record, value, sizeof record);
  record.next = record.next ? clone_of(&clone->nodes, record.next) : 0;
  record.previous = record.previous ? clone_of(&clone->nodes, record.previous) : 0;
  put(clone->peer, clone->batch, NODE, new_id, &record, sizeof record);
  return 0;
}

static int write_batch(struct clone *clone) {
  double start = rocks_seconds();
  size_t size;
  rocksdb_writebatch_data(clone->batch, &size);
  clone->result->bytes = size;
  rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(options, 1);
  char *error = NULL;
  rocksdb_write(clone->peer->db, options, clone->batch, &error);
  rocksdb_writeoptions_destroy(options);
  clone->result->write_seconds = rocks_seconds() - start;
  return rocks_error(error, "write");
}

static int run_library(struct clone *clone, uint64_t library) {
  rocks_peer *peer = clone->peer;
  char *error = NULL;
  size_t length;
  uint64_t key = big64(library);
  TRY(make_set(&clone->albums, peer->highest[ALBUM]));
  TRY(make_set(&clone->photos, peer->highest[PHOTO]));
  char *record = rocksdb_get_cf(peer->db, clone->reading, peer->families[LIBRARY], (char *)&key, 8, &length, &error);
  TRY(rocks_error(error, "get"));
  if (!record) return rocks_fail("there is no such library");
  clone->result->root = peer->highest[LIBRARY] + 1;
  put(peer, clone->batch, LIBRARY, clone->result->root, record, length);
  rocksdb_free(record);
  TRY(mark_library(clone, library));
  TRY(stream(clone, ALBUM, &clone->albums, clone_album));
  TRY(stream(clone, PHOTO, &clone->photos, clone_photo));
  TRY(put_edges(clone));
  TRY(stream(clone, IMAGE, &clone->photos, clone_image));
  clone->result->objects = 1 + clone->albums.count + clone->photos.count;
  put_highest(peer, clone->batch, LIBRARY, clone->result->root);
  if (clone->albums.count) put_highest(peer, clone->batch, ALBUM, peer->highest[ALBUM] + clone->albums.count);
  if (clone->photos.count) put_highest(peer, clone->batch, PHOTO, peer->highest[PHOTO] + clone->photos.count);
  return write_batch(clone);
}

// Marks nodes from the first one on, in the order of the links.
static int mark_chain(struct clone *clone, uint64_t first) {
  rocksdb_iterator_t *iterator = iterate(clone, NODE);
  int code = 0, is_new;
  for (uint64_t id = first; id && !code;) {
    if ((is_new = insert(&clone->nodes, id)) != 1) {
      code = is_new;
      break;
    }
    size_t length;
    move_to(iterator, id);
    struct node_record record;
    if (!rocksdb_iter_valid(iterator) || load_big(rocksdb_iter_key(iterator, &length)) != id) {
      code = rocks_fail("a node is missing");
    } else {
      const char *value = rocksdb_iter_value(iterator, &length);
      if (length != sizeof record) code = rocks_fail("a node is damaged");
      else memcpy(&record, value, sizeof record);
    }
    if (!code) id = record.next;
  }
  TRY(finish(iterator, code));
  rank(&clone->nodes);
  return 0;
}

static int run_chain(struct clone *clone, uint64_t first) {
  rocks_peer *peer = clone->peer;
  TRY(make_set(&clone->nodes, peer->highest[NODE]));
  TRY(mark_chain(clone, first));
  TRY(stream(clone, NODE, &clone->nodes, clone_node));
  clone->result->objects = clone->nodes.count;
  clone->result->root = clone_of(&clone->nodes, first);
  put_highest(peer, clone->batch, NODE, peer->highest[NODE] + clone->nodes.count);
  return write_batch(clone);
}

static int run(rocks_peer *peer, uint64_t root, unsigned flags, rocks_peer_result *result,
               int (*body)(struct clone *, uint64_t)) {
  double start = rocks_seconds();
  *result = (rocks_peer_result){0};
  struct clone clone = {.peer = peer, .result = result, .flags = flags};
  uint64_t highest[FAMILIES];
  memcpy(highest, peer->highest, sizeof highest);
  clone.batch = rocksdb_writebatch_create();
  clone.snapshot = rocksdb_create_snapshot(peer->db);
  clone.reading = rocksdb_readoptions_create();
  rocksdb_readoptions_set_snapshot(clone.reading, clone.snapshot);
  // Scans read everything once: with read-ahead, in the order of all keys, and without filling the cache.
  rocksdb_readoptions_set_total_order_seek(clone.reading, 1);
  rocksdb_readoptions_set_readahead_size(clone.reading, 2 << 20);
  rocksdb_readoptions_set_fill_cache(clone.reading, 0);
  rocksdb_readoptions_set_verify_checksums(clone.reading, 1);
  for (int index = 0; index < 4; index++) clone.random[index] = (uint64_t)(start * 1e9) * (2 * (uint64_t)index + 1) + 1;
  int code = body(&clone, root);
  // A failed clone does not use up ids.
  if (code) memcpy(peer->highest, highest, sizeof highest);
  rocksdb_readoptions_destroy(clone.reading);
  rocksdb_release_snapshot(peer->db, clone.snapshot);
  rocksdb_writebatch_destroy(clone.batch);
  free(clone.albums.words);
  free(clone.photos.words);
  free(clone.nodes.words);
  free(clone.edges);
  result->seconds = rocks_seconds() - start;
  return code;
}

int rocks_peer_clone_library(rocks_peer *peer, uint64_t library, unsigned flags, rocks_peer_result *result) {
  return run(peer, library, flags, result, run_library);
}

int rocks_peer_clone_chain(rocks_peer *peer, uint64_t first, rocks_peer_result *result) {
  return run(peer, first, 0, result, run_chain);
}
