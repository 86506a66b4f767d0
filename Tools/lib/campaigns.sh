# shellcheck shell=bash
# Sourced by Tools/faults: the classes that run tests or large workloads instead of the fault tool. Needs setup.sh, and
# `root`.
#
# Each function appends rows to the file `$table`, reports results on standard error, and returns 1 if something failed.

# The classes of a full run; the others take hours, and run only if named.
campaigns=(model branches golden memory)
longer_campaigns=(fuzzing sanitizers)

# row NUMBER FAULT TRIALS RESULT CLASS
row() {
  printf '| %s | %s | %s | %s | `Tools/faults --seed %s --class %s` |\n' "$1" "$2" "$3" "$4" "$seed" "$5" >>"$table"
}

# told TITLE TRIALS RESULT SINCE
told() { say "$1: $2 trials, $3, $((SECONDS - $4)) s" >&2; }

# tests FILTER: runs the matching tests; `$output` receives their output.
output=
tests() {
  output=$(env "${@:2}" "$root/Tools/test" "$1" 2>&1 </dev/null) && return 0
  # The output is not kept elsewhere, so the start of it is printed.
  grep -v '^✔' <<<"$output" | head -n 40 >&2
  return 1
}

# Random operations of threads and processes on one store, compared with plain dictionaries, and of one thread with more
# snapshots.
campaign_model() {
  local started=$SECONDS result="all passed" operations reopened
  tests SharedStorePropertyTests KVCLONE_SEEDS="$seed,$((seed + 1))" KVCLONE_OPERATIONS=250000 || result="**FAILED**"
  operations=$(awk '/^seed [0-9]+: [0-9]+ operations of/ { sum += $3 } END { print sum + 0 }' <<<"$output")
  reopened=$(awk '/^seed [0-9]+: [0-9]+ operations of/ { for (i = 2; i <= NF; i++) if ($i == "rounds") sum += $(i - 1) } END { print sum + 0 }' <<<"$output")
  grep '^seed' <<<"$output" >&2 || true
  [ "$operations" -ge 500000 ] && [ "$reopened" -ge 1000 ] || result="**FAILED**"
  row G12 "random operations of 4 threads and 2 processes, compared with dictionaries; all reopen the store $reopened times" \
    "$operations" "$result" model
  told "random operations" "$operations" "$result" "$started"
  [ "$result" = "all passed" ]
}

# Random operations of two processes on one store and its branches, compared with full copies.
campaign_branches() {
  local started=$SECONDS result="all passed" operations
  tests BranchPropertyTests KVCLONE_SEEDS="$seed,$((seed + 1))" KVCLONE_OPERATIONS=100000 || result="**FAILED**"
  operations=$(awk '/^seed [0-9]+: [0-9]+ operations,/ { sum += $3 } END { print sum + 0 }' <<<"$output")
  grep '^seed' <<<"$output" >&2 || true
  [ "$operations" -ge 200000 ] || result="**FAILED**"
  row G12 "random operations of 2 processes on a store and up to 20 branches, compared with full copies" \
    "$operations" "$result" branches
  told "random operations on branches" "$operations" "$result" "$started"
  [ "$result" = "all passed" ]
}

campaign_golden() {
  local started=$SECONDS result="all passed" count
  # Stores, an incremental backup, and a write-ahead log with its store.
  count=$(find "$root/Tests/KVCloneOperationsTests/GoldenStores" -name '*.txt' ! -name '*.dump.txt' | wc -l)
  tests Golden || result="**FAILED**"
  grep -q '^✔ Test run with [1-9]' <<<"$output" || result="**FAILED**"
  row G15 "golden files of every format version: opened, checked, changed, migrated, restored, recovered" "$count" "$result" golden
  told "golden files" "$count" "$result" "$started"
  [ "$result" = "all passed" ]
}

campaign_memory() {
  local started=$SECONDS result="all passed" report="$scratch/memory" name limit peak seconds outcome
  : >"$report"
  "$root/Tools/memory" large-images large-records --report "$report" >&2 </dev/null || result="**FAILED**"
  while IFS='|' read -r _ name limit peak seconds outcome _; do
    case "$name" in *large-*) ;; *) continue ;; esac
    case "$outcome" in *FAILED*) outcome="**FAILED**" ;; *) outcome="all passed" ;; esac
    row G11 "$(echo "$name: 4 GiB, $limit: at most $peak MiB, in $seconds" | tr -s ' ' | sed 's/^ //; s/ $//; s/ :/:/g')" 1 "$outcome" memory
  done <"$report"
  # A complete report has ten rows.
  if [ "$(grep -c large- "$report")" != 10 ]; then
    result="**FAILED**"
    row G11 "4 GiB in 256 MiB: not all workloads completed" 0 "$result" memory
  fi
  told "4 GiB in 256 MiB" "$(grep -c large- "$report")" "$result" "$started"
  [ "$result" = "all passed" ]
}

campaign_fuzzing() {
  local started=$SECONDS result="nothing found" line
  output=$("$root/Tools/test" --fuzz --seconds 300 2>&1 </dev/null) || result="**FAILED**"
  while read -r line; do
    row G13 "fuzzing with the address sanitizer for 300 s: ${line%% *}" "$(awk '{ print $2 }' <<<"$line")" \
      "$(sed 's/.* inputs, //; s/:.*//' <<<"$line")" fuzzing
  done < <(grep ' inputs, ' <<<"$output")
  if [ "$result" != "nothing found" ]; then
    tail -n 20 <<<"$output" >&2
    # A failed build, and a target that did not run, have no line in the output.
    row G13 "fuzzing with the address sanitizer" "$(grep -c ' inputs, ' <<<"$output")" "$result" fuzzing
  fi
  told fuzzing "$(grep -c ' inputs, ' <<<"$output")" "$result" "$started"
  [ "$result" = "nothing found" ]
}

campaign_sanitizers() {
  local sanitizer started result failed=0 count skipped
  for sanitizer in address thread; do
    started=$SECONDS
    result=clean
    output=$("$root/Tools/test" --sanitize "$sanitizer" 2>&1 </dev/null) || { result="**FAILED**" failed=1; tail -n 60 <<<"$output" >&2; }
    count=$(sed -n 's/^✔ Test run with \([0-9]*\) tests.*/\1/p' <<<"$output")
    # Tests skip, with a reason, if the machine lacks something or the sanitizer leaves too little memory.
    skipped=$(grep -c '^➜ Test ' "$root/.build/sanitized-$sanitizer/tests.log" || true)
    row G14 "all tests under the $sanitizer sanitizer, $skipped of them skipped" "${count:-0}" "$result" sanitizers
    told "$sanitizer sanitizer" "${count:-0}" "$result" "$started"
  done
  return "$failed"
}
