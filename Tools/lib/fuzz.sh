# shellcheck shell=bash
# Sourced by Tools/test: builds the fuzz targets and runs them. Needs setup.sh.

# run_fuzzing SECONDS KEEP [TARGET…]: runs each target for SECONDS, two at a time; returns 1 if a target failed. KEEP is
# 1 to write inputs that extend the coverage to the corpus.
run_fuzzing() {
  local seconds=$1 keep=$2 root scratch program target failed=0 started=$SECONDS
  shift 2
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  scratch="$root/.build/fuzz"
  export KVCLONE_FUZZ=1 ASAN_OPTIONS=detect_leaks=0
  local build=(swift build --package-path "$root" --scratch-path "$scratch/build" -c release --product KVCloneFuzz)
  # The first option omits main when linking, the second one instruments for coverage and addresses.
  build+=(--sanitize=fuzzer -Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing)
  say "building the fuzz targets"
  quietly "${build[@]}"
  program="$scratch/build/release/KVCloneFuzz"
  local known targets=("$@")
  known=$(KVCLONE_FUZZ_TARGET=list "$program")
  [ ${#targets[@]} -gt 0 ] || mapfile -t targets <<<"$known"
  for target in "${targets[@]}"; do
    grep -qx -- "$target" <<<"$known" || fail "unknown fuzz target '$target'; choose one of: $(tr '\n' ' ' <<<"$known")"
  done
  say "fuzzing ${#targets[@]} targets for $seconds s each, two at a time"
  local results="$scratch/results"
  rm -rf "$results"
  mkdir -p "$results"
  printf '%s\n' "${targets[@]}" | xargs -P 2 -I '{}' bash -c 'fuzz_one "$@"' _ "$program" "$scratch" "$seconds" '{}'
  if [ "$keep" = 1 ]; then
    printf '%s\n' "${targets[@]}" | xargs -P 2 -I '{}' bash -c 'keep_one "$@"' _ "$program" "$scratch" "$root/Tools/fuzz/Corpus" '{}'
  fi
  for target in "${targets[@]}"; do
    [ -e "$results/$target.passed" ] || failed=1
    cat "$results/$target.line" 2>/dev/null || printf '%-16s did not run\n' "$target"
  done
  say "fuzzed for $((SECONDS - started)) s"
  return "$failed"
}

# Runs one target. Its corpus stays in .build/fuzz/corpus, so that the next run continues from there.
fuzz_one() {
  local program=$1 scratch=$2 seconds=$3 target=$4 corpus seeds log status=0 runs
  corpus="$scratch/corpus/$target"
  seeds="$scratch/seeds/$target"
  log="$scratch/results/$target.log"
  mkdir -p "$corpus" "$seeds"
  (
    cd "$scratch/results" || exit 1
    KVCLONE_FUZZ_TARGET="$target" KVCLONE_FUZZ_SEEDS="$seeds" "$program" -max_total_time="$seconds" -timeout=10 -max_len=4096 \
      -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$target-" "$corpus" "$seeds" >"$log" 2>&1 </dev/null
  ) || status=$?
  runs=$(awk '/^stat::number_of_executed_units/ { print $2 }' "$log")
  if [ "$status" = 0 ]; then
    printf '%-16s %12s inputs, nothing found\n' "$target" "${runs:-?}" >"$scratch/results/$target.line"
    touch "$scratch/results/$target.passed"
  else
    printf '%-16s %12s inputs, FAILED: %s\n' "$target" "${runs:-?}" "$log" >"$scratch/results/$target.line"
  fi
}
export -f fuzz_one

# Writes a small set of inputs with most of the coverage of a target's corpus: base64, one per line. It is limited to a
# few thousand bytes per target, because the inputs are in the repository.
keep_one() {
  local program=$1 scratch=$2 kept=$3 target=$4 merged left=6000 size file
  merged="$scratch/merged/$target"
  rm -rf "$merged"
  mkdir -p "$merged" "$kept"
  KVCLONE_FUZZ_TARGET="$target" "$program" -merge=1 -timeout=10 -max_len=4096 "$merged" "$scratch/corpus/$target" "$scratch/seeds/$target" \
    >"$scratch/results/$target.merge.log" 2>&1 </dev/null || return 0
  # Sorted by size, then by name, which is a hash of the contents, so that the result is reproducible.
  find "$merged" -type f -size +0 -printf '%s %f\n' | sort -n | while read -r size file; do
    [ "$left" -ge "$size" ] || [ "$left" = 6000 ] || break
    left=$((left - size))
    base64 -w 0 "$merged/$file"
    echo
  done >"$kept/$target.txt"
}
export -f keep_one
