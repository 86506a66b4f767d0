#ifndef KVCLONE_LMDB_SERVICE_H
#define KVCLONE_LMDB_SERVICE_H
#include <stdint.h>

// A minimal service on LMDB, without a model, layouts or checksums: records of 200 bytes under 8-byte keys, and an
// index with one 8-byte entry per record. Numbers count from 1 and determine the bytes of a record. One thread writes,
// any number of threads read.

typedef struct lmdb_service lmdb_service;
typedef struct lmdb_service_reader lmdb_service_reader;

// Opens or creates the environment in an existing directory. Commits are durable when they return. Like the other
// functions, returns 0 or an error number with a description in `lmdb_peer_message`.
int lmdb_service_open(const char *directory, lmdb_service **service);

// Puts the records `first` to `last` in one durable transaction.
int lmdb_service_insert(lmdb_service *service, uint64_t first, uint64_t last);

// Compares all records and entries with those of the numbers 1 to `count`.
int lmdb_service_verify(lmdb_service *service, uint64_t count);

void lmdb_service_close(lmdb_service *service);

// A reader belongs to one thread, and renews its transaction for each record.
int lmdb_service_reader_open(lmdb_service *service, lmdb_service_reader **reader);

// Reads all bytes of a record, and fails if they are wrong.
int lmdb_service_read(lmdb_service_reader *reader, uint64_t number);

void lmdb_service_reader_close(lmdb_service_reader *reader);
#endif
