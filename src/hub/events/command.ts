/**
 * Runs a configured program for an alert: no shell, its own environment without the hub's secrets, bounded in time and output.
 * Its whole process group is ended on timeout or when the hub ends.
 */
import { spawn } from "node:child_process";
import type { WebhookAlert } from "./payload.ts";

export interface CommandOutcome {
  readonly ok: boolean;
  /** `exit 0`, `exit 3`, `ended after 10m`, `ENOENT`. */
  readonly how: string;
  /** The last part of its output. */
  readonly output: string;
}

export interface CommandRun {
  readonly done: Promise<CommandOutcome>;
  /** Sends SIGTERM, then SIGKILL. */
  end(why: string): void;
}

const maxCommandOutputBytes = 4_096;
const maxVariableBytes = 8_192;
const graceMs = 5_000;
/** The environment variables that a program needs to run at all; all others may contain secrets. */
const passed = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SystemRoot"];

export function runCommand(
  command: readonly string[],
  alert: WebhookAlert,
  timeoutMs: number,
  env: Readonly<Record<string, string | undefined>>,
): CommandRun {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    env: { ...only(env, passed), ...alertVariables(alert) },
    stdio: ["pipe", "pipe", "pipe"],
    // A separate process group, so that child processes end with it.
    detached: process.platform !== "win32",
    shell: false,
    windowsHide: true,
  });
  let output = Buffer.alloc(0);
  const keep = (part: Buffer): void => {
    output = Buffer.concat([output, part]).subarray(-maxCommandOutputBytes);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  // A program that does not read its input is not an error.
  child.stdin.on("error", () => {});
  child.stdin.end(`${JSON.stringify(webhookAlertJson(alert))}\n`);
  let ended: string | undefined;
  let hard: NodeJS.Timeout | undefined;
  const end = (why: string): void => {
    if (ended !== undefined) return;
    ended = why;
    signalGroup(child.pid, "SIGTERM");
    hard = setTimeout(() => signalGroup(child.pid, "SIGKILL"), graceMs);
  };
  const timer = setTimeout(() => end(`ended after ${timeoutMs / 1_000} s`), timeoutMs);
  const done = new Promise<CommandOutcome>((resolve) => {
    const finish = (ok: boolean, how: string): void => {
      clearTimeout(timer);
      clearTimeout(hard);
      resolve({ ok, how, output: output.toString("utf8").trim() });
    };
    child.once("error", (thrown) => finish(false, thrown.message));
    child.once("exit", (code, signal) => {
      // Kills what the program left running in its group; otherwise its pipes may stay open.
      signalGroup(child.pid, "SIGKILL");
      finish(code === 0 && ended === undefined, ended ?? signal ?? `exit ${code}`);
    });
  });
  return { done, end };
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // The process has already exited.
  }
}

/** Environment variables for the program. */
export function alertVariables(alert: WebhookAlert): Record<string, string> {
  const { labels, annotations, status, fingerprint, startsAtMs, endsAtMs } = alert;
  const variables: Record<string, string> = {
    GPULSE_ALERT_NAME: labels["alertname"] ?? "",
    GPULSE_ALERT_STATUS: status,
    GPULSE_ALERT_SEVERITY: labels["severity"] ?? "",
    GPULSE_ALERT_FINGERPRINT: fingerprint,
    GPULSE_ALERT_STARTS_AT: new Date(startsAtMs).toISOString(),
    GPULSE_ALERT_ENDS_AT: endsAtMs === undefined ? "" : new Date(endsAtMs).toISOString(),
    GPULSE_ALERT_SUMMARY: annotations["summary"] ?? "",
    GPULSE_ALERT_DESCRIPTION: annotations["description"] ?? "",
    GPULSE_ALERT_RECEIVER: alert.receiver,
    GPULSE_ALERT_GENERATOR_URL: alert.generatorUrl,
  };
  for (const [name, value] of Object.entries(labels))
    variables[`GPULSE_ALERT_LABEL_${variableName(name)}`] = value;
  for (const [name, value] of Object.entries(annotations))
    variables[`GPULSE_ALERT_ANNOTATION_${variableName(name)}`] = value;
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      value.replaceAll("\0", "").slice(0, maxVariableBytes),
    ]),
  );
}

const variableName = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9_]/g, "_");

/** An alert in Alertmanager's format: standard input of the program, and body of forwarded requests. */
export function webhookAlertJson(alert: WebhookAlert): Readonly<Record<string, unknown>> {
  const { status, labels, annotations, startsAtMs, endsAtMs, generatorUrl, fingerprint } = alert;
  return {
    status,
    labels,
    annotations,
    startsAt: new Date(startsAtMs).toISOString(),
    endsAt: endsAtMs === undefined ? "0001-01-01T00:00:00Z" : new Date(endsAtMs).toISOString(),
    generatorURL: generatorUrl,
    fingerprint,
  };
}

const only = (
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
