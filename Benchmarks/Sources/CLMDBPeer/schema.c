#include <stdio.h>
#include <stdlib.h>
#include "peer.h"

// The known models: names, and the rule for each relationship. Codes and offsets are read from the store.
struct rule { const char *entity, *name, *target, *inverse; bool many, follow; };

static const struct rule rules[] = {
  {"Library", "albums", "Album", "library", true, true},
  {"Album", "library", "Library", "albums", false, false},
  {"Album", "photos", "Photo", "album", true, true},
  {"Photo", "album", "Album", "photos", false, false},
  {"Photo", "tags", "Tag", "photos", true, false},
  {"Tag", "photos", "Photo", "tags", true, false},
  {"Node", "next", "Node", "previous", false, true},
  {"Node", "previous", "Node", "next", false, true},
};
enum { RULES = sizeof rules / sizeof *rules };
static const char *const entity_names[] = {"Library", "Album", "Photo", "Tag", "Node"};

// The slot sizes of fields by kind (Format.md, "Object record"; kinds count from 1).
static const uint8_t slot_bytes[KIND_LAST + 1] = {0, 1, 2, 4, 8, 4, 8, 8, 20, 16, 8, 8, 4, 4, 4, 4};

// Finds a stored value including its checksum.
static int find_metadata(lmdb_peer *peer, MDB_txn *transaction, const char *name, MDB_val *value) {
  MDB_val key = {strlen(name), (void *)name};
  int code = mdb_get(transaction, peer->metadata, &key, value);
  if (code == MDB_NOTFOUND) return code;
  LMDB(code);
  return 0;
}

static int get_metadata(lmdb_peer *peer, MDB_txn *transaction, const char *name, MDB_val *payload) {
  TRY(find_metadata(peer, transaction, name, payload));
  if (payload->mv_size < 8 ||
      xxh3((uint8_t *)payload->mv_data + 8, payload->mv_size - 8, xxh3(name, strlen(name), TABLE_METADATA)) !=
        load64(payload->mv_data))
    return fail(-1, "the checksum of %s is wrong", name);
  payload->mv_data = (uint8_t *)payload->mv_data + 8;
  payload->mv_size -= 8;
  return 0;
}

int read_counter(lmdb_peer *peer, MDB_txn *transaction, const char *name, uint64_t otherwise, uint64_t *value) {
  MDB_val payload;
  int code = get_metadata(peer, transaction, name, &payload);
  *value = otherwise;
  if (code == MDB_NOTFOUND) return 0;
  if (code) return code;
  if (payload.mv_size != 8) return fail(-1, "%s has the wrong length", name);
  *value = load64(payload.mv_data);
  return 0;
}

int write_counter(lmdb_peer *peer, const char *name, uint64_t value) {
  uint8_t bytes[16];
  store64(bytes + 8, value);
  seal(peer, bytes, 16, xxh3(name, strlen(name), TABLE_METADATA));
  MDB_val key = {strlen(name), (void *)name}, data = {16, bytes};
  LMDB(mdb_put(peer->writing, peer->metadata, &key, &data, 0));
  return 0;
}

// The text after `"name":` in the object that begins at `from`; NULL if it is missing. The document has plain keys and
// no braces in texts, so no parser is needed.
static const char *member(const char *from, const char *name) {
  char quoted[64];
  int length = snprintf(quoted, sizeof quoted, "\"%s\":", name);
  int depth = 0;
  for (const char *at = from; *at; at++) {
    if (*at == '{') depth++;
    if (*at == '}' && --depth == 0) return NULL;
    if (depth == 1 && strncmp(at, quoted, (size_t)length) == 0) return at + length;
  }
  return NULL;
}

// A number in `group` of the codes (entities, layouts), or of `entity` in it (properties); 0 if it is missing.
static uint16_t code_of(const char *codes, const char *group, const char *entity, const char *name) {
  const char *at = member(codes, group);
  if (at && entity) at = member(at, entity);
  if (at) at = member(at, name);
  return at ? (uint16_t)strtoul(at, NULL, 10) : 0;
}

// Finds the slots of an entity's fields in its stored layout, and verifies that its relationships are the known ones.
static int read_layout(lmdb_peer *peer, MDB_txn *transaction, struct entity *entity, uint16_t uuid_code) {
  char name[16];
  MDB_val layout;
  snprintf(name, sizeof name, "layout-%04x", entity->layout);
  int code = get_metadata(peer, transaction, name, &layout);
  if (code) return code == MDB_NOTFOUND ? fail(code, "there is no %s", name) : code;
  const uint8_t *bytes = layout.mv_data;
  unsigned count = layout.mv_size < 8 ? 0 : load16(bytes + 4);
  if (layout.mv_size != 8 + 4 * count || load16(bytes) != entity->layout || load16(bytes + 2) != entity->code)
    return fail(-1, "%s is not the layout of %s", name, entity->name);
  unsigned slot = RECORD_HEADER + (count + 7) / 8, found = 0;
  for (unsigned field = 0; field < count; field++) {
    uint16_t property = load16(bytes + 8 + 4 * field);
    uint8_t kind = bytes[8 + 4 * field + 2];
    if (!kind || kind > KIND_LAST) return fail(-1, "%s has a field of unknown kind %d", name, kind);
    if (kind == KIND_TO_MANY && !entity->head_count++) entity->heads = slot;
    if (kind >= KIND_FIRST_VARIABLE && kind <= KIND_LAST_VARIABLE && !entity->end_count++) entity->ends = slot;
    if (kind == KIND_UUID && property == uuid_code) entity->uuid_slot = slot;
    if (kind == KIND_TO_ONE || kind == KIND_TO_MANY) {
      struct step *step = NULL;
      for (unsigned index = 0; index < entity->step_count; index++)
        if (entity->steps[index].code == property) step = &entity->steps[index];
      if (!step || step->many != (kind == KIND_TO_MANY))
        return fail(-1, "%s has a relationship (code %d) that this peer does not know", entity->name, property);
      step->slot = slot;
      found++;
    }
    slot += slot_bytes[kind];
  }
  entity->inline_ids = slot;
  if (found != entity->step_count) return fail(-1, "%s misses relationships that this peer knows", entity->name);
  return 0;
}

static struct entity *entity_named(lmdb_peer *peer, const char *name) {
  for (unsigned index = 0; index < peer->entity_count; index++)
    if (strcmp(peer->entities[index].name, name) == 0) return &peer->entities[index];
  return NULL;
}

static int add_steps(lmdb_peer *peer, const char *codes, struct entity *entity) {
  for (unsigned index = 0; index < RULES; index++) {
    const struct rule *rule = &rules[index];
    if (strcmp(rule->entity, entity->name) != 0) continue;
    struct step *step = &entity->steps[entity->step_count++];
    step->name = rule->name;
    step->many = rule->many;
    step->follow = rule->follow;
    step->target = entity_named(peer, rule->target);
    step->code = code_of(codes, "properties", entity->name, rule->name);
    step->inverse_code = code_of(codes, "properties", rule->target, rule->inverse);
    if (!step->target || !step->code || !step->inverse_code)
      return fail(-1, "the store's model has no %s.%s", entity->name, rule->name);
    entity->follows |= step->follow;
  }
  return 0;
}

static int read_codes(lmdb_peer *peer, MDB_txn *transaction, const char *document) {
  const char *codes = member(document, "codes");
  if (!codes) return fail(-1, "the model's document has no codes");
  for (unsigned index = 0; index < sizeof entity_names / sizeof *entity_names; index++) {
    uint16_t code = code_of(codes, "entities", NULL, entity_names[index]);
    if (!code) continue;
    if (peer->entity_count == MOST_ENTITIES) return fail(-1, "the model has more entities than this peer knows");
    if (code_of(codes, "indexes", NULL, entity_names[index]))
      return fail(-1, "%s has a uniqueness constraint; this peer writes no index", entity_names[index]);
    struct entity *entity = &peer->entities[peer->entity_count++];
    entity->name = entity_names[index];
    entity->code = code;
    entity->layout = code_of(codes, "layouts", NULL, entity->name);
  }
  if (!peer->entity_count) return fail(-1, "the store has none of the entities that this peer knows");
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *entity = &peer->entities[index];
    TRY(add_steps(peer, codes, entity));
    TRY(read_layout(peer, transaction, entity, code_of(codes, "properties", entity->name, "id")));
    char table[16];
    snprintf(table, sizeof table, "objects-%04x", entity->code);
    LMDB(mdb_dbi_open(transaction, table, 0, &entity->table));
  }
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *entity = &peer->entities[index];
    for (unsigned number = 0; number < entity->step_count; number++) {
      struct step *step = &entity->steps[number];
      for (unsigned other = 0; other < step->target->step_count; other++)
        if (step->target->steps[other].code == step->inverse_code) step->inverse = &step->target->steps[other];
    }
  }
  return 0;
}

int read_schema(lmdb_peer *peer, MDB_txn *transaction) {
  LMDB(mdb_dbi_open(transaction, "metadata", 0, &peer->metadata));
  LMDB(mdb_dbi_open(transaction, "links", 0, &peer->links));
  LMDB(mdb_dbi_open(transaction, "blobs", 0, &peer->blobs));
  LMDB(mdb_dbi_open(transaction, "blobinfo", 0, &peer->blobinfo));
  MDB_val document;
  uint64_t catalog;
  // The checksum of this value is not verified, because it alone uses another hash.
  int code = find_metadata(peer, transaction, "format", &document);
  if (code) return code == MDB_NOTFOUND ? fail(code, "this is not a store of KVClone") : code;
  const uint8_t *format = document.mv_data;
  if (document.mv_size < 16 || load32(format + 8) < 3 || load32(format + 12) > 3)
    return fail(-1, "the store's format is another one");
  TRY(read_counter(peer, transaction, "catalog", 0, &catalog));
  char name[16];
  snprintf(name, sizeof name, "model-%04x", (unsigned)catalog);
  code = get_metadata(peer, transaction, name, &document);
  if (code) return code == MDB_NOTFOUND ? fail(code, "the store has no %s", name) : code;
  char *text = malloc(document.mv_size + 1);
  if (!text) return fail(12, "no memory for the model");
  memcpy(text, document.mv_data, document.mv_size);
  text[document.mv_size] = 0;
  code = read_codes(peer, transaction, text);
  free(text);
  return code;
}
