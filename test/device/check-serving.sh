#!/bin/sh
# Runs check-serving.mjs, also where there is no Node (see with-node.sh).
#   sh test/device/check-serving.sh OUT_DIR [options]
exec sh "$(dirname "$0")/with-node.sh" check-serving.mjs "$@"
