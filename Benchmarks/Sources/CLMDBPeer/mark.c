#include <stdlib.h>
#include "peer.h"

// Marks the objects to clone: breadth first without recursion, with one bit per object and 8 bytes per object in the
// queue.

static int push(struct queue *queue, uint64_t id) {
  if (queue->count == queue->room) {
    size_t room = queue->room ? 2 * queue->room : 1024;
    uint64_t *ids = realloc(queue->ids, room * sizeof *ids);
    if (!ids) return fail(12, "no memory for %zu waiting objects", room);
    queue->ids = ids;
    queue->room = room;
  }
  queue->ids[queue->count++] = id;
  return 0;
}

static inline int discover(lmdb_peer *peer, struct entity *entity, uint64_t id) {
  if (!holds(entity, id)) return fail(-1, "an id leads out of %s", entity->name);
  uint64_t serial = serial_of(id), bit = UINT64_C(1) << (serial & 63);
  struct word *word = &entity->words[serial >> 6];
  if (word->bits & bit) return 0;
  word->bits |= bit;
  // Objects without followed relationships need no visit, so most of a graph is never queued.
  return entity->follows ? push(&peer->discovered, id) : 0;
}

static int discover_chunks(lmdb_peer *peer, struct step *step, uint64_t owner, uint64_t count) {
  uint8_t start[LINK_KEY];
  link_key(start, owner, step->code, 0);
  MDB_val key = {LINK_KEY, start}, value;
  int code = mdb_cursor_get(peer->read_links, &key, &value, MDB_SET_RANGE);
  uint64_t found = 0;
  while (code == 0 && same_list(&key, start)) {
    unsigned ids = verify_chunk(peer, &key, &value);
    if (!ids) return fail(-1, "a chunk of %s is damaged", step->name);
    for (unsigned index = 0; index < ids; index++)
      TRY(discover(peer, step->target, load64((uint8_t *)value.mv_data + CHUNK_HEADER + 8 * index)));
    found += ids;
    code = mdb_cursor_get(peer->read_links, &key, &value, MDB_NEXT);
  }
  if (code && code != MDB_NOTFOUND) LMDB(code);
  return found == count ? 0 : fail(-1, "a list of %s has another length than its head says", step->name);
}

static int visit(lmdb_peer *peer, struct entity *entity, uint64_t id) {
  uint64_t big = big64(id);
  MDB_val key = {8, &big}, value;
  LMDB(mdb_cursor_get(entity->reader, &key, &value, MDB_SET));
  TRY(verify_record(peer, entity, id, &value));
  const uint8_t *record = value.mv_data, *inline_ids = record + entity->inline_ids;
  for (unsigned index = 0; index < entity->step_count; index++) {
    struct step *step = &entity->steps[index];
    uint64_t word = load64(record + step->slot);
    if (!step->many) {
      if (word && step->follow) TRY(discover(peer, step->target, word));
      continue;
    }
    uint64_t count = word & HEAD_COUNT;
    if (word & HEAD_CHUNKED) {
      if (step->follow) TRY(discover_chunks(peer, step, id, count));
      continue;
    }
    if (step->follow)
      for (uint64_t member = 0; member < count; member++)
        TRY(discover(peer, step->target, load64(inline_ids + 8 * member)));
    // Inline ids are in the order of the lists' slots, which is that of codes, as are the steps.
    inline_ids += 8 * count;
  }
  return 0;
}

int mark(lmdb_peer *peer, struct entity *entity, uint64_t root) {
  TRY(discover(peer, entity, root));
  while (peer->discovered.count) {
    struct queue level = peer->discovered;
    peer->discovered = peer->level;
    peer->discovered.count = 0;
    peer->level = level;
    for (size_t index = 0; index < level.count; index++) {
      struct entity *each = peer->entities;
      while (each->code != root_of(level.ids[index])) each++;
      TRY(visit(peer, each, level.ids[index]));
    }
  }
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *each = &peer->entities[index];
    each->count = 0;
    for (uint64_t word = 0; word <= each->next / 64; word++) {
      each->words[word].before = each->count;
      each->count += ones(each->words[word].bits);
    }
  }
  return 0;
}
