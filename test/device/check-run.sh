#!/bin/sh
# Runs check-run.mjs, also where there is no Node (see with-node.sh).
#   sh test/device/check-run.sh OUT_DIR [options]
exec sh "$(dirname "$0")/with-node.sh" check-run.mjs "$@"
