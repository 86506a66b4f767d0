#ifndef KVCLONE_YARDSTICK_H
#define KVCLONE_YARDSTICK_H
#include <stdint.h>

// What a C programmer would write on LMDB, to measure the Swift layers against. Functions return 0 or LMDB's error code.

typedef struct yardstick yardstick;

// Opens one table of a store for reading, with the flags and the map the library uses. `tables` is the library's limit.
int yardstick_open(const char *directory, const char *table, uint64_t map_size, unsigned tables, yardstick **result);
void yardstick_close(yardstick *yardstick);

// Counts the entries of the table and adds up their first value bytes by a cursor, in a renewed read transaction.
int yardstick_scan(yardstick *yardstick, uint64_t *entries, uint64_t *sum);

// Renews and resets a read transaction so many times, and adds up the commits it saw.
int yardstick_begin(yardstick *yardstick, uint64_t rounds, uint64_t *sum);
#endif
