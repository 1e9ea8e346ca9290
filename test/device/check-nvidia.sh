#!/bin/sh
# Runs check-nvidia.mjs where there is no Node: NODE names one, or a packed one (node.xz) stands beside this checkout.
#   sh test/device/check-nvidia.sh OUT_DIR [options]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
node=${NODE:-node}
if ! command -v "$node" >/dev/null 2>&1; then
  packed=${NODE_PACKED:-$here/../../node.xz}
  [ -f "$packed" ] || { echo "no Node: set NODE, or NODE_PACKED to a node.xz" >&2; exit 2; }
  node=${TMPDIR:-/var/tmp}/gpulse-check-node
  if command -v xz >/dev/null 2>&1; then xz -dc "$packed" >"$node"; else python3 -c 'import lzma,sys,shutil; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2],"wb"))' "$packed" "$node"; fi
  chmod +x "$node"
fi
exec "$node" "$here/check-nvidia.mjs" "$@"
