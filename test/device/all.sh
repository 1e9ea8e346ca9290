#!/bin/sh
# Every check of this folder that a visit to a GPU needs, one after another, within a time limit; works where there is no Node (see
# pack.sh). What was measured is in summary.md after each part, everything else in details.tar.gz.
#   sh test/device/all.sh OUT_DIR [PART ...]
# Parts: gpm books check health nvidia, about 500 s on one H200; by name also run (200 s) and serving (570 s, with LoadGen where
# pack.sh was given its wheel). LIMIT_SECONDS (540) is when the last one ends.
# To try it without a GPU: STUB=DIR with the tests' libnvidia-ml.so.1 runs gpm, books and health by the stand-in, a few seconds each.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:?"usage: all.sh OUT_DIR [PART ...]"}
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
began=$(date +%s)
limit=${LIMIT_SECONDS:-540}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/details"

packed=$root/dist/device
unpack() { python3 -c 'import lzma,sys,shutil; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2],"wb"))' "$1" "$2"; }
node=${NODE:-node}
if ! command -v "$node" >/dev/null 2>&1; then
  [ -f "$packed/node.xz" ] || { echo "no Node here and no $packed/node.xz: run pack.sh before" >&2; exit 2; }
  node=${TMPDIR:-/var/tmp}/gpulse-check-node
  unpack "$packed/node.xz" "$node"
  chmod +x "$node"
fi
if [ ! -f "$root/dist/gpulse/main.js" ]; then
  python3 -c 'import sys,tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$packed/program.tar.xz" "$root" 2>/dev/null
  [ -f "$root/dist/gpulse/main.js" ] || { echo "$packed/program.tar.xz cannot be unpacked" >&2; exit 2; }
fi

stub=${STUB:-}
smoke() { [ -n "$stub" ]; }
left() { echo $((limit - $(date +%s) + began)); }
failed=0
{
  echo "# gpulse on a GPU, $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  echo
  nvidia-smi -L 2>/dev/null
  nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null
  "$node" --version
  git -C "$root" log -1 --format=%h 2>/dev/null
} >"$out/summary.md"

save() { tar -C "$work/details" -czf "$out/details.tar.gz" . 2>/dev/null; }

# part NAME SECONDS COMMAND...: what it needs at least; without that much time it is not begun.
part() {
  name=$1 needs=$2
  shift 2
  if [ "$(left)" -lt "$needs" ] && ! smoke; then
    printf '\n## %s\n\nnot run: %s s left, %s needed\n' "$name" "$(left)" "$needs" >>"$out/summary.md"
    failed=1
    return
  fi
  start=$(date +%s)
  mkdir -p "$work/details/$name"
  timeout -k 5 "$(left)" "$@" >"$work/details/$name/log.txt" 2>&1
  code=$?
  [ "$code" = 0 ] || failed=1
  {
    printf '\n## %s: exit %s after %s s\n\n' "$name" "$code" $(($(date +%s) - start))
    cat "$work/details/$name"/*.md 2>/dev/null || tail -n 60 "$work/details/$name/log.txt"
  } >>"$out/summary.md"
  echo "== $name: exit $code after $(($(date +%s) - start)) s"
  grep -E '^(ok|BAD) ' "$work/details/$name/log.txt" || tail -n 20 "$work/details/$name/log.txt"
  save
}

# Bursts need more readings of the clock than steady work does.
kinds=idle,bf16,fp16,tf32,fp8,int8,fp64,fp32,copy,elementwise,vector,tiny,h2d,d2h,half:20,spin
for name in ${*:-gpm books check health nvidia}; do
  folder=$work/details/$name
  mkdir -p "$folder"
  case $name in
    gpm)
      if smoke; then part gpm 0 "$node" "$here/check-gpm.mjs" "$folder" --stub --library "$stub/libnvidia-ml.so.1" --seconds 10 --kinds idle,bf16,copy,half
      else part gpm 230 "$node" "$here/check-gpm.mjs" "$folder" --seconds 9 --kinds "$kinds"; fi ;;
    books)
      if smoke; then part books 0 "$node" "$here/check-books.mjs" "$folder" --stub --library "$stub/libnvidia-ml.so.1" --seconds 10
      else part books 95 "$node" "$here/check-books.mjs" "$folder" --seconds 60; fi ;;
    check)
      smoke || part check 80 "$node" "$here/check-check.mjs" "$folder" --seconds 8 --repeats 3 ;;
    nvidia)
      smoke || part nvidia 105 "$node" "$here/check-nvidia.mjs" "$folder" --pace 0.45 ;;
    health)
      if smoke; then part health 0 "$node" "$root/dist/gpulse/main.js" health --source "nvidia:?library=$stub/libnvidia-ml.so.1"
      else part health 8 "$node" "$root/dist/gpulse/main.js" health; fi ;;
    run)
      smoke || part run 190 "$node" "$here/check-run.mjs" "$folder" ;;
    serving)
      for wheel in "$packed"/*.whl; do [ ! -f "$wheel" ] || python3 -m zipfile -e "$wheel" "$work/python"; done
      # SERVING names some of batches, split and loadgen, and more options.
      # shellcheck disable=SC2086
      smoke || part serving "${SERVING_SECONDS:-420}" env PYTHONPATH="$work/python" "$node" "$here/check-serving.mjs" "$folder" ${SERVING:-} ;;
    *) echo "all.sh: no such part: $name" >&2; exit 2 ;;
  esac
done
printf '\n%s s in all\n' $(($(date +%s) - began)) >>"$out/summary.md"
save
exit "$failed"
