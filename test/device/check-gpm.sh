#!/bin/sh
# Runs check-gpm.mjs, also where there is no Node (see with-node.sh).
#   sh test/device/check-gpm.sh OUT_DIR [options]
exec sh "$(dirname "$0")/with-node.sh" check-gpm.mjs "$@"
