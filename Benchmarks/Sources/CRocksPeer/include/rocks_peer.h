#ifndef KVCLONE_ROCKS_PEER_H
#define KVCLONE_ROCKS_PEER_H
#include <stddef.h>
#include <stdint.h>

// The same graph and clone on RocksDB, with a layout and tuning according to its documentation. Ids are chosen by the
// caller, from 1 for each entity, and must be loaded in ascending order. Functions return 0, or -1 with a description
// in `rocks_peer_message`.

typedef struct rocks_peer rocks_peer;

typedef struct rocks_peer_photo {
  uint64_t id, album;
  const char *title;
  size_t title_length;
  double taken, rating;
  int64_t width;
  uint8_t uuid[16];
  // NULL and 0 without an image.
  const uint8_t *image;
  size_t image_length;
  const uint64_t *tags;
  size_t tag_count;
} rocks_peer_photo;

// A node of a chain; the id 0 means no neighbour.
typedef struct rocks_peer_node {
  uint64_t id, next, previous;
  int64_t number;
} rocks_peer_node;

enum {
  // The clones have random UUIDs instead of the source's.
  ROCKS_PEER_REBUILD_UUID = 1
};

typedef struct rocks_peer_result {
  // The time from the call to the durable return, by the monotonic clock; and its last part, the durable write.
  double seconds, write_seconds;
  uint64_t objects, links, images;
  // Bytes of keys and values in the write batch.
  uint64_t bytes;
  // The id of the root's clone.
  uint64_t root;
} rocks_peer_result;

// Opens the database in the directory, or creates it.
int rocks_peer_open(const char *directory, rocks_peer **peer);

// Loads objects in batches without a sync; `rocks_peer_settle` completes the load: it flushes, compacts and syncs
// everything.
int rocks_peer_put_library(rocks_peer *peer, uint64_t id, const char *name, size_t length);
int rocks_peer_put_album(rocks_peer *peer, uint64_t id, uint64_t library, const char *title, size_t length);
int rocks_peer_put_tag(rocks_peer *peer, uint64_t id, const char *name, size_t length);
int rocks_peer_put_photo(rocks_peer *peer, const rocks_peer_photo *photo);
int rocks_peer_put_node(rocks_peer *peer, const rocks_peer_node *node);
int rocks_peer_settle(rocks_peer *peer);

// Clones a library with its albums and photos, sharing the tags and copying the images, or a whole chain from its first
// node, in one WriteBatch, written with a sync.
int rocks_peer_clone_library(rocks_peer *peer, uint64_t library, unsigned flags, rocks_peer_result *result);
int rocks_peer_clone_chain(rocks_peer *peer, uint64_t first, rocks_peer_result *result);

// Counts objects by a scan: libraries, albums, photos, tags, nodes, and entries of tags' lists.
int rocks_peer_count(rocks_peer *peer, uint64_t counts[6]);

void rocks_peer_close(rocks_peer *peer);

// The message of this thread's last failed call.
const char *rocks_peer_message(void);
#endif
