/** The state of alerting that survives restarts, in files under the data folder. */
import path from "node:path";
import { makeFolderSync } from "../base/make-folder.ts";
import type { Log } from "../base/log.ts";
import { StateMap } from "../base/state/state-map.ts";
import { type FiringAlert, FiringStore } from "./rules/firing-store.ts";
import { DeliveryLog, type NotificationDelivery } from "./route/deliveries.ts";
import type { UndeliveredAlert } from "./alert.ts";
import { type SentEntry, SentLog } from "./route/sent-log.ts";
import { Silences, type StoredSilence } from "./route/silences.ts";

export interface AlertFiles {
  readonly silences: Silences;
  readonly sent: SentLog;
  readonly deliveries: DeliveryLog;
  readonly undelivered: StateMap<UndeliveredAlert>;
  readonly firing: FiringStore;
  close(): void;
}

export function openAlertState(dir: string, log: Log): AlertFiles {
  const folder = path.join(dir, "alerts");
  makeFolderSync(folder);
  const open = <Value>(name: string, fields: readonly (keyof Value)[]): StateMap<Value> =>
    new StateMap<Value>(path.join(folder, `${name}.log`), {
      log,
      parse: having(fields),
      maxEntries: 1_000_000,
      maxBytes: 512 * 2 ** 20,
    });
  const silences = open<StoredSilence>("silences", ["id", "matchers", "startsAtMs", "endsAtMs"]);
  const sent = open<SentEntry>("sent", ["firing", "resolved", "timeMs", "count"]);
  const deliveries = open<NotificationDelivery>("deliveries", [
    "timeMs",
    "receiver",
    "outcome",
    "alerts",
  ]);
  const pending = open<UndeliveredAlert>("owed", [
    "fingerprint",
    "labels",
    "startsAtMs",
    "endsAtMs",
  ]);
  const firing = open<FiringAlert>("firing", ["labels", "annotations", "activeAtMs", "firedAtMs"]);
  const files = [silences, sent, deliveries, pending, firing];
  return {
    silences: new Silences(silences),
    sent: new SentLog(sent, log),
    deliveries: new DeliveryLog(deliveries, log),
    undelivered: pending,
    firing: new FiringStore(firing, log),
    close: () => {
      for (const file of files) file.close();
    },
  };
}

/** The records are our own and checksummed, so checking that the fields exist is enough. */
const having =
  <Value>(fields: readonly (keyof Value)[]) =>
  (value: unknown): Value | undefined =>
    typeof value === "object" && value !== null && fields.every((field) => field in value)
      ? (value as Value)
      : undefined;
