# Tests the image of a Dockerfile without Docker: in a directory that debootstrap fills. Source it after setup.sh.

# Prints the instructions of the last stage, one a line, without comments.
image_instructions() {
  awk '/^[[:space:]]*(#|$)/ { next }
    { line = line $0; if (sub(/\\$/, "", line)) next; print line; line = "" }' "$1" \
    | awk '/^FROM / { count = 0 } { lines[count++] = $0 } END { for (i = 0; i < count; i++) print lines[i] }'
}

# Prints the words of an instruction like CMD ["a", "b"], one a line.
image_words() { printf '%s\n' "$1" | sed -E 's/^[^[]*\["//; s/"\]$//; s/", *"/\n/g'; }

# The mirror that apt uses for a distribution.
debian_mirror() {
  local mirror
  mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 2>/dev/null \
    | awk -v name="$1" '$2 == name && !found { print $1; found = 1 }')
  printf '%s\n' "${mirror:-http://deb.debian.org/debian}"
}

# Sets enter_image to a command that takes a user and a command, and runs it in the directory `image`, with a list of
# processes and mounts of its own. As in a container, it is the first process there.
enter_image=()
prepare_image() {
  enter_image=(
    unshare --mount --pid --fork --kill-child -- bash -c '
      mount -t proc proc "$1/proc" && exec chroot --groups= --userspec="$2" "$1" \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:3}"'
    image "$image"
  )
}

# copy_to_image BINARIES SOURCE… DESTINATION: does what COPY does. The first stage has its products in /out.
copy_to_image() {
  local binaries=$1 words=("${@:2}") source
  local target=$image/${words[-1]#/}
  unset 'words[-1]'
  case "$target" in */) mkdir -p "$target" ;; *) mkdir -p "$(dirname "$target")" ;; esac
  for source in "${words[@]}"; do
    case "$source" in
      --from=build) continue ;;
      --*) fail "COPY $source is not supported here" ;;
      /out/*) source=$binaries/${source#/out/} ;;
    esac
    if [ -d "$source" ]; then mkdir -p "$target" && cp -R "$source/." "$target"; else cp "$source" "$target"; fi
  done
}

# make_image DOCKERFILE BINARIES: fills the directory `image`, and sets image_user, image_command and image_health.
make_image() {
  local line suite
  image_user= image_command=() image_health=() image_signal=
  while IFS= read -r line <&3; do
    case "$line" in
      'FROM debian:'*)
        suite=$(printf '%s\n' "$line" | sed -E 's/^FROM debian:([a-z]+).*/\1/')
        quietly debootstrap --variant=minbase "$suite" "$image" "$(debian_mirror "$suite")"
        cp -L /etc/resolv.conf "$image/etc/resolv.conf"
        ;;
      'RUN '*) quietly "${enter_image[@]}" 0:0 DEBIAN_FRONTEND=noninteractive sh -c "${line#RUN }" ;;
      'COPY '*)
        local words
        read -ra words <<<"${line#COPY }"
        copy_to_image "$2" "${words[@]}"
        ;;
      'USER '*) image_user=${line#USER } ;;
      'HEALTHCHECK '*) mapfile -t image_health < <(image_words "$line") ;;
      'STOPSIGNAL SIG'*) image_signal=${line#STOPSIGNAL SIG} ;;
      'ENTRYPOINT '* | 'CMD '*)
        local more
        mapfile -t more < <(image_words "$line")
        image_command+=("${more[@]}")
        ;;
      'VOLUME '*) ;;
      *) fail "this instruction is not supported here: $line" ;;
    esac
  done 3< <(image_instructions "$1")
}

image_service=

stop_image() {
  [ -n "$image_service" ] || return 0
  { kill -KILL "$image_service" && wait "$image_service"; } 2>/dev/null || true
  image_service=
}

# wait_for SECONDS DESCRIPTION COMMAND…
wait_for() {
  local deadline=$((SECONDS + $1)) description=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -le "$deadline" ] || fail "timeout: $description: $(tail -n 5 "$image.log")"
    sleep 0.2
  done
}

# test_image DOCKERFILE PRODUCTS FOLDER: makes the image, and runs its service.
test_image() {
  local products=$2 folder=$3 user process code=0
  [ "$(id -u)" = 0 ] || fail "--image needs root: it fills a directory with a system, and runs programs in it"
  require_packages debootstrap
  mkdir -p "$folder/out"
  cp "$products/KVCloneInbox" "$folder/out/kvclone-inbox"
  cp "$products/kvclone" "$folder/out/kvclone"
  image=$folder/image
  prepare_image
  say "running the commands of $1: about two minutes" >&2
  make_image "$1" "$folder/out"
  user=${image_user%%:*}
  [ -n "$user" ] && [ "$user" != 0 ] || fail "the image has no unprivileged user"
  say "made the image: $(du -sm "$image" | cut -f 1) MB"

  "${enter_image[@]}" "$image_user" "${image_command[@]}" >"$image.log" 2>&1 </dev/null &
  image_service=$!
  wait_for 30 "the command of HEALTHCHECK succeeds" "${enter_image[@]}" "$image_user" "${image_health[@]}"
  process=$(pgrep -P "$image_service") || fail "the service has ended"
  awk -v user="$user" '/^(Uid|Gid):/ && ($2 != user || $3 != user || $4 != user || $5 != user) { bad = 1 }
    /^CapEff:/ && $2 !~ /^0+$/ { bad = 1 } END { exit bad }' "/proc/$process/status" \
    || fail "the service runs with other ids, or with capabilities"
  say "the service runs as user $user, without capabilities"

  awk 'BEGIN { for (i = 1; i <= 100; i++) printf "{\"id\":\"Note/%d\",\"attributes\":{\"title\":\"note\"}}\n", i }' \
    >"$image/data/inbox/first.part"
  chown "$image_user" "$image/data/inbox/first.part"
  mv "$image/data/inbox/first.part" "$image/data/inbox/first.ndjson"
  wait_for 30 "a file is loaded" test -e "$image/data/inbox/done/first.ndjson"
  [ -z "$(find "$image/data" ! -user "$user")" ] || fail "files of the volume belong to another user"

  kill "-$image_signal" "$process"
  { wait "$image_service"; } 2>/dev/null || code=$?
  image_service=
  [ "$code" = 0 ] || fail "the service ended with $code after SIG$image_signal: $(tail -n 5 "$image.log")"
  ! "${enter_image[@]}" "$image_user" "${image_health[@]}" || fail "the stopped service is healthy"
  code=$("${enter_image[@]}" "$image_user" kvclone query Note TRUEPREDICATE --count --store /data/store)
  [ "$code" = 100 ] || fail "the store has $code objects instead of 100"
  say "loaded a file, and ended after SIG$image_signal: the store has $code objects"
}
