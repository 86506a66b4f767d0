#ifndef KVCLONE_ROCKS_PEER_H
#define KVCLONE_ROCKS_PEER_H
#include <stddef.h>
#include <stdint.h>

// The same graph and clone on RocksDB, laid out and tuned as a good user would. Ids are the caller's own numbers, from
// 1, each entity by itself; load them in ascending order. Functions return 0, or -1, which `rocks_peer_message`
// explains.

typedef struct rocks_peer rocks_peer;

typedef struct rocks_peer_photo {
  uint64_t id, album;
  const char *title;
  size_t title_length;
  double taken, rating;
  int64_t width;
  uint8_t uuid[16];
  // NULL and 0 for none.
  const uint8_t *image;
  size_t image_length;
  const uint64_t *tags;
  size_t tag_count;
} rocks_peer_photo;

// A node of a chain; 0 for no neighbour.
typedef struct rocks_peer_node {
  uint64_t id, next, previous;
  int64_t number;
} rocks_peer_node;

enum {
  // The clones' uuid is a random one instead of the source's.
  ROCKS_PEER_REBUILD_UUID = 1
};

typedef struct rocks_peer_result {
  // From the call to the durable return, by the monotonic clock; and the last part of it, the one durable write.
  double seconds, write_seconds;
  uint64_t objects, links, images;
  // Bytes of keys and values in the write batch.
  uint64_t bytes;
  // The id of the root's clone.
  uint64_t root;
} rocks_peer_result;

// Opens the database in the directory, or makes it.
int rocks_peer_open(const char *directory, rocks_peer **peer);

// Loading, batched without a sync; `rocks_peer_settle` ends it: everything is flushed, compacted and on the disk.
int rocks_peer_put_library(rocks_peer *peer, uint64_t id, const char *name, size_t length);
int rocks_peer_put_album(rocks_peer *peer, uint64_t id, uint64_t library, const char *title, size_t length);
int rocks_peer_put_tag(rocks_peer *peer, uint64_t id, const char *name, size_t length);
int rocks_peer_put_photo(rocks_peer *peer, const rocks_peer_photo *photo);
int rocks_peer_put_node(rocks_peer *peer, const rocks_peer_node *node);
int rocks_peer_settle(rocks_peer *peer);

// Clones a library with its albums and photos, sharing the tags and copying the images, or a whole chain from its first
// node: in one WriteBatch, written with a sync.
int rocks_peer_clone_library(rocks_peer *peer, uint64_t library, unsigned flags, rocks_peer_result *result);
int rocks_peer_clone_chain(rocks_peer *peer, uint64_t first, rocks_peer_result *result);

// How many objects of each kind there are, by a scan: libraries, albums, photos, tags, nodes, and entries of tags'
// lists.
int rocks_peer_count(rocks_peer *peer, uint64_t counts[6]);

void rocks_peer_close(rocks_peer *peer);

// What the last call of this thread that failed has to say.
const char *rocks_peer_message(void);
#endif
