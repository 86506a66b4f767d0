#include "lmdb_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "peer.h"

enum { RECORD_WORDS = 25, RECORD_SIZE = 8 * RECORD_WORDS };

struct lmdb_service {
  MDB_env *environment;
  MDB_dbi records, index;
};

struct lmdb_service_reader {
  lmdb_service *service;
  MDB_txn *transaction;
};

// Numbers that are not sequential, so that index entries are inserted at random positions.
static uint64_t scattered(uint64_t number) { return (number * UINT64_C(0x9E3779B97F4A7C15)) >> 32; }

static uint64_t word(uint64_t number, unsigned index) { return number * UINT64_C(0x2545F4914F6CDD1D) + index; }

// LMDB sorts keys as bytes.
static void store_key(uint8_t *key, uint64_t number) {
  for (int index = 7; index >= 0; index--, number >>= 8) key[index] = (uint8_t)number;
}

static uint64_t entry(uint64_t number) { return scattered(number) << 32 | (uint32_t)number; }

static int put(lmdb_service *service, MDB_txn *transaction, uint64_t number) {
  uint8_t key[8];
  uint64_t record[RECORD_WORDS];
  for (unsigned index = 0; index < RECORD_WORDS; index++) record[index] = word(number, index);
  store_key(key, number);
  MDB_val name = {sizeof key, key}, value = {sizeof record, record};
  LMDB(mdb_put(transaction, service->records, &name, &value, 0));
  store_key(key, entry(number));
  value = (MDB_val){0, NULL};
  LMDB(mdb_put(transaction, service->index, &name, &value, 0));
  return 0;
}

static int put_all(lmdb_service *service, MDB_txn *transaction, uint64_t first, uint64_t last) {
  for (uint64_t number = first; number <= last; number++) TRY(put(service, transaction, number));
  return 0;
}

int lmdb_service_insert(lmdb_service *service, uint64_t first, uint64_t last) {
  MDB_txn *transaction;
  LMDB(mdb_txn_begin(service->environment, NULL, 0, &transaction));
  int code = put_all(service, transaction, first, last);
  if (code) {
    mdb_txn_abort(transaction);
    return code;
  }
  LMDB(mdb_txn_commit(transaction));
  return 0;
}

static int open_tables(lmdb_service *service) {
  MDB_txn *transaction;
  LMDB(mdb_txn_begin(service->environment, NULL, 0, &transaction));
  int code = mdb_dbi_open(transaction, "records", MDB_CREATE, &service->records);
  if (!code) code = mdb_dbi_open(transaction, "index", MDB_CREATE, &service->index);
  if (code) {
    mdb_txn_abort(transaction);
    return fail(code, "the tables cannot be opened: %s", mdb_strerror(code));
  }
  LMDB(mdb_txn_commit(transaction));
  return 0;
}

static int open_service(lmdb_service *service, const char *directory) {
  LMDB(mdb_env_create(&service->environment));
  LMDB(mdb_env_set_maxdbs(service->environment, 2));
  LMDB(mdb_env_set_mapsize(service->environment, (size_t)1 << 34));
  LMDB(mdb_env_open(service->environment, directory, MDB_NOTLS, 0600));
  return open_tables(service);
}

int lmdb_service_open(const char *directory, lmdb_service **result) {
  lmdb_service *service = calloc(1, sizeof *service);
  if (!service) return fail(ENOMEM, "no memory for a service");
  int code = open_service(service, directory);
  if (code) {
    lmdb_service_close(service);
    return code;
  }
  *result = service;
  return 0;
}

void lmdb_service_close(lmdb_service *service) {
  if (service->environment) mdb_env_close(service->environment);
  free(service);
}

int lmdb_service_reader_open(lmdb_service *service, lmdb_service_reader **result) {
  lmdb_service_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return fail(ENOMEM, "no memory for a reader");
  int code = mdb_txn_begin(service->environment, NULL, MDB_RDONLY, &reader->transaction);
  if (code) {
    free(reader);
    return fail(code, "no read transaction: %s", mdb_strerror(code));
  }
  mdb_txn_reset(reader->transaction);
  reader->service = service;
  *result = reader;
  return 0;
}

void lmdb_service_reader_close(lmdb_service_reader *reader) {
  mdb_txn_abort(reader->transaction);
  free(reader);
}

static int verify(lmdb_service *service, MDB_txn *transaction, uint64_t number) {
  uint8_t key[8];
  store_key(key, number);
  MDB_val name = {sizeof key, key}, value;
  LMDB(mdb_get(transaction, service->records, &name, &value));
  if (value.mv_size != RECORD_SIZE)
    return fail(-1, "the record %lu has %lu bytes", (unsigned long)number, (unsigned long)value.mv_size);
  uint64_t differences = 0;
  for (unsigned index = 0; index < RECORD_WORDS; index++) {
    uint64_t stored;
    memcpy(&stored, (const uint8_t *)value.mv_data + 8 * index, sizeof stored);
    differences |= stored ^ word(number, index);
  }
  return differences ? fail(-1, "the record %lu is another one", (unsigned long)number) : 0;
}

int lmdb_service_read(lmdb_service_reader *reader, uint64_t number) {
  LMDB(mdb_txn_renew(reader->transaction));
  int code = verify(reader->service, reader->transaction, number);
  mdb_txn_reset(reader->transaction);
  return code;
}

static int verify_all(lmdb_service *service, MDB_txn *transaction, uint64_t count) {
  MDB_stat records, entries;
  LMDB(mdb_stat(transaction, service->records, &records));
  LMDB(mdb_stat(transaction, service->index, &entries));
  if (records.ms_entries != count || entries.ms_entries != count)
    return fail(
      -1, "%lu records and %lu entries instead of %lu", (unsigned long)records.ms_entries,
      (unsigned long)entries.ms_entries, (unsigned long)count);
  for (uint64_t number = 1; number <= count; number++) {
    uint8_t key[8];
    TRY(verify(service, transaction, number));
    store_key(key, entry(number));
    MDB_val name = {sizeof key, key}, value;
    LMDB(mdb_get(transaction, service->index, &name, &value));
  }
  return 0;
}

int lmdb_service_verify(lmdb_service *service, uint64_t count) {
  MDB_txn *transaction;
  LMDB(mdb_txn_begin(service->environment, NULL, MDB_RDONLY, &transaction));
  int code = verify_all(service, transaction, count);
  mdb_txn_abort(transaction);
  return code;
}
