#ifndef KVCLONE_LMDB_PEER_FORMAT_H
#define KVCLONE_LMDB_PEER_FORMAT_H
#include <stdint.h>
#include <string.h>

// The parts of Sources/KVCloneRecords/Format.md that a clone uses: numbers, checksums, offsets. Values are
// little-endian, as all supported machines; keys are big-endian.

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

// XXH3 of 64 bits with a seed, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
#define XXH_1 UINT64_C(0x9E3779B185EBCA87)
#define XXH_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define XXH_3 UINT64_C(0x165667B19E3779F9)
#define XXH_4 UINT64_C(0x85EBCA77C2B2AE63)
#define XXH_5 UINT64_C(0x27D4EB2F165667C5)
enum { XXH_MIDDLE = 240, XXH_STRIPE = 64, XXH_BLOCK = 1024, XXH_SECRET = 192 };

// Reads at constant offsets compile to constants.
static const uint64_t xxh_secret[XXH_SECRET / 8] = {
  UINT64_C(0xBE4BA423396CFEB8), UINT64_C(0x1CAD21F72C81017C), UINT64_C(0xDB979083E96DD4DE), UINT64_C(0x1F67B3B7A4A44072),
  UINT64_C(0x78E5C0CC4EE679CB), UINT64_C(0x2172FFCC7DD05A82), UINT64_C(0x8E2443F7744608B8), UINT64_C(0x4C263A81E69035E0),
  UINT64_C(0xCB00C391BB52283C), UINT64_C(0xA32E531B8B65D088), UINT64_C(0x4EF90DA297486471), UINT64_C(0xD8ACDEA946EF1938),
  UINT64_C(0x3F349CE33F76FAA8), UINT64_C(0x1D4F0BC7C7BBDCF9), UINT64_C(0x3159B4CD4BE0518A), UINT64_C(0x647378D9C97E9FC8),
  UINT64_C(0xC3EBD33483ACC5EA), UINT64_C(0xEB6313FAFFA081C5), UINT64_C(0x49DAF0B751DD0D17), UINT64_C(0x9E68D429265516D3),
  UINT64_C(0xFCA1477D58BE162B), UINT64_C(0xCE31D07AD1B8F88F), UINT64_C(0x280416958F3ACB45), UINT64_C(0x7E404BBBCAFBD7AF)
};

static inline uint64_t xxh_key(unsigned at) { return load64((const uint8_t *)xxh_secret + at); }
static inline uint64_t xxh_rotate(uint64_t v, int by) { return v << by | v >> (64 - by); }

static inline uint64_t xxh_fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t xxh_avalanche(uint64_t h) {
  h = (h ^ h >> 37) * UINT64_C(0x165667919E3779F9);
  return h ^ h >> 32;
}

static inline uint64_t xxh_avalanche64(uint64_t h) {
  h = (h ^ h >> 33) * XXH_2;
  h = (h ^ h >> 29) * XXH_3;
  return h ^ h >> 32;
}

static inline uint64_t xxh_mix(const uint8_t *at, unsigned key, uint64_t seed) {
  return xxh_fold(load64(at) ^ (xxh_key(key) + seed), load64(at + 8) ^ (xxh_key(key + 8) - seed));
}

// 4 to 8 bytes: the first four in the high half, the last four in the low half.
static inline uint64_t xxh_word(uint64_t v, uint64_t count, uint64_t seed) {
  seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
  v ^= (xxh_key(8) ^ xxh_key(16)) - seed;
  v ^= xxh_rotate(v, 49) ^ xxh_rotate(v, 24);
  v *= UINT64_C(0x9FB21C651E98DF25);
  v = (v ^ ((v >> 35) + count)) * UINT64_C(0x9FB21C651E98DF25);
  return v ^ v >> 28;
}

static inline uint64_t xxh_short(const uint8_t *at, size_t count, uint64_t seed) {
  if (count > 8) {
    uint64_t low = load64(at) ^ ((xxh_key(24) ^ xxh_key(32)) + seed);
    uint64_t high = load64(at + count - 8) ^ ((xxh_key(40) ^ xxh_key(48)) - seed);
    return xxh_avalanche(count + __builtin_bswap64(low) + high + xxh_fold(low, high));
  }
  if (count >= 4) return xxh_word((uint64_t)load32(at) << 32 | load32(at + count - 4), count, seed);
  if (!count) return xxh_avalanche64(seed ^ xxh_key(56) ^ xxh_key(64));
  uint32_t v = (uint32_t)at[0] << 16 | (uint32_t)at[count >> 1] << 24 | at[count - 1] | (uint32_t)count << 8;
  return xxh_avalanche64(v ^ (((uint32_t)xxh_secret[0] ^ xxh_secret[0] >> 32) + seed));
}

// 17 to 240 bytes.
static inline uint64_t xxh_middle(const uint8_t *at, size_t count, uint64_t seed) {
  const uint8_t *end = at + count;
  uint64_t h = count * XXH_1;
  if (count <= 128) {
    if (count > 96) h += xxh_mix(at + 48, 96, seed) + xxh_mix(end - 64, 112, seed);
    if (count > 64) h += xxh_mix(at + 32, 64, seed) + xxh_mix(end - 48, 80, seed);
    if (count > 32) h += xxh_mix(at + 16, 32, seed) + xxh_mix(end - 32, 48, seed);
    return xxh_avalanche(h + xxh_mix(at, 0, seed) + xxh_mix(end - 16, 16, seed));
  }
  for (unsigned each = 0; each < 8; each++) h += xxh_mix(at + 16 * each, 16 * each, seed);
  h = xxh_avalanche(h) + xxh_mix(end - 16, 119, seed);
  for (unsigned each = 8; each < count / 16; each++) h += xxh_mix(at + 16 * each, 16 * each - 125, seed);
  return xxh_avalanche(h);
}

// Longer input: eight lanes, to which each stripe of 64 bytes adds products of its halves, and its neighbour's input.
// The inputs are summed separately, because they are swapped only once per block, and are the same for every seed.
typedef uint64_t xxh_lanes __attribute__((vector_size(XXH_STRIPE)));

static inline void xxh_load(xxh_lanes *to, const void *from) { memcpy(to, from, XXH_STRIPE); }

static inline void xxh_begin(xxh_lanes *lanes, uint8_t secret[XXH_SECRET], uint64_t seed) {
  *lanes = (xxh_lanes){0xC2B2AE3D, XXH_1, XXH_2, XXH_3, XXH_4, 0x85EBCA77, XXH_5, 0x9E3779B1};
  for (int each = 0; each < XXH_SECRET / 8; each++)
    store64(secret + 8 * each, each & 1 ? xxh_secret[each] - seed : xxh_secret[each] + seed);
}

static inline void xxh_add(xxh_lanes *lanes, const xxh_lanes *input, const uint8_t *key) {
  xxh_lanes keyed;
  xxh_load(&keyed, key);
  keyed ^= *input;
  *lanes += (keyed & 0xFFFFFFFF) * (keyed >> 32);
}

static inline void xxh_join(xxh_lanes *lanes, const xxh_lanes *sums) {
  xxh_lanes s = *sums;
  *lanes += (xxh_lanes){s[1], s[0], s[3], s[2], s[5], s[4], s[7], s[6]};
}

static inline void xxh_scramble(xxh_lanes *lanes, const xxh_lanes *sums, const uint8_t *secret) {
  xxh_lanes key;
  xxh_load(&key, secret + XXH_SECRET - XXH_STRIPE);
  xxh_join(lanes, sums);
  *lanes = (*lanes ^ *lanes >> 47 ^ key) * 0x9E3779B1;
}

static inline uint64_t xxh_end(xxh_lanes *lanes, const xxh_lanes *sums, const uint8_t *secret, size_t count) {
  uint64_t h = count * XXH_1;
  xxh_join(lanes, sums);
  for (int each = 0; each < 8; each += 2)
    h += xxh_fold((*lanes)[each] ^ load64(secret + 11 + 8 * each), (*lanes)[each + 1] ^ load64(secret + 19 + 8 * each));
  return xxh_avalanche(h);
}

// The offset in the secret of the key for the last stripe, which may overlap the previous one.
enum { XXH_LAST = XXH_SECRET - XXH_STRIPE - 7 };

static inline uint64_t xxh_long(const uint8_t *at, size_t count, uint64_t seed) {
  const uint8_t *last = at + count - XXH_STRIPE;
  uint8_t secret[XXH_SECRET];
  xxh_lanes lanes, sums = {0}, input;
  xxh_begin(&lanes, secret, seed);
  for (size_t stripes = (count - 1) / XXH_STRIPE; stripes;) {
    unsigned some = stripes < 16 ? (unsigned)stripes : 16;
    for (unsigned each = 0; each < some; each++, at += XXH_STRIPE) {
      xxh_load(&input, at);
      sums += input;
      xxh_add(&lanes, &input, secret + 8 * each);
    }
    stripes -= some;
    if (some < 16) break;
    xxh_scramble(&lanes, &sums, secret);
    sums = (xxh_lanes){0};
  }
  xxh_load(&input, last);
  sums += input;
  xxh_add(&lanes, &input, secret + XXH_LAST);
  return xxh_end(&lanes, &sums, secret, count);
}

static inline uint64_t xxh3(const void *bytes, size_t count, uint64_t seed) {
  if (count <= 16) return xxh_short(bytes, count, seed);
  return count <= XXH_MIDDLE ? xxh_middle(bytes, count, seed) : xxh_long(bytes, count, seed);
}

// The seed of a value with a key of one number: XXH3 of the key's 8 bytes.
static inline uint64_t seed_of(uint64_t id, uint64_t table) { return xxh_word(xxh_rotate(big64(id), 32), 8, table); }

// The key of an entry of `links`.
static inline void link_key(uint8_t key[LINK_KEY], uint64_t owner, uint16_t relationship, uint64_t position) {
  store64(key, big64(owner));
  store16(key + 8, __builtin_bswap16(relationship));
  key[10] = 0;
  store64(key + 11, big64(position));
}
#endif
