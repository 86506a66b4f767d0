#include "peer.h"

// The lower bound of the time of a clone: copies the bytes of the same records and link chunks with a cursor to other
// keys.

static int copy_records(lmdb_peer *peer, struct entity *entity) {
  MDB_val key, value;
  int code;
  while ((code = mdb_cursor_get(entity->reader, &key, &value, MDB_NEXT)) == 0) {
    uint64_t big = big64(id_of(entity, entity->next + entity->count++));
    key = (MDB_val){8, &big};
    LMDB(mdb_cursor_put(entity->writer, &key, &value, MDB_APPEND));
    peer->result->bytes += value.mv_size;
  }
  if (code != MDB_NOTFOUND) LMDB(code);
  peer->result->objects += entity->count;
  return 0;
}

// Keys of an entity's lists begin with its root code; the owners of the copies have the same distances as the
// originals.
static int copy_chunks(lmdb_peer *peer, struct entity *entity) {
  uint8_t bytes[LINK_KEY];
  link_key(bytes, id_of(entity, 0), 0, 0);
  MDB_val key = {LINK_KEY, bytes}, value;
  int code = mdb_cursor_get(peer->read_links, &key, &value, MDB_SET_RANGE);
  while (code == 0 && big64(load64(key.mv_data)) >> 48 == entity->code) {
    memcpy(bytes, key.mv_data, LINK_KEY);
    store64(bytes, big64(big64(load64(bytes)) + entity->next - 1));
    key = (MDB_val){LINK_KEY, bytes};
    LMDB(mdb_cursor_put(peer->write_links, &key, &value, 0));
    peer->result->bytes += value.mv_size;
    code = mdb_cursor_get(peer->read_links, &key, &value, MDB_NEXT);
  }
  if (code && code != MDB_NOTFOUND) LMDB(code);
  return 0;
}

int copy_floor(lmdb_peer *peer, struct entity *root) {
  // The entities in a clone of the root, through the followed relationships.
  bool wanted[MOST_ENTITIES] = {false}, grows = true;
  wanted[root - peer->entities] = true;
  while (grows) {
    grows = false;
    for (unsigned index = 0; index < peer->entity_count; index++) {
      struct entity *entity = &peer->entities[index];
      for (unsigned number = 0; wanted[index] && number < entity->step_count; number++) {
        bool *target = &wanted[entity->steps[number].target - peer->entities];
        if (entity->steps[number].follow && !*target) *target = grows = true;
      }
    }
  }
  for (unsigned index = 0; index < peer->entity_count; index++) {
    if (!wanted[index]) continue;
    TRY(copy_records(peer, &peer->entities[index]));
    TRY(copy_chunks(peer, &peer->entities[index]));
  }
  return 0;
}
