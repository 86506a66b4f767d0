#ifndef KVCLONE_LMDB_PEER_H
#define KVCLONE_LMDB_PEER_H
#include <stdint.h>

// A deep clone as a C programmer would write it by hand for one model: directly on LMDB, on the file format of KVClone
// (Sources/KVCloneRecords/Format.md). It is what the library's clone is measured against, and it leaves a store that
// `kvclone check` finds sound.
//
// Models, known by the names of their entities and relationships (attributes may be any, and are copied):
//   Library.albums <->> Album.library, Album.photos <->> Photo.album, Photo.tags <<->> Tag.photos (unordered); a clone
//   of a library copies its albums and their photos, and shares the tags.
//   Node.next <-> Node.previous; a clone of a node copies the whole chain.
// A process must not have the store open otherwise: LMDB allows one environment a file and process.

typedef struct lmdb_peer lmdb_peer;

typedef enum lmdb_peer_mode {
  // Every source value is verified, every new one gets its checksum.
  LMDB_PEER_CHECKSUMS = 0,
  // The same without: sources are not verified, and the checksums of new values are 0. The store is no use afterwards.
  LMDB_PEER_NO_CHECKSUMS = 1,
  // The floor: the records and link chunks of all cloned entities are scanned and appended as they are under new ids.
  // Nothing is marked, patched or published. The store is no use afterwards.
  LMDB_PEER_FLOOR = 2
} lmdb_peer_mode;

enum {
  // Images are copied byte by byte instead of shared.
  LMDB_PEER_COPY_BLOBS = 1,
  // The clones' `id` (Photo) gets a random UUID instead of the source's.
  LMDB_PEER_REBUILD_UUID = 2
};

typedef struct lmdb_peer_result {
  // From the call to the durable return, by the monotonic clock; and the parts of it.
  double seconds, mark_seconds, stream_seconds, publish_seconds, commit_seconds;
  // Cloned objects; links that shared objects gained; blobs that were shared or copied.
  uint64_t objects, links, blobs;
  // Bytes of records, chunks and blobs that were written.
  uint64_t bytes;
  // The id of the root's clone; 0 for the floor.
  uint64_t root;
} lmdb_peer_result;

// Opens the store in the directory and reads its layouts. Not part of a clone's time.
// Returns 0, or an error number (errno's or LMDB's, or -1), which `lmdb_peer_message` explains.
int lmdb_peer_open(const char *store, lmdb_peer **peer);

// Clones `root` (an object id as the library prints it: root code << 48 | serial) in one durable write transaction.
int lmdb_peer_clone(
  lmdb_peer *peer, uint64_t root, lmdb_peer_mode mode, unsigned flags, lmdb_peer_result *result);

void lmdb_peer_close(lmdb_peer *peer);

// What the last call of this thread that failed has to say.
const char *lmdb_peer_message(void);
#endif
