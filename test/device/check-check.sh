#!/bin/sh
# Runs check-check.mjs, also where there is no Node (see with-node.sh).
#   sh test/device/check-check.sh OUT_DIR [options]
exec sh "$(dirname "$0")/with-node.sh" check-check.mjs "$@"
