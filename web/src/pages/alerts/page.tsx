/** Alerts: firing alerts, rules, events and notifications. */
import { useJson } from "../../query/use-fetch.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { Param, oneOf } from "../../view-state/param.ts";
import { type ApiAlertGroup, type GettableSilence, levelOf } from "./api.ts";
import { Events } from "./events.tsx";
import { History } from "./history.tsx";
import { Now } from "./now.tsx";
import { Rules } from "./rules.tsx";
import { SilenceDialog } from "./silence-dialog.tsx";
import { Silences } from "./silences.tsx";
import "./alerts.css";

const tabs = ["now", "silences", "rules", "history", "events"] as const;
const tab = new Param("tab", oneOf(tabs), "push");
const EVERY_MS = 5_000;

export function Page() {
  const groups = useJson<readonly ApiAlertGroup[]>("api/v2/alerts/groups", EVERY_MS);
  const silences = useJson<readonly GettableSilence[]>("api/v2/silences", EVERY_MS);
  const active = (groups.value ?? [])
    .flatMap(({ alerts }) => alerts)
    .filter(({ status }) => status.state !== "suppressed");
  const chosen = tab.value;
  const again = (): void => {
    groups.again();
    silences.again();
  };
  return (
    <>
      <Tabs
        page="alerts"
        label="Parts of alerts"
        chosen={chosen}
        tabs={[
          {
            name: "now",
            label: "Active",
            count: new Set(active.map(({ fingerprint }) => fingerprint)).size,
            level: active.some(({ labels }) => levelOf(labels["severity"]) === "bad")
              ? "bad"
              : "warn",
          },
          {
            name: "silences",
            label: "Silences",
            count: silences.value?.filter(({ status }) => status.state !== "expired").length,
          },
          { name: "rules", label: "Rules" },
          { name: "history", label: "Deliveries" },
          { name: "events", label: "Events" },
        ]}
      />
      {chosen === "now" && <Now {...{ groups, silences: silences.value ?? [] }} />}
      {chosen === "silences" && <Silences silences={silences} />}
      {chosen === "rules" && <Rules />}
      {chosen === "history" && <History />}
      {chosen === "events" && <Events />}
      <SilenceDialog onDone={again} />
    </>
  );
}
