#ifndef CKVCLONEPOSTGRES_SHIM_H
#define CKVCLONEPOSTGRES_SHIM_H

#include <libpq-fe.h>

// The code of a field of an error message: a constant that Swift does not import, because it is a character.
static inline int kvclone_pg_field_sqlstate(void) { return PG_DIAG_SQLSTATE; }
static inline int kvclone_pg_field_message(void) { return PG_DIAG_MESSAGE_PRIMARY; }
static inline int kvclone_pg_field_severity(void) { return PG_DIAG_SEVERITY_NONLOCALIZED; }

#endif
