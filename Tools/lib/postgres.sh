# A PostgreSQL server of one script: in a temporary directory, with a Unix socket only. Source it after setup.sh.

# The directory of the server's programs, which Debian does not put into PATH.
postgres_programs() {
  local place
  if command -v pg_ctl >/dev/null && command -v initdb >/dev/null; then dirname "$(readlink -f "$(command -v pg_ctl)")"; return; fi
  for place in /usr/lib/postgresql/*/bin; do
    if [ -x "$place/pg_ctl" ]; then printf '%s\n' "$place"; return; fi
  done
  return 1
}

# Whether the compiler finds libpq.
has_libpq() { command -v pkg-config >/dev/null && pkg-config --exists libpq; }

# Whether tests can be built with the trait Postgres, and a server can be started.
has_postgres() { has_libpq && postgres_programs >/dev/null; }

# The traits of the tests.
tested_traits() { if has_postgres; then printf 'Explorer,Postgres'; else printf 'Explorer'; fi; }

# Sets `tested` to the options of the build in .build/tested. Other options would rebuild everything. Debug information
# takes a tenth of the build, and nothing reads it.
set_tested() { tested=(--scratch-path .build/tested -debug-info-format none --traits "$(tested_traits)"); }

# Installs what the trait Postgres needs, and a server.
require_postgres() {
  has_postgres && return
  require_packages pkg-config libpq-dev postgresql
  postgres_programs >/dev/null || fail "the package postgresql is installed, but pg_ctl was not found"
}

# A command that runs programs of the server elsewhere, such as in a network namespace.
postgres_launcher=()

# Runs a program of the server: it refuses to run as root.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then
    "${postgres_launcher[@]}" setpriv --reuid postgres --regid postgres --init-groups env HOME=/tmp "$@"
  else
    "${postgres_launcher[@]}" "$@"
  fi
}

# Starts a server, and sets KVCLONE_POSTGRES to the address of an empty database in it. Further arguments are settings,
# such as max_connections=200. Call stop_postgres at the end.
start_postgres() {
  local programs settings='' setting
  programs=$(postgres_programs)
  # A short path: the path of a Unix socket has at most 107 bytes.
  postgres_directory=$(mktemp -d /tmp/kvclone-postgres.XXXXXX)
  [ "$(id -u)" != 0 ] || chown postgres: "$postgres_directory"
  for setting in max_connections=200 shared_buffers=256MB "$@"; do settings+=" -c $setting"; done
  as_postgres "$programs/initdb" -D "$postgres_directory/data" -A trust -U kvclone --no-sync >"$postgres_directory/initdb.log" 2>&1 \
    || fail "initdb failed: $(tail -n 3 "$postgres_directory/initdb.log")"
  as_postgres "$programs/pg_ctl" -D "$postgres_directory/data" -w -s -l "$postgres_directory/server.log" \
    -o "-c listen_addresses='' -c unix_socket_directories='$postgres_directory'$settings" start \
    || fail "the server did not start: $(tail -n 5 "$postgres_directory/server.log")"
  export KVCLONE_POSTGRES="host=$postgres_directory user=kvclone dbname=postgres"
}

stop_postgres() {
  [ -n "${postgres_directory:-}" ] || return 0
  as_postgres "$(postgres_programs)/pg_ctl" -D "$postgres_directory/data" -m immediate -s stop >/dev/null 2>&1 || true
  rm -rf "$postgres_directory"
  postgres_directory=
}
