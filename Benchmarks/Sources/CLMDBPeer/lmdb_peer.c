#include "lmdb_peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "peer.h"

// Opening and closing, and the common parts of a clone: transactions, cursors, counters.

static _Thread_local char message[256];

const char *lmdb_peer_message(void) { return message; }

int fail(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return code;
}

double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int open_with_map(lmdb_peer *peer, const char *store, size_t map_size) {
  LMDB(mdb_env_create(&peer->environment));
  LMDB(mdb_env_set_maxdbs(peer->environment, 64));
  LMDB(mdb_env_set_mapsize(peer->environment, map_size));
  int code = mdb_env_open(peer->environment, store, MDB_NOTLS, 0600);
  return code ? fail(code, "%s cannot be opened: %s", store, mdb_strerror(code)) : 0;
}

static int open_environment(lmdb_peer *peer, const char *store) {
  // The same size as in the library: it only reserves address space, in which the file grows. Sanitizers that emulate
  // the address space have less.
  size_t map_size = (size_t)1 << 40;
  int code;
  while ((code = open_with_map(peer, store, map_size)) == ENOMEM || code == EINVAL) {
    if (map_size <= (size_t)1 << 30) break;
    mdb_env_close(peer->environment);
    peer->environment = NULL;
    map_size /= 2;
  }
  TRY(code);
  MDB_txn *transaction;
  LMDB(mdb_txn_begin(peer->environment, NULL, MDB_RDONLY, &transaction));
  code = read_schema(peer, transaction);
  // The commit keeps the table handles.
  if (code) mdb_txn_abort(transaction);
  else LMDB(mdb_txn_commit(transaction));
  return code;
}

int lmdb_peer_open(const char *store, lmdb_peer **result) {
  lmdb_peer *peer = calloc(1, sizeof *peer);
  if (!peer) return fail(ENOMEM, "no memory for a peer");
  int code = open_environment(peer, store);
  if (code) {
    lmdb_peer_close(peer);
    return code;
  }
  *result = peer;
  return 0;
}

void lmdb_peer_close(lmdb_peer *peer) {
  if (peer->environment) mdb_env_close(peer->environment);
  free(peer);
}

// Reads the counters, and opens a cursor for each table that is read or written.
static int begin(lmdb_peer *peer) {
  LMDB(mdb_txn_begin(peer->environment, NULL, 0, &peer->writing));
  // Begun under the write lock, so that both transactions see the same state.
  LMDB(mdb_txn_begin(peer->environment, NULL, MDB_RDONLY, &peer->reading));
  TRY(read_counter(peer, peer->reading, "commit", 0, &peer->commit));
  TRY(read_counter(peer, peer->reading, "blob-serial", 1, &peer->next_blob));
  peer->commit++;
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *entity = &peer->entities[index];
    char name[16];
    snprintf(name, sizeof name, "serial-%04x", entity->code);
    TRY(read_counter(peer, peer->reading, name, 1, &entity->next));
    if (entity->next > UINT32_MAX) return fail(-1, "%s has more objects than this peer knows", entity->name);
    entity->count = 0;
    LMDB(mdb_cursor_open(peer->reading, entity->table, &entity->reader));
    LMDB(mdb_cursor_open(peer->writing, entity->table, &entity->writer));
  }
  LMDB(mdb_cursor_open(peer->reading, peer->links, &peer->read_links));
  LMDB(mdb_cursor_open(peer->reading, peer->blobs, &peer->read_blobs));
  LMDB(mdb_cursor_open(peer->reading, peer->blobinfo, &peer->read_blobinfo));
  LMDB(mdb_cursor_open(peer->writing, peer->links, &peer->write_links));
  LMDB(mdb_cursor_open(peer->writing, peer->blobs, &peer->write_blobs));
  LMDB(mdb_cursor_open(peer->writing, peer->blobinfo, &peer->write_blobinfo));
  return 0;
}

// Allocates bitmaps, and buffers for links to shared objects. Pages without writes use no memory.
static int allocate(lmdb_peer *peer) {
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *entity = &peer->entities[index];
    entity->words = calloc(entity->next / 64 + 1, sizeof *entity->words);
    if (!entity->words) return fail(ENOMEM, "no memory for the bitmap of %s", entity->name);
    for (unsigned number = 0; number < entity->step_count; number++) {
      struct step *step = &entity->steps[number];
      if (step->follow || !step->inverse || !step->inverse->many) continue;
      if (!(step->links = malloc(MOST_LINKS * sizeof *step->links))) return fail(ENOMEM, "no memory for links");
    }
  }
  peer->shared_blobs = malloc(MOST_BLOBS * sizeof *peer->shared_blobs);
  return peer->shared_blobs ? 0 : fail(ENOMEM, "no memory for blobs");
}

static int publish(lmdb_peer *peer) {
  for (unsigned index = 0; index < peer->entity_count; index++)
    for (unsigned number = 0; number < peer->entities[index].step_count; number++)
      TRY(publish_links(peer, &peer->entities[index].steps[number]));
  return publish_blobs(peer);
}

static int write_counters(lmdb_peer *peer) {
  TRY(write_counter(peer, "commit", peer->commit));
  if (peer->flags & LMDB_PEER_COPY_BLOBS) TRY(write_counter(peer, "blob-serial", peer->next_blob));
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *entity = &peer->entities[index];
    char name[16];
    snprintf(name, sizeof name, "serial-%04x", entity->code);
    if (entity->count) TRY(write_counter(peer, name, entity->next + entity->count));
  }
  return 0;
}

static int run(lmdb_peer *peer, uint64_t root, lmdb_peer_mode mode) {
  struct entity *entity = NULL;
  double start = now_seconds();
  for (unsigned index = 0; index < peer->entity_count; index++)
    if (peer->entities[index].code == root_of(root)) entity = &peer->entities[index];
  if (!entity) return fail(-1, "the root is of no entity that this peer knows");
  TRY(begin(peer));
  if (mode == LMDB_PEER_FLOOR) {
    TRY(copy_floor(peer, entity));
    peer->result->stream_seconds = now_seconds() - start;
  } else {
    TRY(allocate(peer));
    TRY(mark(peer, entity, root));
    double marked = now_seconds();
    peer->result->mark_seconds = marked - start;
    TRY(stream(peer));
    double streamed = now_seconds();
    peer->result->stream_seconds = streamed - marked;
    TRY(publish(peer));
    peer->result->publish_seconds = now_seconds() - streamed;
    peer->result->root = clone_of(entity, root);
  }
  TRY(write_counters(peer));
  double written = now_seconds();
  int code = mdb_txn_commit(peer->writing);
  peer->writing = NULL;
  LMDB(code);
  peer->result->commit_seconds = now_seconds() - written;
  return 0;
}

// Cursors of a read transaction must be closed separately, those of a write transaction are closed with it.
static void close_reader(MDB_cursor **cursor) {
  if (*cursor) mdb_cursor_close(*cursor);
  *cursor = NULL;
}

static void end(lmdb_peer *peer) {
  if (peer->writing) mdb_txn_abort(peer->writing);
  for (unsigned index = 0; index < peer->entity_count; index++) {
    struct entity *entity = &peer->entities[index];
    close_reader(&entity->reader);
    free(entity->words);
    entity->words = NULL;
    for (unsigned number = 0; number < entity->step_count; number++) {
      struct step *step = &entity->steps[number];
      free(step->links);
      free(step->sorted);
      step->links = step->sorted = NULL;
      step->link_count = 0;
    }
  }
  close_reader(&peer->read_links);
  close_reader(&peer->read_blobs);
  close_reader(&peer->read_blobinfo);
  if (peer->reading) mdb_txn_abort(peer->reading);
  free(peer->shared_blobs);
  free(peer->level.ids);
  free(peer->discovered.ids);
  peer->reading = peer->writing = NULL;
  peer->shared_blobs = NULL;
  peer->shared_count = 0;
  peer->level = peer->discovered = (struct queue){NULL, 0, 0};
}

int lmdb_peer_clone(lmdb_peer *peer, uint64_t root, lmdb_peer_mode mode, unsigned flags, lmdb_peer_result *result) {
  double start = now_seconds();
  *result = (lmdb_peer_result){0};
  peer->result = result;
  peer->checks = mode == LMDB_PEER_CHECKSUMS;
  peer->flags = flags;
  struct timespec seed;
  clock_gettime(CLOCK_REALTIME, &seed);
  for (int index = 0; index < 4; index++)
    peer->random[index] = xxh3(&seed, sizeof seed, (uint64_t)index);
  int code = run(peer, root, mode);
  end(peer);
  result->seconds = now_seconds() - start;
  return code;
}
