# Network namespaces of one script: a server db, and two machines a and b, each with a link to the server. Source it
# after setup.sh.
#
# at_db, at_a and at_b are commands that run their arguments there. Without root, they are empty: everything runs on
# the loopback interface.

at_db=() at_a=() at_b=()
networks=

# Creates the namespaces, and sets address_a and address_b to the addresses of the server on the links, and networks_hba
# to their common range. Nothing outside of the namespaces has a route to them.
make_networks() {
  if [ "$(id -u)" != 0 ]; then
    say "without root, there are no network namespaces: all processes use 127.0.0.1"
    address_a=127.0.0.1 address_b=127.0.0.1 networks_hba=127.0.0.1/32
    return
  fi
  command -v ip >/dev/null || require_packages iproute2
  networks=kvclone-$$
  local name
  for name in db a b; do
    ip netns add "$networks-$name" || fail "network namespaces are not available here"
    ip -n "$networks-$name" link set lo up
  done
  make_link a 10.77.0
  make_link b 10.77.1
  address_a=10.77.0.1 address_b=10.77.1.1 networks_hba=10.77.0.0/23
  at_db=(ip netns exec "$networks-db")
  at_a=(ip netns exec "$networks-a")
  at_b=(ip netns exec "$networks-b")
}

make_link() {
  ip -n "$networks-db" link add name "to-$1" type veth peer name eth0 netns "$networks-$1"
  ip -n "$networks-db" addr add "$2.1/24" dev "to-$1"
  ip -n "$networks-$1" addr add "$2.2/24" dev eth0
  ip -n "$networks-db" link set dev "to-$1" up
  ip -n "$networks-$1" link set dev eth0 up
}

# Takes the link of a machine down, or up again, at the end of the server, so that packets of the machine are lost.
set_link() { ip -n "$networks-db" link set dev "to-$1" "$2"; }

# Deletes the namespaces. Their links end with the last process in them.
remove_networks() {
  [ -n "$networks" ] || return 0
  local name
  for name in a b db; do ip netns del "$networks-$name" 2>/dev/null || true; done
  networks=
}
