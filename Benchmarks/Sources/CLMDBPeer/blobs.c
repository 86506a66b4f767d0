#include <stdlib.h>
#include "peer.h"

// Shared blobs gain one reference each. Copied ones are read, verified and written chunk by chunk.

// A blob's metadata after the checksum: state u8, 0, stager u16, chunks u32, count u64, bytes u64, digest u64.
enum { INFO_STATE = 8, INFO_CHUNKS = 12, INFO_COUNT = 16 };

static int verify_info(lmdb_peer *peer, uint64_t serial, const MDB_val *value) {
  const uint8_t *info = value->mv_data;
  if (value->mv_size != BLOBINFO_LENGTH || info[INFO_STATE] != 0 ||
      (peer->checks && xxh3(info + 8, BLOBINFO_LENGTH - 8, seed_of(serial, TABLE_BLOBINFO)) != load64(info)))
    return fail(-1, "the description of a blob is damaged");
  return 0;
}

int share_blob(lmdb_peer *peer, uint64_t serial) {
  if (peer->shared_count == MOST_BLOBS) TRY(publish_blobs(peer));
  peer->shared_blobs[peer->shared_count++] = serial;
  peer->result->blobs++;
  return 0;
}

static int compare(const void *left, const void *right) {
  uint64_t a = load64(left), b = load64(right);
  return (a > b) - (a < b);
}

int publish_blobs(lmdb_peer *peer) {
  uint64_t *serials = peer->shared_blobs;
  size_t count = peer->shared_count;
  bool ascend = true;
  for (size_t index = 1; index < count; index++) ascend &= serials[index - 1] <= serials[index];
  // Serials usually ascend already, because blobs were stored in the order of their records.
  if (!ascend) qsort(serials, count, sizeof *serials, compare);
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && serials[end] == serials[start];) end++;
    uint64_t big = big64(serials[start]);
    MDB_val key = {8, &big}, value;
    LMDB(mdb_cursor_get(peer->write_blobinfo, &key, &value, MDB_SET));
    TRY(verify_info(peer, serials[start], &value));
    uint8_t info[BLOBINFO_LENGTH];
    memcpy(info, value.mv_data, sizeof info);
    store64(info + INFO_COUNT, load64(info + INFO_COUNT) + (end - start));
    seal(peer, info, sizeof info, seed_of(serials[start], TABLE_BLOBINFO));
    value = (MDB_val){sizeof info, info};
    LMDB(mdb_cursor_put(peer->write_blobinfo, &key, &value, MDB_CURRENT));
    peer->result->bytes += sizeof info;
  }
  peer->shared_count = 0;
  return 0;
}

// Copies bytes and hashes them with two seeds in one pass instead of three.
static void copy_hashed(
  uint8_t *restrict to, const uint8_t *restrict from, size_t count, const uint64_t seeds[2], uint64_t hashes[2]) {
  if (count <= XXH_MIDDLE) {
    memcpy(to, from, count);
    for (int each = 0; each < 2; each++) hashes[each] = xxh3(from, count, seeds[each]);
    return;
  }
  const uint8_t *last = from + count - XXH_STRIPE;
  uint8_t *end = to + count - XXH_STRIPE, first_secret[XXH_SECRET], second_secret[XXH_SECRET];
  xxh_lanes first, second, sums = {0}, input;
  xxh_begin(&first, first_secret, seeds[0]);
  xxh_begin(&second, second_secret, seeds[1]);
  for (size_t stripes = (count - 1) / XXH_STRIPE; stripes;) {
    unsigned some = stripes < 16 ? (unsigned)stripes : 16;
    for (unsigned each = 0; each < some; each++, from += XXH_STRIPE, to += XXH_STRIPE) {
      xxh_load(&input, from);
      memcpy(to, &input, XXH_STRIPE);
      sums += input;
      xxh_add(&first, &input, first_secret + 8 * each);
      xxh_add(&second, &input, second_secret + 8 * each);
    }
    stripes -= some;
    if (some < 16) break;
    xxh_scramble(&first, &sums, first_secret);
    xxh_scramble(&second, &sums, second_secret);
    sums = (xxh_lanes){0};
  }
  xxh_load(&input, last);
  memcpy(end, &input, XXH_STRIPE);
  sums += input;
  xxh_add(&first, &input, first_secret + XXH_LAST);
  xxh_add(&second, &input, second_secret + XXH_LAST);
  hashes[0] = xxh_end(&first, &sums, first_secret, count);
  hashes[1] = xxh_end(&second, &sums, second_secret, count);
}

static void chunk_key(uint8_t key[12], uint64_t serial, uint32_t chunk) {
  store64(key, big64(serial));
  store32(key + 8, __builtin_bswap32(chunk));
}

int copy_blob(lmdb_peer *peer, uint64_t from, uint64_t to) {
  uint64_t big = big64(from), new_big = big64(to);
  uint8_t key_bytes[12], new_bytes[12], info[BLOBINFO_LENGTH];
  MDB_val key = {8, &big}, value;
  LMDB(mdb_cursor_get(peer->read_blobinfo, &key, &value, MDB_SET));
  TRY(verify_info(peer, from, &value));
  memcpy(info, value.mv_data, sizeof info);
  uint32_t chunks = load32(info + INFO_CHUNKS);
  for (uint32_t chunk = 0; chunk < chunks; chunk++) {
    chunk_key(key_bytes, from, chunk);
    chunk_key(new_bytes, to, chunk);
    key = (MDB_val){12, key_bytes};
    LMDB(mdb_cursor_get(peer->read_blobs, &key, &value, MDB_SET));
    if (value.mv_size < 8) return fail(-1, "a blob's chunk is damaged");
    MDB_val new_key = {12, new_bytes}, room = {value.mv_size, NULL};
    LMDB(mdb_cursor_put(peer->write_blobs, &new_key, &room, MDB_APPEND | MDB_RESERVE));
    const uint8_t *source = value.mv_data;
    uint8_t *target = room.mv_data;
    if (peer->checks) {
      uint64_t seeds[2] = {xxh3(key_bytes, 12, TABLE_BLOBS), xxh3(new_bytes, 12, TABLE_BLOBS)}, hashes[2];
      copy_hashed(target + 8, source + 8, value.mv_size - 8, seeds, hashes);
      if (hashes[0] != load64(source)) return fail(-1, "the checksum of a blob's chunk is wrong");
      store64(target, hashes[1]);
    } else {
      memcpy(target + 8, source + 8, value.mv_size - 8);
      store64(target, 0);
    }
    peer->result->bytes += value.mv_size;
  }
  store64(info + INFO_COUNT, 1);
  seal(peer, info, sizeof info, seed_of(to, TABLE_BLOBINFO));
  key = (MDB_val){8, &new_big};
  value = (MDB_val){sizeof info, info};
  LMDB(mdb_cursor_put(peer->write_blobinfo, &key, &value, MDB_APPEND));
  peer->result->blobs++;
  return 0;
}
