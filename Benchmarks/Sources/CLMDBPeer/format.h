#ifndef KVCLONE_LMDB_PEER_FORMAT_H
#define KVCLONE_LMDB_PEER_FORMAT_H
#include <stdint.h>
#include <string.h>

// The parts of Sources/KVCloneRecords/Format.md that a clone meets: numbers, checksums, offsets.
// Values are little-endian, like every machine this runs on; keys are big-endian.

enum { TABLE_METADATA = 1, TABLE_LINKS = 2, TABLE_BLOBS = 3, TABLE_BLOBINFO = 4, TABLE_OBJECTS = 0x8000 };

enum {
  KIND_TO_ONE = 10, KIND_TO_MANY = 11, KIND_UUID = 9, KIND_FIRST_VARIABLE = 12, KIND_LAST_VARIABLE = 15,
  KIND_LAST = 15
};

// Offsets in a record, and the sizes of its parts.
enum {
  RECORD_COMMIT = 8, RECORD_LAYOUT = 16, RECORD_ENTITY = 18, RECORD_LENGTH = 20, RECORD_HEADER = 24,
  INLINE_LIMIT = 16, CHUNK_HEADER = 12, CHUNK_CAPACITY = 128, LINK_KEY = 19, BLOB_REFERENCE = 16, BLOBINFO_LENGTH = 40
};

#define HEAD_COUNT ((UINT64_C(1) << 48) - 1)
#define HEAD_CHUNKED (UINT64_C(1) << 48)
#define END_BLOB (UINT32_C(1) << 31)
#define SERIAL_MASK ((UINT64_C(1) << 48) - 1)

static inline uint64_t load64(const void *at) { uint64_t v; memcpy(&v, at, 8); return v; }
static inline uint32_t load32(const void *at) { uint32_t v; memcpy(&v, at, 4); return v; }
static inline uint16_t load16(const void *at) { uint16_t v; memcpy(&v, at, 2); return v; }
static inline void store64(void *at, uint64_t v) { memcpy(at, &v, 8); }
static inline void store32(void *at, uint32_t v) { memcpy(at, &v, 4); }
static inline void store16(void *at, uint16_t v) { memcpy(at, &v, 2); }
static inline uint64_t big64(uint64_t v) { return __builtin_bswap64(v); }

// XXH64, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
#define XXH_1 UINT64_C(0x9E3779B185EBCA87)
#define XXH_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define XXH_3 UINT64_C(0x165667B19E3779F9)
#define XXH_4 UINT64_C(0x85EBCA77C2B2AE63)
#define XXH_5 UINT64_C(0x27D4EB2F165667C5)

static inline uint64_t xxh_rotate(uint64_t v, int by) { return v << by | v >> (64 - by); }
static inline uint64_t xxh_round(uint64_t lane, uint64_t v) { return xxh_rotate(lane + v * XXH_2, 31) * XXH_1; }
static inline uint64_t xxh_merge(uint64_t h, uint64_t lane) { return (h ^ xxh_round(0, lane)) * XXH_1 + XXH_4; }
static inline uint64_t xxh_mix8(uint64_t h, uint64_t v) {
  return xxh_rotate(h ^ xxh_round(0, v), 27) * XXH_1 + XXH_4;
}

static inline uint64_t xxh_avalanche(uint64_t h) {
  h = (h ^ h >> 33) * XXH_2;
  h = (h ^ h >> 29) * XXH_3;
  return h ^ h >> 32;
}

static inline uint64_t xxh_converge(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  uint64_t h = xxh_rotate(a, 1) + xxh_rotate(b, 7) + xxh_rotate(c, 12) + xxh_rotate(d, 18);
  return xxh_merge(xxh_merge(xxh_merge(xxh_merge(h, a), b), c), d);
}

// The bytes after the last whole stripe of 32.
static inline uint64_t xxh_finish(uint64_t h, const uint8_t *at, const uint8_t *end) {
  for (; at + 8 <= end; at += 8) h = xxh_mix8(h, load64(at));
  if (at + 4 <= end) {
    h = xxh_rotate(h ^ load32(at) * XXH_1, 23) * XXH_2 + XXH_3;
    at += 4;
  }
  for (; at < end; at++) h = xxh_rotate(h ^ *at * XXH_5, 11) * XXH_1;
  return xxh_avalanche(h);
}

static inline uint64_t xxh64(const void *bytes, size_t count, uint64_t seed) {
  const uint8_t *at = bytes, *end = at + count;
  uint64_t h = seed + XXH_5;
  if (count >= 32) {
    uint64_t a = seed + XXH_1 + XXH_2, b = seed + XXH_2, c = seed, d = seed - XXH_1;
    do {
      a = xxh_round(a, load64(at));
      b = xxh_round(b, load64(at + 8));
      c = xxh_round(c, load64(at + 16));
      d = xxh_round(d, load64(at + 24));
      at += 32;
    } while (at + 32 <= end);
    h = xxh_converge(a, b, c, d);
  }
  return xxh_finish(h + count, at, end);
}

// The seed of a value whose key is one number: XXH64 of the key's 8 bytes.
static inline uint64_t seed_of(uint64_t id, uint64_t table) {
  return xxh_avalanche(xxh_mix8(table + XXH_5 + 8, big64(id)));
}

// The key of an entry of `links`.
static inline void link_key(uint8_t key[LINK_KEY], uint64_t owner, uint16_t relationship, uint64_t position) {
  store64(key, big64(owner));
  store16(key + 8, __builtin_bswap16(relationship));
  key[10] = 0;
  store64(key + 11, big64(position));
}
#endif
