#include "rocks_peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "rocks.h"

// Opening, tuning, loading.

static _Thread_local char message[256];

const char *rocks_peer_message(void) { return message; }

int rocks_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return -1;
}

int rocks_error(char *text, const char *what) {
  if (!text) return 0;
  rocks_fail("%s: %s", what, text);
  rocksdb_free(text);
  return -1;
}

double rocks_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static const char *const names[FAMILIES] = {"default", "library", "album", "photo", "tag", "node",
                                            "library_album", "album_photo", "tag_photo", "image"};

static rocksdb_options_t *family_options(rocks_peer *peer, enum family family) {
  rocksdb_options_t *options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  // Two background threads, as many as small machines have cores; writing one batch uses one thread anyway.
  rocksdb_options_increase_parallelism(options, 2);
  // A clone fits the memtable or creates few files. (The vector memtable would insert faster, but sorts at the first
  // read and blocks lookups during it, so it is unsuitable for a database of objects.)
  rocksdb_options_set_write_buffer_size(options, 256 << 20);
  rocksdb_options_set_max_write_buffer_number(options, 3);
  rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
  // Background write-back of files and the log, so that the last sync is short.
  rocksdb_options_set_bytes_per_sync(options, 1 << 20);
  rocksdb_options_set_wal_bytes_per_sync(options, 1 << 20);
  // Debian's build has LZ4, which costs less than the reads that it saves.
  rocksdb_options_set_compression(options, rocksdb_lz4_compression);
  rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_cache(table, peer->cache);
  // 16 KiB blocks, as recommended for scans in RocksDB's tuning guide; checksums of blocks (CRC32c) are on by default.
  rocksdb_block_based_options_set_block_size(table, 16 << 10);
  rocksdb_block_based_options_set_format_version(table, 5);
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
  rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
  rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
  if (family == LIBRARY_ALBUM || family == ALBUM_PHOTO || family == TAG_PHOTO)
    rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(8));
  if (family == IMAGE) {
    // BlobDB: compactions move 16-byte references instead of images. Images are already compressed.
    rocksdb_options_set_enable_blob_files(options, 1);
    rocksdb_options_set_min_blob_size(options, 1024);
    rocksdb_options_set_blob_compression_type(options, rocksdb_no_compression);
    rocksdb_options_set_enable_blob_gc(options, 1);
  }
  return options;
}

int rocks_peer_open(const char *directory, rocks_peer **result) {
  rocks_peer *peer = calloc(1, sizeof *peer);
  if (!peer) return rocks_fail("no memory for a peer");
  peer->cache = rocksdb_cache_create_lru(256 << 20);
  rocksdb_options_t *options[FAMILIES];
  const rocksdb_options_t *each[FAMILIES];
  for (int family = 0; family < FAMILIES; family++) each[family] = options[family] = family_options(peer, family);
  char *error = NULL;
  peer->db = rocksdb_open_column_families(options[0], directory, FAMILIES, names, each, peer->families, &error);
  for (int family = 0; family < FAMILIES; family++) rocksdb_options_destroy(options[family]);
  int code = rocks_error(error, "open");
  rocksdb_readoptions_t *reading = rocksdb_readoptions_create();
  for (int family = 0; !code && family < FAMILIES; family++) {
    size_t length;
    uint64_t key = big64((uint64_t)family);
    char *value = rocksdb_get_cf(peer->db, reading, peer->families[META], (char *)&key, 8, &length, &error);
    code = rocks_error(error, "get");
    if (value && length == 8) peer->highest[family] = load_big(value);
    rocksdb_free(value);
  }
  rocksdb_readoptions_destroy(reading);
  if (code) {
    rocks_peer_close(peer);
    return code;
  }
  *result = peer;
  return 0;
}

void rocks_peer_close(rocks_peer *peer) {
  if (peer->loading) rocksdb_writebatch_destroy(peer->loading);
  for (int family = 0; peer->db && family < FAMILIES; family++)
    rocksdb_column_family_handle_destroy(peer->families[family]);
  if (peer->db) rocksdb_close(peer->db);
  rocksdb_cache_destroy(peer->cache);
  free(peer);
}

void put_highest(rocks_peer *peer, rocksdb_writebatch_t *batch, enum family family, uint64_t id) {
  uint64_t value = big64(id);
  put(peer, batch, META, family, &value, 8);
  peer->highest[family] = id;
}

// Writes the loaded batch without the log, because an incomplete load is discarded.
static int write_loading(rocks_peer *peer) {
  if (!peer->loading) return 0;
  char *error = NULL;
  rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
  rocksdb_writeoptions_disable_WAL(options, 1);
  rocksdb_write(peer->db, options, peer->loading, &error);
  rocksdb_writeoptions_destroy(options);
  rocksdb_writebatch_clear(peer->loading);
  return rocks_error(error, "write");
}

static rocksdb_writebatch_t *loading(rocks_peer *peer) {
  if (!peer->loading) peer->loading = rocksdb_writebatch_create();
  return peer->loading;
}

static int loaded(rocks_peer *peer, enum family family, uint64_t id) {
  if (id > peer->highest[family]) peer->highest[family] = id;
  return rocksdb_writebatch_count(peer->loading) < 10000 ? 0 : write_loading(peer);
}

int rocks_peer_put_library(rocks_peer *peer, uint64_t id, const char *name, size_t length) {
  put(peer, loading(peer), LIBRARY, id, name, length);
  return loaded(peer, LIBRARY, id);
}

// The record of an album: its library, and its title.
int rocks_peer_put_album(rocks_peer *peer, uint64_t id, uint64_t library, const char *title, size_t length) {
  char record[8 + 256];
  if (length > 256) return rocks_fail("a title has at most 256 bytes");
  memcpy(record, &library, 8);
  memcpy(record + 8, title, length);
  put(peer, loading(peer), ALBUM, id, record, 8 + length);
  put_edge(peer, peer->loading, LIBRARY_ALBUM, library, id);
  return loaded(peer, ALBUM, id);
}

int rocks_peer_put_tag(rocks_peer *peer, uint64_t id, const char *name, size_t length) {
  put(peer, loading(peer), TAG, id, name, length);
  return loaded(peer, TAG, id);
}

int rocks_peer_put_photo(rocks_peer *peer, const rocks_peer_photo *photo) {
  struct photo_head head = {
    .album = photo->album, .taken = photo->taken, .rating = photo->rating, .width = photo->width,
    .tag_count = (uint32_t)photo->tag_count, .has_image = photo->image != NULL};
  memcpy(head.uuid, photo->uuid, 16);
  char record[sizeof head + 8 * 256 + 256];
  if (photo->tag_count > 256 || photo->title_length > 256)
    return rocks_fail("a photo has too many tags or title bytes");
  memcpy(record, &head, sizeof head);
  memcpy(record + sizeof head, photo->tags, 8 * photo->tag_count);
  memcpy(record + sizeof head + 8 * photo->tag_count, photo->title, photo->title_length);
  rocksdb_writebatch_t *batch = loading(peer);
  put(peer, batch, PHOTO, photo->id, record, sizeof head + 8 * photo->tag_count + photo->title_length);
  put_edge(peer, batch, ALBUM_PHOTO, photo->album, photo->id);
  for (size_t index = 0; index < photo->tag_count; index++)
    put_edge(peer, batch, TAG_PHOTO, photo->tags[index], photo->id);
  if (photo->image) {
    put(peer, batch, IMAGE, photo->id, photo->image, photo->image_length);
    size_t size;
    rocksdb_writebatch_data(batch, &size);
    if (size > 4 << 20) TRY(write_loading(peer));
  }
  return loaded(peer, PHOTO, photo->id);
}

int rocks_peer_put_node(rocks_peer *peer, const rocks_peer_node *node) {
  struct node_record record = {node->next, node->previous, node->number};
  put(peer, loading(peer), NODE, node->id, &record, sizeof record);
  return loaded(peer, NODE, node->id);
}

int rocks_peer_settle(rocks_peer *peer) {
  for (int family = LIBRARY; family <= NODE; family++)
    if (peer->highest[family]) put_highest(peer, loading(peer), family, peer->highest[family]);
  TRY(write_loading(peer));
  rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
  rocksdb_flushoptions_set_wait(options, 1);
  char *error = NULL;
  for (int family = 0; family < FAMILIES && !error; family++) {
    rocksdb_flush_cf(peer->db, options, peer->families[family], &error);
    // Compacts everything, as background compaction does in an idle database.
    if (!error) rocksdb_compact_range_cf(peer->db, peer->families[family], NULL, 0, NULL, 0);
  }
  rocksdb_flushoptions_destroy(options);
  return rocks_error(error, "flush");
}

int rocks_peer_count(rocks_peer *peer, uint64_t counts[6]) {
  static const enum family counted[6] = {LIBRARY, ALBUM, PHOTO, TAG, NODE, TAG_PHOTO};
  char *error = NULL;
  for (int index = 0; index < 6 && !error; index++) {
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_iterator_t *iterator = rocksdb_create_iterator_cf(peer->db, options, peer->families[counted[index]]);
    counts[index] = 0;
    for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator))
      counts[index]++;
    rocksdb_iter_get_error(iterator, &error);
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(options);
  }
  return rocks_error(error, "scan");
}
