#!/bin/sh
# Runs a program of this folder where there is no Node: NODE names one, or a packed one (node.xz) stands in the checkout or in
# .device. A built dist/ and node_modules/koffi may stand in .device as well.
#   sh test/device/with-node.sh PROGRAM.mjs [arguments]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=$1
shift
node=${NODE:-node}
if ! command -v "$node" >/dev/null 2>&1; then
  packed=${NODE_PACKED:-}
  for file in "$root/node.xz" "$root/.device/node.xz"; do [ -n "$packed" ] || { [ -f "$file" ] && packed=$file; } || true; done
  [ -n "$packed" ] || { echo "no Node: set NODE, or NODE_PACKED to a node.xz" >&2; exit 2; }
  node=${TMPDIR:-/var/tmp}/gpulse-check-node
  if command -v xz >/dev/null 2>&1; then xz -dc "$packed" >"$node"; else python3 -c 'import lzma,sys,shutil; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2],"wb"))' "$packed" "$node"; fi
  chmod +x "$node"
fi
[ -d "$root/dist" ] || { [ -d "$root/.device/dist" ] && cp -r "$root/.device/dist" "$root/dist"; }
[ -d "$root/node_modules/koffi" ] || { [ -d "$root/.device/node_modules" ] && mkdir -p "$root/node_modules" && cp -r "$root/.device/node_modules/." "$root/node_modules/"; } || true
exec "$node" "$here/$program" "$@"
