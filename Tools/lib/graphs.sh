# Symbol graphs of built modules, for Tools/api and Tools/documentation. Source it after postgres.sh.

# The options of the build by Tools/service; other options would rebuild everything.
service_traits=Service,Tracing,Configuration
if has_postgres; then service_traits+=,Postgres; fi
service_build=(--traits "$service_traits" --scratch-path .build/service --disable-index-store -debug-info-format none)

# extract_graphs BUILD MODULE DIRECTORY [OPTION…]: writes the symbol graph of a module in a build, and one for each
# module with types that it extends.
extract_graphs() {
  local build=$1 module=$2 directory=$3 maps=() map target
  shift 3
  [ -e "$build/debug/Modules/$module.swiftmodule" ] || fail "$module is not built in $build; leave out --no-build"
  target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple" *: *"\(.*\)".*/\1/p')
  # The C modules that the package imports are located by their module maps.
  for map in "$build"/checkouts/*/Sources/*/include/module.modulemap "$build"/debug/*.build/module.modulemap; do
    if [ -e "$map" ]; then maps+=(-Xcc "-fmodule-map-file=$map"); fi
  done
  if [ -e "$build/debug/Modules/KVClonePostgres.swiftmodule" ] && has_libpq; then
    maps+=(-Xcc "-fmodule-map-file=Sources/CKVClonePostgres/module.modulemap" -Xcc "-I$(pkg-config --variable=includedir libpq)")
  fi
  swift symbolgraph-extract -module-name "$module" -target "$target" -I "$build/debug/Modules" "${maps[@]}" \
    -Xcc "-fmodule-map-file=Sources/CKVCloneLMDB/module.modulemap" -minimum-access-level public -skip-inherited-docs \
    -output-dir "$directory" "$@" >"$log" 2>&1 || { cat "$log" >&2; fail "no symbol graph of $module"; }
}
