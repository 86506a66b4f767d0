#ifndef KVCLONE_YARDSTICK_H
#define KVCLONE_YARDSTICK_H
#include <stdint.h>

// Hand-written C code on LMDB as a reference for the Swift layers. Functions return 0 or LMDB's error code.

typedef struct yardstick yardstick;

// Opens one table of a store for reading, with the flags and the map size of the library. `tables` is the library's
// limit.
int yardstick_open(const char *directory, const char *table, uint64_t map_size, unsigned tables, yardstick **result);
void yardstick_close(yardstick *yardstick);

// Counts the entries of the table and sums their first value bytes with a cursor, in a renewed read transaction.
int yardstick_scan(yardstick *yardstick, uint64_t *entries, uint64_t *sum);

// Renews and resets a read transaction the given number of times, and sums the commits that it saw.
int yardstick_begin(yardstick *yardstick, uint64_t rounds, uint64_t *sum);
#endif
