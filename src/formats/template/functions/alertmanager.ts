/** The functions and the data of Alertmanager's notification templates. */
import { type Functions, itemsOf } from "../builtins.ts";
import { TemplateError } from "../lex.ts";
import { durationMsOf, formatTime, goDuration, goTime, millisOf, zeroTimeMs } from "../time.ts";
import {
  GoMap,
  type GoObject,
  isList,
  isObject,
  printValue,
  SafeText,
  type TemplateValue,
} from "../value.ts";
import { floatOf, humanizeDuration } from "./humanize.ts";
import { textArg, textFunctions } from "./text.ts";

/** An alert of a notification, for templates and webhooks. */
export interface NotifiedAlert {
  readonly status: "firing" | "resolved";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAtMs: number;
  /** Absent while the alert fires. */
  readonly endsAtMs: number | undefined;
  readonly generatorUrl: string;
  readonly fingerprint: string;
}

export interface NotificationData {
  readonly receiver: string;
  readonly status: "firing" | "resolved";
  readonly alerts: readonly NotifiedAlert[];
  readonly groupLabels: Readonly<Record<string, string>>;
  readonly commonLabels: Readonly<Record<string, string>>;
  readonly commonAnnotations: Readonly<Record<string, string>>;
  readonly externalUrl: string;
  readonly routeLabels: Readonly<Record<string, string>>;
}

/** Labels as Alertmanager's KV type: `alertname` comes first in the sorted order. */
function keyValues(pairs: Readonly<Record<string, string>>): GoMap {
  const sorted = (): readonly (readonly [string, string])[] => {
    const names = Object.keys(pairs).sort();
    const first = names.filter((name) => name === "alertname");
    return [...first, ...names.filter((name) => name !== "alertname")].map(
      (name) => [name, pairs[name] ?? ""] as const,
    );
  };
  return new GoMap(new Map(Object.entries(pairs)), "", {
    SortedPairs: () => pairList(sorted()),
    Names: () => sorted().map(([name]) => name),
    Values: () => sorted().map(([, value]) => value),
    Remove: ([names]) => {
      const gone = new Set((itemsOf(names ?? null) ?? []).map(printValue));
      return keyValues(
        Object.fromEntries(Object.entries(pairs).filter(([name]) => !gone.has(name))),
      );
    },
  });
}

function pairList(pairs: readonly (readonly [string, string])[]): GoObject {
  return {
    goType: "template.Pairs",
    print: () => pairs.map(([name, value]) => `${name}=${value}`).join(", "),
    items: pairs.map(([name, value]) => ({
      goType: "template.Pair",
      print: () => `{${name} ${value}}`,
      fields: { Name: name, Value: value },
    })),
    methods: {
      Names: () => pairs.map(([name]) => name),
      Values: () => pairs.map(([, value]) => value),
      String: () => pairs.map(([name, value]) => `${name}=${value}`).join(", "),
    },
  };
}

function alertList(alerts: readonly NotifiedAlert[]): GoObject {
  return {
    goType: "template.Alerts",
    print: () => `[${alerts.map(({ fingerprint }) => fingerprint).join(" ")}]`,
    items: alerts.map(alertValue),
    methods: {
      Firing: () => alertList(alerts.filter(({ status }) => status === "firing")),
      Resolved: () => alertList(alerts.filter(({ status }) => status === "resolved")),
    },
  };
}

function alertValue(alert: NotifiedAlert): GoObject {
  return {
    goType: "template.Alert",
    print: () => alert.fingerprint,
    fields: {
      Status: alert.status,
      Labels: keyValues(alert.labels),
      Annotations: keyValues(alert.annotations),
      StartsAt: goTime(alert.startsAtMs),
      EndsAt: goTime(alert.endsAtMs ?? zeroTimeMs),
      GeneratorURL: alert.generatorUrl,
      Fingerprint: alert.fingerprint,
    },
  };
}

export function notificationValue(data: NotificationData): GoObject {
  return {
    goType: "*template.Data",
    print: () => data.receiver,
    fields: {
      Receiver: data.receiver,
      Status: data.status,
      Alerts: alertList(data.alerts),
      GroupLabels: keyValues(data.groupLabels),
      CommonLabels: keyValues(data.commonLabels),
      CommonAnnotations: keyValues(data.commonAnnotations),
      ExternalURL: data.externalUrl,
      RouteLabels: keyValues(data.routeLabels),
    },
  };
}

export function alertmanagerFunctions(nowMs: () => number): Functions {
  return {
    ...textFunctions,
    join: (args) => (itemsOf(args[1] ?? null) ?? []).map(printValue).join(textArg(args, 0, "join")),
    stringSlice: (args) => args.map(printValue),
    list: (args) => args,
    append: ([list, ...more]) => [...(itemsOf(list ?? null) ?? []), ...more],
    dict: dictionary,
    date: (args) => formatTime(millisOf(args[1] ?? null), textArg(args, 0, "date")),
    tz: (args) => goTime(millisOf(args[1] ?? null), textArg(args, 0, "tz")),
    since: ([time]) => goDuration(nowMs() - millisOf(time ?? null)),
    humanizeDuration: ([value]) =>
      humanizeDuration(
        value !== undefined && isObject(value) ? durationMsOf(value) / 1_000 : floatOf(value),
      ),
    toJson: ([value]) => JSON.stringify(plainOf(value ?? null)),
    safeUrl: (args) => new SafeText(textArg(args, 0, "safeUrl")),
    urlUnescape: (args) => {
      try {
        return decodeURIComponent(textArg(args, 0, "urlUnescape").replaceAll("+", " "));
      } catch {
        throw new TemplateError("error calling urlUnescape: invalid URL escape");
      }
    },
  };
}

function dictionary(args: readonly TemplateValue[]): TemplateValue {
  if (args.length % 2 !== 0) throw new TemplateError("error calling dict: it takes pairs");
  const entries = new Map<string, TemplateValue>();
  for (let at = 0; at < args.length; at += 2)
    entries.set(textArg(args, at, "dict"), args[at + 1] ?? null);
  return new GoMap(entries);
}

function plainOf(value: TemplateValue): unknown {
  if (typeof value === "bigint") return Number(value);
  if (isList(value)) return value.map(plainOf);
  if (value instanceof SafeText) return value.text;
  if (value instanceof GoMap)
    return Object.fromEntries([...value.entries].map(([key, entry]) => [key, plainOf(entry)]));
  if (!isObject(value)) return value;
  if (value.items !== undefined) return value.items.map(plainOf);
  if (value.goType === "time.Time") return new Date(millisOf(value)).toISOString();
  return Object.fromEntries(
    Object.entries(value.fields ?? {}).map(([key, entry]) => [jsonName(key), plainOf(entry)]),
  );
}

/** `StartsAt` is `startsAt` in JSON, `GeneratorURL` is `generatorURL`. */
const jsonName = (field: string): string => field.charAt(0).toLowerCase() + field.slice(1);
