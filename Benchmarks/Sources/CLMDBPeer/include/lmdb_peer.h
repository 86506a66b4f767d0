#ifndef KVCLONE_LMDB_PEER_H
#define KVCLONE_LMDB_PEER_H
#include <stdint.h>

// A deep clone written by hand in C for one model: directly on LMDB, on the file format of KVClone
// (Sources/KVCloneRecords/Format.md). The library's clone is compared with it. It leaves a store without issues in
// `kvclone check`.
//
// Models, identified by the names of their entities and relationships (any attributes are copied):
//   Library.albums <->> Album.library, Album.photos <->> Photo.album, Photo.tags <<->> Tag.photos (unordered); a clone
//   of a library copies its albums and their photos, and shares the tags.
//   Node.next <-> Node.previous; a clone of a node copies the whole chain.
// The process must not open the store elsewhere: LMDB allows one environment per file and process.

typedef struct lmdb_peer lmdb_peer;

typedef enum lmdb_peer_mode {
  // Every source value is verified, and every new one gets its checksum.
  LMDB_PEER_CHECKSUMS = 0,
  // Without checksums: sources are not verified, and the checksums of new values are 0. The store is invalid
  // afterwards.
  LMDB_PEER_NO_CHECKSUMS = 1,
  // The lower bound: the records and link chunks of all cloned entities are scanned and appended unchanged under new
  // ids, without marking, patching or publishing. The store is invalid afterwards.
  LMDB_PEER_FLOOR = 2
} lmdb_peer_mode;

enum {
  // Images are copied instead of shared.
  LMDB_PEER_COPY_BLOBS = 1,
  // The `id` of each cloned Photo is a random UUID instead of the source's.
  LMDB_PEER_REBUILD_UUID = 2
};

typedef struct lmdb_peer_result {
  // The time from the call to the durable return, by the monotonic clock; and its parts.
  double seconds, mark_seconds, stream_seconds, publish_seconds, commit_seconds;
  // Cloned objects; links added to shared objects; blobs shared or copied.
  uint64_t objects, links, blobs;
  // Bytes of the written records, chunks and blobs.
  uint64_t bytes;
  // The id of the root's clone; 0 for the floor.
  uint64_t root;
} lmdb_peer_result;

// Opens the store in the directory and reads its layouts. Not part of a clone's time. Returns 0, or an error number
// (errno's or LMDB's, or -1) with a description in `lmdb_peer_message`.
int lmdb_peer_open(const char *store, lmdb_peer **peer);

// Clones `root` (an object id as the library prints it: root code << 48 | serial) in one durable write transaction.
int lmdb_peer_clone(
  lmdb_peer *peer, uint64_t root, lmdb_peer_mode mode, unsigned flags, lmdb_peer_result *result);

void lmdb_peer_close(lmdb_peer *peer);

// The message of this thread's last failed call.
const char *lmdb_peer_message(void);
#endif
