# Prerequisites for builds of Tools/test, Tools/demo and the benchmarks. Source it with `root` set to the directory of
# the checkout.

log="$root/.build/tool-output.log"

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# Runs a command with its output in a log, and prints the log, without lines of progress, if the command fails. Reports
# progress on stderr: the current step on a terminal, otherwise a line each minute.
quietly() {
  mkdir -p "$root/.build"
  local ticker code=0
  # Truncated first, so that the output of an earlier command is not taken for that of this one.
  : >"$log"
  show_steps >/dev/null &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || code=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  if [ "$code" -ne 0 ]; then
    grep -Ev '^\[[0-9]+/[0-9]+\] ' "$log" >&2 || true
    fail "failed: $*"
  fi
}

# Ends with the script, because after Ctrl-C no other process ends it.
show_steps() {
  local started=$SECONDS told=0 passed step
  while sleep 1 && kill -0 "$$" 2>/dev/null; do
    passed=$((SECONDS - started))
    step=$(last_step)
    if [ -t 2 ]; then
      printf '\r\033[K%d:%02d %s' $((passed / 60)) $((passed % 60)) "$step" >&2
    elif [ $((passed / 60)) -gt "$told" ]; then
      told=$((passed / 60))
      printf '  %d min: %s\n' "$told" "${step:-working}" >&2
    fi
  done
}

# The last line of progress in the log, in at most 70 columns: a step of the build, or a package that is fetched.
last_step() {
  tail -c 4000 "$log" 2>/dev/null \
    | grep -aEo '^(\[[0-9]+/[0-9]+\] [A-Za-z]+ [A-Za-z0-9_.-]*|(Fetch|Updat|Comput|Creat|Build|Extract)[a-z]+ .*)' \
    | tail -n 1 | cut -c 1-70 || true
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

# Whether the compiler finds LMDB's header in the default directories or those from the environment.
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
    || fail "The LMDB header lmdb.h is missing. Install LMDB 0.9 with its development files, then run this again."
  install_packages liblmdb-dev || fail "The LMDB development files are missing. $how_to_install"
  has_lmdb || fail "liblmdb-dev is installed, but lmdb.h was not found; set CPATH to its folder."
}

# Installs missing packages of Debian and Ubuntu; fails if that is not possible.
require_packages() {
  local missing=() name
  for name in "$@"; do has_package "$name" || missing+=("$name"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "Packages are missing (Debian names): ${missing[*]}. Install them, then run this again."
  install_packages "${missing[@]}" || fail "Packages are missing: ${missing[*]}. $how_to_install"
}

# Installs the browser of the explorer's tests, which skip without it.
require_browser() { require_packages chromium chromium-driver fonts-noto-core; }

has_package() {
  command -v dpkg-query >/dev/null && [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# install_packages NAME…: returns 1, with instructions in `how_to_install`, if this user may not install packages.
install_packages() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      how_to_install="Run this, then run $0 again:

  sudo apt-get update && sudo apt-get install -y $*
"
      return 1
    fi
    as_root=(sudo -n)
  fi
  say "installing $*" >&2
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  # A new machine has no package lists, and old lists name removed versions; an update fixes both.
  if ! "${install[@]}" >/dev/null 2>&1 </dev/null; then
    quietly "${as_root[@]}" apt-get update
    quietly "${install[@]}"
  fi
}
