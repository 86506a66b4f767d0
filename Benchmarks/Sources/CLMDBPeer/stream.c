#include "peer.h"

// Copies the marked records in the order of their table: reads them in the map with a cursor of a read transaction, and
// writes them into space reserved by LMDB at the end of the same table. A clone's record is as long as its source's,
// because every link leads to a clone or to a shared object.

// A list or a blob that is copied after its owner's record is sealed, because another write may move or spill the page
// of the record.
struct chunked { struct step *step; uint64_t count; };
struct blob { uint64_t from, to; };

// The lists and blobs to copy after a record.
struct rest {
  struct chunked lists[MOST_STEPS];
  struct blob blobs[MOST_BLOB_FIELDS];
  unsigned list_count, blob_count;
};

static uint64_t next_random(uint64_t state[4]) {  // xoshiro256**, https://prng.di.unimi.it
  uint64_t result = xxh_rotate(state[1] * 5, 7) * 9, shifted = state[1] << 17;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= shifted;
  state[3] = xxh_rotate(state[3], 45);
  return result;
}

static void store_uuid(lmdb_peer *peer, uint8_t *at) {
  store64(at, next_random(peer->random));
  store64(at + 8, next_random(peer->random));
  at[6] = (at[6] & 0x0f) | 0x40;
  at[8] = (at[8] & 0x3f) | 0x80;
}

// Determines the target of a clone's link: the target's clone, or the shared target, for which the inverse link is
// queued.
static inline int target_of(lmdb_peer *peer, struct step *step, uint64_t target, uint64_t clone, uint64_t *result) {
  if (!holds(step->target, target)) return fail(-1, "an id leads out of %s", step->target->name);
  uint64_t found = step->target->count ? clone_of(step->target, target) : 0;
  *result = found ? found : target;
  if (found) return 0;
  if (step->follow || !step->links) return fail(-1, "an object of %s was not marked", step->target->name);
  step->links[step->link_count++] = (struct link){(uint32_t)serial_of(target), (uint32_t)serial_of(clone)};
  peer->result->links++;
  return 0;
}

// Writes the clone's chunks of one list. Ranks preserve the order, so each source chunk becomes one chunk.
static int copy_list(lmdb_peer *peer, struct chunked *list, uint64_t owner, uint64_t clone) {
  struct step *step = list->step;
  uint8_t start[LINK_KEY], to[LINK_KEY];
  link_key(start, owner, step->code, 0);
  MDB_val key = {LINK_KEY, start}, value;
  int code = mdb_cursor_get(peer->read_links, &key, &value, MDB_SET_RANGE);
  uint64_t found = 0, shared = 0;
  while (code == 0 && same_list(&key, start)) {
    unsigned count = verify_chunk(peer, &key, &value);
    if (!count) return fail(-1, "a chunk of %s is damaged", step->name);
    uint64_t ids[CHUNK_CAPACITY];
    for (unsigned index = 0; index < count; index++)
      TRY(target_of(peer, step, load64((uint8_t *)value.mv_data + CHUNK_HEADER + 8 * index), clone, &ids[index]));
    for (unsigned index = 0; index < count; index++) shared += serial_of(ids[index]) < step->target->next;
    link_key(to, clone, step->code, ids[0]);
    MDB_val new_key = {LINK_KEY, to}, room = {value.mv_size, NULL};
    LMDB(mdb_cursor_put(peer->write_links, &new_key, &room, MDB_RESERVE));
    uint8_t *chunk = room.mv_data;
    store16(chunk + 8, (uint16_t)count);
    store16(chunk + 10, 0);
    memcpy(chunk + CHUNK_HEADER, ids, 8 * count);
    seal_chunk(peer, chunk, value.mv_size, to);
    peer->result->bytes += value.mv_size;
    found += count;
    if (step->links && step->link_count > MOST_LINKS - CHUNK_CAPACITY) TRY(publish_links(peer, step));
    code = mdb_cursor_get(peer->read_links, &key, &value, MDB_NEXT);
  }
  if (code && code != MDB_NOTFOUND) LMDB(code);
  if (shared && shared != found)
    return fail(-1, "a list of %s has cloned and shared members; this peer does not sort them", step->name);
  return found == list->count ? 0 : fail(-1, "a list of %s has another length than its head says", step->name);
}

// Replaces the source's links in a record with the clone's links.
static inline int patch_links(lmdb_peer *peer, struct entity *entity, uint8_t *record, uint64_t clone,
                              struct rest *rest) {
  uint8_t *inline_ids = record + entity->inline_ids;
  for (unsigned number = 0; number < entity->step_count; number++) {
    struct step *step = &entity->steps[number];
    uint8_t *slot = record + step->slot;
    uint64_t word = load64(slot), target;
    if (!step->many) {
      if (!word) continue;
      TRY(target_of(peer, step, word, clone, &target));
      store64(slot, target);
    } else if (word & HEAD_CHUNKED) {
      rest->lists[rest->list_count++] = (struct chunked){step, word & HEAD_COUNT};
    } else {
      uint64_t shared = 0, count = word & HEAD_COUNT;
      for (uint64_t index = 0; index < count; index++, inline_ids += 8) {
        uint64_t id = load64(inline_ids);
        TRY(target_of(peer, step, id, clone, &target));
        shared += target == id;
        store64(inline_ids, target);
      }
      if (shared && shared != count)
        return fail(-1, "a list of %s has cloned and shared members; this peer does not sort them", step->name);
    }
  }
  return 0;
}

// Records the blobs of a record, and assigns serials to copied ones.
static inline int patch_blobs(lmdb_peer *peer, struct entity *entity, uint8_t *record, size_t length, uint8_t *variable,
                              struct rest *rest) {
  uint32_t start = 0;
  for (unsigned index = 0; index < entity->end_count; index++) {
    uint32_t word = load32(record + entity->ends + 4 * index), end = word & ~END_BLOB;
    if (word & END_BLOB) {
      if (end > length || rest->blob_count == MOST_BLOB_FIELDS || end - start != BLOB_REFERENCE)
        return fail(-1, "a blob reference of %s is damaged", entity->name);
      uint64_t from = load64(variable + start), to = 0;
      if (peer->flags & LMDB_PEER_COPY_BLOBS) store64(variable + start, to = peer->next_blob++);
      rest->blobs[rest->blob_count++] = (struct blob){from, to};
    }
    start = end;
  }
  return 0;
}

static inline int copy_record(lmdb_peer *peer, struct entity *entity, uint64_t id, const MDB_val *value) {
  TRY(verify_record(peer, entity, id, value));
  struct rest rest;
  rest.list_count = rest.blob_count = 0;
  uint64_t clone = clone_of(entity, id), big = big64(clone);
  MDB_val key = {8, &big}, room = {value->mv_size, NULL};
  LMDB(mdb_cursor_put(entity->writer, &key, &room, MDB_APPEND | MDB_RESERVE));
  uint8_t *record = room.mv_data;
  memcpy(record, value->mv_data, value->mv_size);
  store64(record + RECORD_COMMIT, peer->commit);
  if (entity->uuid_slot && peer->flags & LMDB_PEER_REBUILD_UUID) store_uuid(peer, record + entity->uuid_slot);
  TRY(patch_links(peer, entity, record, clone, &rest));
  if (entity->end_count) {
    uint8_t *variable = record + entity->inline_ids;
    for (unsigned list = 0; list < entity->head_count; list++) {
      uint64_t head = load64(record + entity->heads + 8 * list);
      if (!(head & HEAD_CHUNKED)) variable += 8 * (head & HEAD_COUNT);
    }
    TRY(patch_blobs(peer, entity, record, value->mv_size, variable, &rest));
  }
  seal(peer, record, value->mv_size, seed_of(clone, object_table(entity)));
  peer->result->bytes += value->mv_size;
  for (unsigned index = 0; index < rest.list_count; index++) TRY(copy_list(peer, &rest.lists[index], id, clone));
  for (unsigned index = 0; index < rest.blob_count; index++) {
    struct blob *blob = &rest.blobs[index];
    TRY(blob->to ? copy_blob(peer, blob->from, blob->to) : share_blob(peer, blob->from));
  }
  for (unsigned number = 0; number < entity->step_count; number++) {
    struct step *step = &entity->steps[number];
    if (step->link_count > MOST_LINKS - INLINE_LIMIT) TRY(publish_links(peer, step));
  }
  return 0;
}

// The first marked serial from `serial` on; `next` if none is marked.
static inline uint64_t next_marked(const struct entity *entity, uint64_t serial) {
  if (serial >= entity->next) return entity->next;
  uint64_t index = serial >> 6, bits = entity->words[index].bits & ~UINT64_C(0) << (serial & 63);
  while (!bits) {
    if (++index > entity->next / 64) return entity->next;
    bits = entity->words[index].bits;
  }
  return index << 6 | (uint64_t)__builtin_ctzll(bits);
}

static int stream_entity(lmdb_peer *peer, struct entity *entity) {
  uint64_t wanted = next_marked(entity, 0), big;
  MDB_val key, value;
  bool is_near = false;
  while (wanted < entity->next) {
    uint64_t id = id_of(entity, wanted);
    int code = 0;
    // Steps over a short gap, and seeks over a longer one.
    for (int skipped = 0; is_near && skipped < 64; skipped++) {
      code = mdb_cursor_get(entity->reader, &key, &value, MDB_NEXT);
      if (code || key.mv_size != 8 || big64(load64(key.mv_data)) >= id) break;
    }
    if (code && code != MDB_NOTFOUND) LMDB(code);
    if (code || !is_near || big64(load64(key.mv_data)) != id) {
      big = big64(id);
      key = (MDB_val){8, &big};
      LMDB(mdb_cursor_get(entity->reader, &key, &value, MDB_SET));
    }
    is_near = true;
    TRY(copy_record(peer, entity, id, &value));
    wanted = next_marked(entity, wanted + 1);
  }
  peer->result->objects += entity->count;
  return 0;
}

int stream(lmdb_peer *peer) {
  for (unsigned index = 0; index < peer->entity_count; index++)
    if (peer->entities[index].count) TRY(stream_entity(peer, &peer->entities[index]));
  return 0;
}
