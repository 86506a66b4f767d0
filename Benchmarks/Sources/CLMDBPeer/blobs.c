#include <stdlib.h>
#include "peer.h"

// Shared blobs: one referrer more each. Copied ones: every chunk read, verified, and written anew.

// A description's value after the checksum: state u8, 0, stager u16, chunks u32, count u64, bytes u64, digest u64.
enum { INFO_STATE = 8, INFO_CHUNKS = 12, INFO_COUNT = 16 };

static int verify_info(lmdb_peer *peer, uint64_t serial, const MDB_val *value) {
  const uint8_t *info = value->mv_data;
  if (value->mv_size != BLOBINFO_LENGTH || info[INFO_STATE] != 0 ||
      (peer->checks && xxh64(info + 8, BLOBINFO_LENGTH - 8, seed_of(serial, TABLE_BLOBINFO)) != load64(info)))
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
  // Mostly they were stored in the order of their records, and ascend already.
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

// The hash of the same bytes with two seeds while they are copied: one pass over them instead of three.
static void copy_hashed(uint8_t *to, const uint8_t *from, size_t count, uint64_t seeds[2], uint64_t hashes[2]) {
  const uint8_t *at = from, *end = from + count;
  if (count < 32) {
    memcpy(to, from, count);
    for (int each = 0; each < 2; each++) hashes[each] = xxh64(from, count, seeds[each]);
    return;
  }
  uint64_t s = seeds[0], t = seeds[1];
  uint64_t a = s + XXH_1 + XXH_2, b = s + XXH_2, c = s, d = s - XXH_1;
  uint64_t e = t + XXH_1 + XXH_2, f = t + XXH_2, g = t, h = t - XXH_1;
  do {
    // The product is the same for both seeds; only the lanes differ.
    uint64_t v = load64(at) * XXH_2, w = load64(at + 8) * XXH_2;
    uint64_t x = load64(at + 16) * XXH_2, y = load64(at + 24) * XXH_2;
    memcpy(to, at, 32);
    a = xxh_rotate(a + v, 31) * XXH_1;
    b = xxh_rotate(b + w, 31) * XXH_1;
    c = xxh_rotate(c + x, 31) * XXH_1;
    d = xxh_rotate(d + y, 31) * XXH_1;
    e = xxh_rotate(e + v, 31) * XXH_1;
    f = xxh_rotate(f + w, 31) * XXH_1;
    g = xxh_rotate(g + x, 31) * XXH_1;
    h = xxh_rotate(h + y, 31) * XXH_1;
    at += 32;
    to += 32;
  } while (at + 32 <= end);
  memcpy(to, at, (size_t)(end - at));
  hashes[0] = xxh_finish(xxh_converge(a, b, c, d) + count, at, end);
  hashes[1] = xxh_finish(xxh_converge(e, f, g, h) + count, at, end);
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
      uint64_t seeds[2] = {xxh64(key_bytes, 12, TABLE_BLOBS), xxh64(new_bytes, 12, TABLE_BLOBS)}, hashes[2];
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
