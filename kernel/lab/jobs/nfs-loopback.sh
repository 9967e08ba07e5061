# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Figures: nfs-stream with the server in the same guest, and with a clock that stands still while the guest computes.
# Every run gives the same figures, on any machine. A pair of virtual devices with a fixed rate connects client and
# server. The server keeps its files on tmpfs, so all dirty pages and pages under writeback belong to the client, and
# COMMITs take no time.
#   MIB=256 KIB=64, SYSCTLS, WSIZE, VERS, MOUNT, RATE, LINK_MS: see nfs-stream
#   DIRTY_MIB=46         the dirty limit of a client with 256 MiB
# config: nfs
# append: time-travel=inf-cpu
# mem: 1G
# timeout: 300
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
ip link set lo up
mount -t tmpfs -o size=768M tmpfs "$export_dir"
chmod 777 "$export_dir"
start_nfsd

# The client's end is in a separate network namespace; otherwise packets would bypass the devices.
unshare --net sleep 100000 &
namespace=$!
client_side=(nsenter "--net=/proc/$namespace/ns/net")
other_namespace() {
    [ "$(readlink "/proc/$namespace/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
within 10 other_namespace
ip link add server type veth peer name client netns "$namespace"
ip address add "$server_address/24" dev server
ip link set server up
"${client_side[@]}" ip link set lo up
"${client_side[@]}" ip address add "$client_address/24" dev client
"${client_side[@]}" ip link set client up
"${client_side[@]}" tc qdisc replace dev client root netem limit 100000 rate "${RATE:-400mbit}" \
    delay "${LINK_MS:-0}ms"

mount_nfs
writeback_as_usual
for name in "vm.dirty_bytes=$((${DIRTY_MIB:-46} << 20))" ${SYSCTLS:-}; do sysctl -q "$name"; done
counts_begin
"$BIN/nfsstream" --mib "${MIB:-256}" --kib "${KIB:-64}" "$mount_dir" >>"$E4R_RUN/figures"
counts_end
umount "$mount_dir"
rpc.nfsd 0
kill $namespace
