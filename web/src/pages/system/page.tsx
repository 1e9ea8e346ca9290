/** The monitor itself: machines that report, storage and sinks, pipes, notification channels and access. */
import { isShared } from "../../query/me.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Empty } from "../../ui/banner.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { Param, oneOf } from "../../view-state/param.ts";
import { Access } from "./access.tsx";
import type { AgentsResponse, PipesResponse, TargetsResponse } from "./api.ts";
import { Audit } from "./audit.tsx";
import { Channels } from "./channels.tsx";
import { Machines } from "./machines.tsx";
import { Pipes } from "./pipes.tsx";
import { Storage } from "./storage.tsx";
import "./system.css";

const tabs = ["machines", "storage", "pipes", "channels", "access", "audit"] as const;
const tab = new Param("tab", oneOf(tabs), "push");

export function Page() {
  if (isShared.value)
    return (
      <Empty title="A shared view does not include this page.">
        <a href={hrefOf("fleet")}>Open the fleet</a>
      </Empty>
    );
  return <System />;
}

function System() {
  const agents = useJson<AgentsResponse>("api/agents", 5_000);
  const targets = useJson<TargetsResponse>("api/v1/targets?state=active", 10_000);
  const pipes = useJson<PipesResponse>("api/pipes", 3_000);
  const failing = (pipes.value?.pipes ?? []).filter(
    ({ state }) => state === "failed" || state === "waiting",
  ).length;
  const troubled =
    (agents.value?.agents ?? []).filter(({ state }) => state === "silent" || state === "late")
      .length +
    (targets.value?.data.activeTargets ?? []).filter(({ health }) => health === "down").length;
  const chosen = tab.value;
  return (
    <>
      <Tabs
        page="system"
        label="Parts of the system"
        chosen={chosen}
        tabs={[
          { name: "machines", label: "Machines", count: troubled, level: "warn" },
          { name: "storage", label: "Storage" },
          { name: "pipes", label: "Pipes", count: failing, level: "warn" },
          { name: "channels", label: "Channels" },
          { name: "access", label: "Access" },
          { name: "audit", label: "Audit" },
        ]}
      />
      {chosen === "machines" && <Machines agents={agents} targets={targets} />}
      {chosen === "storage" && <Storage />}
      {chosen === "pipes" && <Pipes answer={pipes} />}
      {chosen === "channels" && <Channels />}
      {chosen === "access" && <Access />}
      {chosen === "audit" && <Audit />}
    </>
  );
}
