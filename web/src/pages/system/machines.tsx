/** Machines that report to the hub: agents that push, targets that are scraped, and the command that adds another. */
import { formatAge } from "../../../../src/view/age.ts";
import { formatReadable } from "../../format/readable.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { send } from "../../query/http.ts";
import type { FetchState } from "../../query/use-fetch.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { attempt } from "../../ui/attempt.ts";
import { toast } from "../../ui/toast.ts";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import { AddMachine } from "./add-machine.tsx";
import type { ApiAgent, AgentsResponse, ApiTarget, TargetsResponse } from "./api.ts";

export function Machines({
  agents,
  targets,
}: {
  agents: FetchState<AgentsResponse>;
  targets: FetchState<TargetsResponse>;
}) {
  const list = agents.value?.agents ?? [];
  const contested = list.filter((agent) => agent.contested);
  const held = list.filter((agent) => agent.held === true);
  const inactive = targets.value?.data.inactivePools ?? [];
  return (
    <>
      <AddMachine />
      {contested.length > 0 && (
        <Banner level="warn" title="Two agents push under one name.">
          {contested.map(({ id }) => id).join(", ")}: give one of them another with --host-name.
        </Banner>
      )}
      {held.length > 0 && (
        <Banner level="warn" title="Clocks do not agree with the hub's.">
          {held.map(({ id }) => id).join(", ")}: frames are held there until the clocks agree, and
          then sent. Set the clock that is wrong; where it is many machines, the hub's.
        </Banner>
      )}
      <section aria-label="Agents">
        <h2 class="section">Agents</h2>
        <Table
          caption="Agents"
          class="stacked"
          columns={agentColumns(agents.again)}
          rows={rowsOf(agents, list)}
          rowKey={({ id }) => id}
          rowLevel={({ state, contested: twice, held: isHeld }) =>
            state === "silent" || state === "late" || twice || isHeld === true ? "warn" : undefined
          }
          empty={
            agents.error !== undefined && agents.error.status !== 0 ? (
              agents.error.message
            ) : (
              <Empty title="No agent pushes to this hub.">
                This machine's own GPUs need none. Add another machine with the button above.
              </Empty>
            )
          }
        />
      </section>
      <section aria-label="Targets">
        <h2 class="section">Scrape targets</h2>
        {inactive.map(({ scrapePool, reason }) => (
          <Banner key={scrapePool} level="warn" title={`The job ${scrapePool} is inactive.`}>
            {reason}
          </Banner>
        ))}
        <Table
          caption="Scrape targets"
          class="stacked"
          columns={targetColumns}
          rows={rowsOf(targets, targets.value?.data.activeTargets)}
          rowKey={({ scrapePool, scrapeUrl }) => `${scrapePool} ${scrapeUrl}`}
          rowLevel={({ health }) => (health === "down" ? "warn" : undefined)}
          empty={
            targets.error !== undefined && targets.error.status !== 0 ? (
              targets.error.message
            ) : (
              <Empty title="No scrape targets.">
                <code>scrape_configs</code> in gpulse.yaml, or a prometheus.yml by{" "}
                <code>--prometheus-config</code>, name exporters to scrape.
              </Empty>
            )
          }
        />
      </section>
    </>
  );
}

/** Undefined until the hub has answered; none if it refused. */
function rowsOf<Row>(
  { value, error }: Pick<FetchState<unknown>, "value" | "error">,
  rows: readonly Row[] | undefined,
): readonly Row[] | undefined {
  if (value !== undefined) return rows;
  return error === undefined || error.status === 0 ? undefined : [];
}

const seconds = (value: number | undefined): string =>
  value === undefined ? "" : formatReadable(value, "seconds");

function forget(agent: ApiAgent, again: () => void): void {
  void attempt(
    () => send("DELETE", `api/agents/${encodeURIComponent(agent.id)}`),
    () => {
      toast(`${agent.id} is removed. Its history is kept.`);
      again();
    },
  );
}

const agentColumns = (again: () => void): readonly TableColumn<ApiAgent>[] => [
  {
    key: "host",
    label: "Machine",
    by: ({ id }) => id,
    cell: ({ id, host }) => (
      <>
        <strong>{id}</strong>
        {host !== id && (
          <>
            {" "}
            <a href={hrefOf("host", { host })}>{host}</a>
          </>
        )}
      </>
    ),
  },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    rowTip: ({ lastSeen, firstSeen }) =>
      `Last seen ${formatInstant(Date.parse(lastSeen))}\nKnown since ${formatInstant(Date.parse(firstSeen))}`,
    cell: ({ state, lastSeen }) => (
      <>
        <span class={`word ${state === "silent" || state === "late" ? "warn" : ""}`}>{state}</span>
        <span class="unit"> {formatAge(hubTimeMs() - Date.parse(lastSeen))} ago</span>
      </>
    ),
  },
  {
    key: "version",
    label: "Version",
    by: ({ version }) => version,
    cell: ({ version }) => version,
  },
  {
    key: "gpus",
    label: "GPUs",
    numeric: true,
    by: ({ gpus }) => gpus,
    cell: ({ gpus }) => gpus ?? <span class="absent">n/a</span>,
  },
  {
    key: "lag",
    label: "Lag",
    numeric: true,
    tip: "Age of its newest frame on arrival.",
    by: ({ lagSeconds }) => lagSeconds,
    cell: ({ lagSeconds }) => seconds(lagSeconds),
  },
  {
    key: "clock",
    label: "Clock",
    numeric: true,
    tip: "Offset of its clock from the hub's, give or take half a round trip.",
    by: ({ clockDifferenceSeconds }) => clockDifferenceSeconds,
    cell: ({ clockDifferenceSeconds: off, clockDifferenceBoundSeconds: bound }) =>
      off === undefined ? (
        ""
      ) : (
        <>
          {off > 0 ? "+" : ""}
          {seconds(off)}
          {bound !== undefined && <span class="unit"> ± {seconds(bound)}</span>}
        </>
      ),
  },
  {
    key: "spool",
    label: "Spooled",
    numeric: true,
    tip: "Frames in its spool that are not sent yet, and frames it lost.",
    by: ({ spool }) => spool?.bytes,
    cell: ({ spool }) =>
      spool === undefined ? (
        ""
      ) : (
        <>
          {formatReadable(spool.bytes, "bytes")}
          {spool.lostRecords > 0 && <span class="warn"> {spool.lostRecords} lost</span>}
        </>
      ),
  },
  {
    key: "do",
    label: "Action",
    cell: (agent) =>
      agent.state === "silent" || agent.state === "stopped" ? (
        <button
          type="button"
          class="quiet changes"
          aria-label={`Forget ${agent.id}`}
          onClick={() => forget(agent, again)}
        >
          Forget
        </button>
      ) : null,
  },
];

const targetColumns: readonly TableColumn<ApiTarget>[] = [
  {
    key: "pool",
    label: "Job",
    by: ({ scrapePool }) => scrapePool,
    cell: ({ scrapePool }) => <strong>{scrapePool}</strong>,
  },
  {
    key: "health",
    label: "State",
    by: ({ health }) => health,
    cell: ({ health }) => <span class={`word ${health === "down" ? "warn" : ""}`}>{health}</span>,
  },
  {
    key: "url",
    label: "Target",
    by: ({ scrapeUrl }) => scrapeUrl,
    cell: ({ scrapeUrl, lastError }) => (
      <>
        <code>{scrapeUrl}</code>
        {lastError !== "" && <p class="warn">{lastError}</p>}
      </>
    ),
  },
  {
    key: "last",
    label: "Last scrape",
    numeric: true,
    by: ({ lastScrape }) => lastScrape,
    cell: ({ lastScrape, scrapeInterval }) =>
      lastScrape.startsWith("0001") ? (
        <span class="absent">not yet</span>
      ) : (
        <>
          {formatAge(hubTimeMs() - Date.parse(lastScrape))} ago
          <span class="unit"> every {scrapeInterval}</span>
        </>
      ),
  },
  {
    key: "took",
    label: "Duration",
    numeric: true,
    by: ({ lastScrapeDuration }) => lastScrapeDuration,
    cell: ({ lastScrapeDuration }) => seconds(lastScrapeDuration),
  },
];
