/** Problems, at the top of the page; hidden if there are none. */
import { countAlerts } from "../../../../src/view/alert-summary.ts";
import { alertSummary } from "../../query/alert-summary.ts";
import { severalHosts } from "../../query/known-gpus.ts";
import { fleetGpus, pastAlerts } from "./moment.ts";
import { Banner } from "../../ui/banner.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { alertLine, type Attention, findAttention, formatGpuName } from "./attention.ts";
import { filter } from "./view.ts";

const MOST_LINES = 4;
const MOST_NAMED = 4;

export function AttentionBanner() {
  const past = pastAlerts.value;
  const alerts = alertLine(
    past === undefined
      ? (alertSummary.value?.active ?? [])
      : countAlerts(past.map(({ labels }) => new Map(Object.entries(labels)))),
  );
  const lines = findAttention(fleetGpus.value);
  const more = lines.slice(MOST_LINES);
  if (lines.length === 0 && alerts === undefined) return null;
  return (
    <section class="attention" aria-label="What is wrong">
      {lines.slice(0, MOST_LINES).map((line) => (
        <Line key={line.title} line={line} />
      ))}
      {more.length > 0 && (
        <Banner level="warn" title={`${more.length} more`}>
          {more.map(({ title, gpus }) => `${title} (${gpus.length})`).join(", ")}
        </Banner>
      )}
      {alerts !== undefined && (
        <Banner
          level={alerts.level}
          title={alerts.count === 1 ? "1 alert" : `${alerts.count} alerts`}
          actions={<a href={hrefOf("alerts")}>Alerts</a>}
        >
          {alerts.names.slice(0, 6).join(", ")}
          {alerts.names.length > 6 && " …"}
        </Banner>
      )}
    </section>
  );
}

function Line({ line: { level, title, says, gpus, filter: words } }: { line: Attention }) {
  const rest = gpus.length - MOST_NAMED;
  return (
    <Banner
      level={level}
      title={gpus.length === 1 ? title : `${gpus.length} GPUs ${title}`}
      actions={
        words !== undefined &&
        gpus.length > 1 && (
          <button
            type="button"
            class="link"
            onClick={() => {
              filter.value = words;
            }}
          >
            Show them
          </button>
        )
      }
    >
      {gpus.slice(0, MOST_NAMED).map((gpu, at) => (
        <span key={gpu.id}>
          {at > 0 && ", "}
          <a href={hrefOf("gpu", { uuid: gpu.id })}>{formatGpuName(gpu, severalHosts.value)}</a>
        </span>
      ))}
      {rest > 0 && ` and ${rest} more`}
      <span class="unit"> {says}</span>
    </Banner>
  );
}
