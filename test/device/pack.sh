#!/bin/sh
# Packs what a machine without Node needs for this folder's programs into dist/device: Node without its symbols (made once), the built
# dist/ and koffi. Run `npm run build` first; about 26 MB. all.sh unpacks it there.
# For the part `serving`, put LoadGen's wheel for that machine's Python beside it: `pip download --no-deps --python-version 312
# --only-binary=:all: -d dist/device mlcommons-loadgen`.
#   sh test/device/pack.sh [NODE]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
target=$root/dist/device
[ -f "$root/dist/gpulse/main.js" ] || { echo "dist/ is not built: run npm run build" >&2; exit 2; }
mkdir -p "$target"
if [ ! -f "$target/node.xz" ]; then
  cp "$(readlink -f "$(command -v "${1:-node}")")" "$target/node"
  strip -s "$target/node"
  xz -6 "$target/node"
fi
# -h: packages may be links.
tar -C "$root" -ch --exclude='*.map' --exclude=dist/device --exclude=dist/single --exclude=dist/release --exclude='dist/.*' \
  --exclude='*.cc' --exclude='*.hh' --exclude=musl_x64 --exclude=node_modules/koffi/doc --exclude=node_modules/koffi/vendor \
  dist node_modules/koffi node_modules/@koromix/koffi-linux-x64 | xz -3 >"$target/program.tar.xz"
ls -l "$target"
