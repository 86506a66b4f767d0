# The explorer on the demo's store, for scripts. Source it after setup.sh.

# Builds kvclone with the explorer, as a release, and prints the path of the program.
build_explorer() {
  local built=(--package-path "$root" -c release --scratch-path "$root/.build/explorer" --traits Explorer)
  require_swift
  require_lmdb
  say "building kvclone with the explorer (release)" >&2
  KVCLONE_TESTS=0 quietly swift build "${built[@]}" --product kvclone
  printf '%s/kvclone\n' "$(swift build "${built[@]}" --show-bin-path)"
}

# start_explorer PROGRAM STORE FILE [OPTION…]: serves a store on a free port, and writes the address as JSON to a file.
# Sets `explorer` to the process, for stop_explorer.
explorer=
start_explorer() {
  local program=$1 store=$2 file=$3
  shift 3
  "$program" -s "$store" explore --port 0 --json "$@" >"$file" 2>"$file.errors" &
  explorer=$!
  for _ in $(seq 100); do [ -s "$file" ] && break; sleep 0.1; done
  [ -s "$file" ] || fail "the explorer does not start: $(cat "$file.errors")"
}

stop_explorer() {
  [ -n "$explorer" ] || return 0
  kill "$explorer" 2>/dev/null || true
  wait "$explorer" 2>/dev/null || true
  explorer=
}
