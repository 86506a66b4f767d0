# Releases of LMDB to test with, besides the installed one. Sourced by Tools/test; needs setup.sh, and `root`.

# Versions of the package lmdb on PyPI; their sources contain a release of LMDB under lib/. The project's own archives need git.
declare -A lmdb_packages=([0.9.31]=1.6.2 [0.9.36]=3.0.0)

lmdb_releases() { printf '%s\n' "${!lmdb_packages[@]}" | sort -V | paste -sd ' '; }

# build_lmdb RELEASE: downloads and builds a release if it is missing, and sets `lmdb_directory` to the directory of its
# liblmdb.so.0.
build_lmdb() {
  local release=$1 package=${lmdb_packages[$1]:-}
  [ -n "$package" ] || fail "unknown LMDB release $release; choose one of $(lmdb_releases)"
  lmdb_directory="$root/.build/lmdb-$release"
  [ ! -e "$lmdb_directory/liblmdb.so.0" ] || return 0
  python3 -m pip --version >/dev/null 2>&1 || require_packages python3-pip
  local compiler="" candidate swift found sources="$lmdb_directory.sources"
  swift=$(readlink -f "$(command -v swift || true)" || true)
  for candidate in clang cc gcc "${swift%/*}/clang"; do
    if command -v "$candidate" >/dev/null; then compiler=$candidate; break; fi
  done
  [ -n "$compiler" ] || fail "no C compiler found to build LMDB; the Swift toolchain includes clang"
  say "building LMDB $release"
  rm -rf "$sources" "$lmdb_directory"
  mkdir -p "$sources"
  quietly python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$sources" "lmdb==$package"
  tar -xzf "$sources"/lmdb-*.tar.gz -C "$sources" --strip-components 1
  found=$(awk '$2 ~ /^MDB_VERSION_(MAJOR|MINOR|PATCH)$/ { printf "%s%s", dot, $3; dot = "." }' "$sources/lib/lmdb.h")
  [ "$found" = "$release" ] || fail "lmdb $package from PyPI contains LMDB $found, not $release"
  mkdir "$sources/built"
  quietly "$compiler" -O2 -fPIC -pthread -shared -Wl,-soname,liblmdb.so.0 -o "$sources/built/liblmdb.so.0" \
    "$sources/lib/mdb.c" "$sources/lib/midl.c"
  mv "$sources/built" "$lmdb_directory"
  rm -rf "$sources"
}
