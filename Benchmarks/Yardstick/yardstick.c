#include "yardstick.h"

#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>

struct yardstick {
  MDB_env *environment;
  MDB_txn *transaction;
  MDB_dbi table;
};

int yardstick_open(const char *directory, const char *table, uint64_t map_size, unsigned tables, yardstick **result) {
  yardstick *opened = calloc(1, sizeof(yardstick));
  if (!opened) return ENOMEM;
  MDB_txn *transaction = NULL;
  int code = mdb_env_create(&opened->environment);
  if (!code) code = mdb_env_set_maxdbs(opened->environment, tables);
  if (!code) code = mdb_env_set_mapsize(opened->environment, map_size);
  if (!code) code = mdb_env_open(opened->environment, directory, MDB_NOTLS, 0600);
  if (!code) code = mdb_txn_begin(opened->environment, NULL, MDB_RDONLY, &transaction);
  if (!code) code = mdb_dbi_open(transaction, table, 0, &opened->table);
  if (!code) {
    code = mdb_txn_commit(transaction);
    transaction = NULL;
  }
  if (!code) code = mdb_txn_begin(opened->environment, NULL, MDB_RDONLY, &opened->transaction);
  if (transaction) mdb_txn_abort(transaction);
  if (code) {
    yardstick_close(opened);
    return code;
  }
  mdb_txn_reset(opened->transaction);
  *result = opened;
  return 0;
}

void yardstick_close(yardstick *yardstick) {
  if (yardstick->transaction) mdb_txn_abort(yardstick->transaction);
  if (yardstick->environment) mdb_env_close(yardstick->environment);
  free(yardstick);
}

int yardstick_scan(yardstick *yardstick, uint64_t *entries, uint64_t *sum) {
  MDB_cursor *cursor;
  MDB_val key, value;
  uint64_t count = 0, total = 0;
  int code = mdb_txn_renew(yardstick->transaction);
  if (code) return code;
  code = mdb_cursor_open(yardstick->transaction, yardstick->table, &cursor);
  if (code) return code;
  while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    count++;
    total += *(const uint8_t *)value.mv_data;
  }
  mdb_cursor_close(cursor);
  mdb_txn_reset(yardstick->transaction);
  *entries = count;
  *sum = total;
  return code == MDB_NOTFOUND ? 0 : code;
}

int yardstick_begin(yardstick *yardstick, uint64_t rounds, uint64_t *sum) {
  uint64_t total = 0;
  for (uint64_t round = 0; round < rounds; round++) {
    int code = mdb_txn_renew(yardstick->transaction);
    if (code) return code;
    total += mdb_txn_id(yardstick->transaction);
    mdb_txn_reset(yardstick->transaction);
  }
  *sum = total;
  return 0;
}
