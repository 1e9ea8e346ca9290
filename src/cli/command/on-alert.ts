/** `hub.on_alert`: the commands to run and the URLs to notify when an alert is posted to /alert. Nothing by default. */
import * as v from "valibot";
import { durationMs, text, wholeNumber } from "../../config/fields.ts";
import { Secret } from "../../net/http/secret.ts";
import { optionalKey } from "./setting.ts";

export interface AlertActionSettings {
  /** Matchers that select alerts; the hub refuses to start with an invalid one. */
  readonly match: readonly string[];
  readonly status: "firing" | "resolved" | "both";
  /** A program and its arguments, run without a shell. */
  readonly command: readonly string[] | undefined;
  readonly forward: { readonly url: string; readonly token: Secret | undefined } | undefined;
  readonly timeoutMs: number;
  /** Maximum number of concurrent commands; further ones queue. */
  readonly concurrency: number;
}

const webUrl = () => {
  const takes = "a URL such as http://host/path";
  return v.pipe(
    v.string(takes),
    v.check((given) => URL.canParse(given) && /^https?:$/.test(new URL(given).protocol), takes),
  );
};

const entry = v.pipe(
  v.strictObject({
    match: optionalKey(
      v.array(text("a matcher"), "a list of matchers"),
      'Matchers of the alerts, such as `alertname="GpuIdle"`; default: all alerts.',
    ),
    status: optionalKey(
      v.picklist(["firing", "resolved", "both"], "firing, resolved or both"),
      "Run when an alert fires (default), when it is resolved, or both.",
    ),
    command: optionalKey(
      v.pipe(
        v.array(text("text"), "a list: a program and its arguments"),
        v.minLength(1, "a list"),
      ),
      "A program and its arguments, started once per alert, without a shell. The alert is in `GPULSE_ALERT_…` variables and on standard input.",
    ),
    forward: optionalKey(
      webUrl(),
      "URL to which each alert is posted once, in Alertmanager's format.",
    ),
    forward_token: optionalKey(text("a token"), "Bearer token for that URL."),
    timeout: optionalKey(durationMs(1_000, 7 * 86_400_000), "Time limit of a command (10m)."),
    concurrency: optionalKey(wholeNumber(1, 64), "Number of commands that run at once (4)."),
  }),
  v.check(
    ({ command, forward }) => command !== undefined || forward !== undefined,
    "an entry with a command or a forward",
  ),
);

/** Key of `hub:`. */
export const onAlertKey = optionalKey(
  v.array(entry, "a list of what to do"),
  "Actions for alerts of `POST /alert`, which needs a token of scope push, also on loopback.",
);

const keySchema = v.object({ on_alert: onAlertKey });

export function onAlertSettings(
  hub: v.InferOutput<typeof keySchema> | undefined,
): readonly AlertActionSettings[] {
  return (hub?.on_alert ?? []).map((raw) => ({
    match: raw.match ?? [],
    status: raw.status ?? "firing",
    command: raw.command,
    forward:
      raw.forward === undefined
        ? undefined
        : {
            url: raw.forward,
            token: raw.forward_token === undefined ? undefined : new Secret(raw.forward_token),
          },
    timeoutMs: raw.timeout ?? 600_000,
    concurrency: raw.concurrency ?? 4,
  }));
}
