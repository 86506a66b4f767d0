#include <stdlib.h>
#include "peer.h"

// Adds the clones to the inverse lists of shared objects, at the end, because clones have the highest ids. Each object
// and its last chunk are rewritten once, for any number of clones.

enum { DIGIT = 11, BUCKETS = 1 << DIGIT };

// Sorts by target and keeps the ascending order of clones: counting sort, one pass for each 11 bits of the serials.
static int sort_links(struct step *step) {
  if (!step->sorted && !(step->sorted = malloc(MOST_LINKS * sizeof *step->sorted)))
    return fail(12, "no memory to sort links");
  uint32_t most = 0;
  for (size_t index = 0; index < step->link_count; index++)
    if (step->links[index].target > most) most = step->links[index].target;
  for (int shift = 0; shift < 32 && most >> shift; shift += DIGIT) {
    static _Thread_local size_t starts[BUCKETS];
    memset(starts, 0, sizeof starts);
    for (size_t index = 0; index < step->link_count; index++)
      starts[step->links[index].target >> shift & (BUCKETS - 1)]++;
    size_t start = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      size_t count = starts[bucket];
      starts[bucket] = start;
      start += count;
    }
    for (size_t index = 0; index < step->link_count; index++) {
      struct link link = step->links[index];
      step->sorted[starts[link.target >> shift & (BUCKETS - 1)]++] = link;
    }
    struct link *links = step->links;
    step->links = step->sorted;
    step->sorted = links;
  }
  return 0;
}

// Writes a chunk of these ids under its first id.
static int put_chunk(lmdb_peer *peer, uint64_t owner, uint16_t code, const uint64_t *ids, unsigned count) {
  uint8_t key_bytes[LINK_KEY];
  link_key(key_bytes, owner, code, ids[0]);
  MDB_val key = {LINK_KEY, key_bytes}, room = {CHUNK_HEADER + 8 * count, NULL};
  LMDB(mdb_cursor_put(peer->write_links, &key, &room, MDB_RESERVE));
  uint8_t *chunk = room.mv_data;
  store16(chunk + 8, (uint16_t)count);
  store16(chunk + 10, 0);
  memcpy(chunk + CHUNK_HEADER, ids, 8 * count);
  seal_chunk(peer, chunk, CHUNK_HEADER + 8 * count, key_bytes);
  peer->result->bytes += CHUNK_HEADER + 8 * count;
  return 0;
}

// Reads the ids of the list's last chunk.
static int last_chunk(lmdb_peer *peer, uint64_t owner, uint16_t code, uint64_t *ids, unsigned *count) {
  uint8_t end[LINK_KEY];
  link_key(end, owner, code, UINT64_MAX);
  MDB_val key = {LINK_KEY, end}, value;
  int found = mdb_cursor_get(peer->write_links, &key, &value, MDB_SET_RANGE);
  if (found && found != MDB_NOTFOUND) LMDB(found);
  LMDB(mdb_cursor_get(peer->write_links, &key, &value, found ? MDB_LAST : MDB_PREV));
  if (!same_list(&key, end) || !(*count = verify_chunk(peer, &key, &value)))
    return fail(-1, "the last chunk of a list is damaged or missing");
  memcpy(ids, (uint8_t *)value.mv_data + CHUNK_HEADER, 8 * *count);
  return 0;
}

// Puts the record of a shared object with a changed list: its head, and its ids if they are inline.
static int put_record(lmdb_peer *peer, struct entity *entity, uint64_t id, const uint8_t *record, size_t length,
                      struct step *list, uint64_t head, const uint64_t *ids, unsigned id_count) {
  size_t before = entity->inline_ids, old = 0;
  for (unsigned index = 0; index < entity->head_count; index++) {
    unsigned slot = entity->heads + 8 * index;
    uint64_t word = load64(record + slot), bytes = word & HEAD_CHUNKED ? 0 : 8 * (word & HEAD_COUNT);
    if (slot < list->slot) before += bytes;
    if (slot == list->slot) old = bytes;
  }
  size_t new_length = length - old + 8 * id_count;
  uint64_t big = big64(id);
  MDB_val key = {8, &big}, room = {new_length, NULL};
  // The old bytes are on the page that the reservation changes.
  uint8_t kept[length];
  memcpy(kept, record, length);
  LMDB(mdb_cursor_put(entity->writer, &key, &room, MDB_RESERVE));
  uint8_t *to = room.mv_data;
  memcpy(to, kept, before);
  if (id_count) memcpy(to + before, ids, 8 * id_count);
  memcpy(to + before + 8 * id_count, kept + before + old, length - before - old);
  store64(to + RECORD_COMMIT, peer->commit);
  store32(to + RECORD_LENGTH, (uint32_t)new_length);
  store64(to + list->slot, head);
  seal(peer, to, new_length, seed_of(id, object_table(entity)));
  peer->result->bytes += new_length;
  return 0;
}

// Adds clones with the root code `clones` to the list of a shared object.
static int add_clones(lmdb_peer *peer, struct step *step, const struct link *links, size_t count, uint16_t clones) {
  struct entity *entity = step->target;
  struct step *list = step->inverse;
  uint64_t id = id_of(entity, links->target), big = big64(id), base = (uint64_t)clones << 48;
  MDB_val key = {8, &big}, value;
  LMDB(mdb_cursor_get(entity->writer, &key, &value, MDB_SET));
  TRY(verify_record(peer, entity, id, &value));
  const uint8_t *record = value.mv_data;
  if (value.mv_size > 4096) return fail(-1, "%s/%u is larger than this peer knows", entity->name, links->target);
  uint64_t head = load64(record + list->slot), total = (head & HEAD_COUNT) + count, ids[CHUNK_CAPACITY];
  unsigned filled = 0;
  if (head & HEAD_CHUNKED) {
    // The record first: the cursor is positioned at it, and the chunks need the cursor of another table.
    TRY(put_record(peer, entity, id, record, value.mv_size, list, total | HEAD_CHUNKED, NULL, 0));
    TRY(last_chunk(peer, id, list->code, ids, &filled));
  } else {
    const uint8_t *inline_ids = record + entity->inline_ids;
    for (unsigned slot = entity->heads; slot < list->slot; slot += 8) {
      uint64_t word = load64(record + slot);
      if (!(word & HEAD_CHUNKED)) inline_ids += 8 * (word & HEAD_COUNT);
    }
    filled = (unsigned)(head & HEAD_COUNT);
    if (filled > INLINE_LIMIT) return fail(-1, "a list of %s is too long for its record", entity->name);
    memcpy(ids, inline_ids, 8 * filled);
    if (total <= INLINE_LIMIT) {
      for (size_t index = 0; index < count; index++) ids[filled++] = base | links[index].clone;
      return put_record(peer, entity, id, record, value.mv_size, list, total, ids, filled);
    }
    TRY(put_record(peer, entity, id, record, value.mv_size, list, total | HEAD_CHUNKED, NULL, 0));
  }
  if (filled == CHUNK_CAPACITY) filled = 0;
  for (size_t index = 0; index < count;) {
    while (filled < CHUNK_CAPACITY && index < count) ids[filled++] = base | links[index++].clone;
    TRY(put_chunk(peer, id, list->code, ids, filled));
    filled = 0;
  }
  return 0;
}

int publish_links(lmdb_peer *peer, struct step *step) {
  if (!step->link_count) return 0;
  TRY(sort_links(step));
  // The clones belong to the destination entity of the target's list.
  uint16_t clones = step->inverse->target->code;
  for (size_t start = 0, end; start < step->link_count; start = end) {
    for (end = start + 1; end < step->link_count && step->links[end].target == step->links[start].target;) end++;
    TRY(add_clones(peer, step, step->links + start, end - start, clones));
  }
  step->link_count = 0;
  return 0;
}
