#!/bin/sh
# Slurm's EpilogSlurmctld: mails the owner of a job how it used its GPUs, in the manner of seff, once the ledger of the
# hub has closed it. Into $GPULSE_REPORTS/JOBID.txt where that folder is set, else by mail. Never delays or fails a job.
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
export GPULSE_URL="${GPULSE_URL:-http://127.0.0.1:9410}"

# slurmctld kills the process group of an epilog that returns: the report leaves the group first.
setsid --fork sh -c '
  tries=24
  while [ "$tries" -gt 0 ]; do
    sleep "${GPULSE_RETRY_SECONDS:-5}"
    tries=$((tries - 1))
    report=$(gpulse jobs report "$SLURM_JOB_ID" --text --url "$GPULSE_URL" 2>/dev/null) || continue
    case $report in *"State: RUNNING"*) continue ;; esac
    if [ -n "${GPULSE_REPORTS:-}" ]; then
      printf "%s\n" "$report" >"$GPULSE_REPORTS/$SLURM_JOB_ID.txt"
    else
      printf "%s\n" "$report" | mail -s "Job $SLURM_JOB_ID: use of its GPUs" "$SLURM_JOB_USER"
    fi
    exit
  done
' </dev/null >/dev/null 2>&1
sleep 0.1
exit 0
