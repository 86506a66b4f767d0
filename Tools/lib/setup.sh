# What Tools/test, Tools/demo and the benchmarks need before they can build. To be sourced, with `root` set to the
# checkout's directory.

log="$root/.build/tool-output.log"

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# Runs a command with its output put aside; the output, without lines of progress, is shown if the command fails. On a terminal,
# the last step of the progress is shown meanwhile.
quietly() {
  mkdir -p "$root/.build"
  local ticker= code=0
  if [ -t 2 ]; then
    show_steps &
    ticker=$!
  fi
  "$@" >"$log" 2>&1 </dev/null || code=$?
  if [ -n "$ticker" ]; then
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    printf '\r\033[K' >&2
  fi
  if [ "$code" -ne 0 ]; then
    grep -Ev '^\[[0-9]+/[0-9]+\] ' "$log" >&2 || true
    fail "failed: $*"
  fi
}

# For as long as the script runs: where it was stopped by Ctrl-C, nobody else ends this.
show_steps() {
  local step
  while sleep 1 && kill -0 "$$" 2>/dev/null; do
    step=$(tail -c 2000 "$log" 2>/dev/null | grep -aEo '^\[[0-9]+/[0-9]+\] [A-Za-z]+ [A-Za-z0-9_-]*' | tail -n 1) || true
    printf '\r\033[K%s' "$step" >&2
  done
}

require_swift() {
  command -v swift >/dev/null || fail "Swift is not in PATH. Install Swift 6.2 or later: https://www.swift.org/install"
  local version
  version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  case "$version" in
    6.[2-9]* | 6.[1-9][0-9]* | [7-9].* | [1-9][0-9]*.*) ;;
    *) fail "Swift ${version:-of an unknown version} is in PATH; 6.2 or later is needed: https://www.swift.org/install" ;;
  esac
}

# Whether the compiler finds LMDB's header, in the usual places or where the environment says.
has_lmdb() {
  local places="/usr/include:/usr/local/include:${CPATH:-}:${C_INCLUDE_PATH:-}" place
  local IFS=:
  for place in $places; do
    if [ -n "$place" ] && [ -e "$place/lmdb.h" ]; then return 0; fi
  done
  command -v pkg-config >/dev/null && pkg-config --exists lmdb
}

require_lmdb() {
  has_lmdb && return
  command -v apt-get >/dev/null \
    || fail "LMDB's header lmdb.h is missing. Install LMDB 0.9 with its development files, then run this again."
  install_packages liblmdb-dev || fail "LMDB's development files are missing. $how_to_install"
  has_lmdb || fail "liblmdb-dev is installed, but lmdb.h is not found; set CPATH to its folder."
}

# Packages of Debian and Ubuntu, where they are not installed yet; fails where they cannot be.
require_packages() {
  local missing=() name
  for name in "$@"; do has_package "$name" || missing+=("$name"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "install what Debian calls ${missing[*]}, then run this again."
  install_packages "${missing[@]}" || fail "${missing[*]}: not installed. $how_to_install"
}

has_package() {
  command -v dpkg-query >/dev/null && [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages NAME…: 1, with what to type in `how_to_install`, where this user may not install.
install_packages() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      how_to_install="Type this, then run $0 again:

  sudo apt-get update && sudo apt-get install -y $*
"
      return 1
    fi
    as_root=(sudo -n)
  fi
  say "installing $*" >&2
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  # A bare machine has no package lists, and old lists name versions that are gone: both are cured by an update.
  if ! "${install[@]}" >/dev/null 2>&1 </dev/null; then
    quietly "${as_root[@]}" apt-get update
    quietly "${install[@]}"
  fi
}
