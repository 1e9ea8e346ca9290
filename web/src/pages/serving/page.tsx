/** Serving: LLM servers with their tokens, latencies, queue and energy per token at an SLO; and one server in full. */
import { defaultWindowMs, type Serving } from "../../../../src/view/serving/figures.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner } from "../../ui/banner.tsx";
import { Param, oneOf, optional } from "../../view-state/param.ts";
import { Choice } from "./choice.tsx";
import { ServerDetails } from "./details.tsx";
import { NoServers } from "./empty.tsx";
import { ServerList } from "./list.tsx";
import { formatInstant } from "../../view-state/range.ts";
import { range, timeWindow } from "../../view-state/time.ts";
import "./serving.css";

const firstTokenLimits = ["1s", "200ms", "500ms", "2s", "5s"] as const;
const interTokenLimits = ["100ms", "25ms", "50ms", "200ms"] as const;
const windows = ["5m", "1m", "15m", "1h"] as const;

const ttft = new Param("ttft", oneOf(firstTokenLimits));
const itl = new Param("itl", oneOf(interTokenLimits));
const span = new Param("window", oneOf(windows));
const serverId = new Param("id", optional, "push");
const EVERY_MS = 5_000;

export function Page() {
  const { kind } = range.value;
  // A past range is shown at its end, every other at the present.
  const ended = kind === "between" ? new Date(timeWindow.value.toMs).toISOString() : undefined;
  const time = ended === undefined ? "" : `&time=${ended}`;
  const { value, error } = useJson<Serving>(
    `api/serving?window=${span.value}&ttft=${ttft.value}&itl=${itl.value}${time}`,
    ended === undefined ? EVERY_MS : undefined,
  );
  const id = serverId.value;
  const chosen = value?.replicas.find((replica) => replica.id === id);
  if (value === undefined)
    return error === undefined || error.status === 0 ? (
      <p class="waiting">Reading the servers…</p>
    ) : (
      <Banner level="bad" title="The servers cannot be read.">
        {error.message}
      </Banner>
    );
  if (value.replicas.length === 0 && id === undefined && ended === undefined) return <NoServers />;
  return (
    <div class="serving">
      <div class="choices">
        <Choice label="First token within" param={ttft} options={firstTokenLimits} />
        <Choice label="Between tokens" param={itl} options={interTokenLimits} />
        <Choice label="Mean of" param={span} options={windows} />
        {ended !== undefined && (
          <span class="unit">up to {formatInstant(timeWindow.value.toMs)}</span>
        )}
      </div>
      {error !== undefined && (
        <Banner level="warn" title="These numbers are out of date.">
          {error.message}
        </Banner>
      )}
      {id === undefined ? (
        <ServerList serving={value} />
      ) : chosen === undefined ? (
        <Banner level="warn" title="This server is no longer scraped.">
          It was last seen more than {defaultWindowMs / 60_000} minutes ago, or never.
        </Banner>
      ) : (
        <ServerDetails replica={chosen} currency={value.currency} />
      )}
    </div>
  );
}
