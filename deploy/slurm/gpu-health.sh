#!/bin/sh
# Slurm's HealthCheckProgram: drains this node while a GPU or its machine is failing or lost, with the reason.
# Slurm ignores the exit code and ends the program after 60 s. It never undrains: that is a person's decision.
url=${GPULSE_URL:-http://127.0.0.1:9400}
report=$(gpulse health --url "$url" --fail-on failing,lost)
case $? in
  5 | 6)
    reason=$(printf '%s\n' "$report" | grep -E ' (failing|lost)  ' | head -n 1 | tr -s ' ' | cut -c 1-120)
    scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="gpulse: $reason"
    ;;
esac
