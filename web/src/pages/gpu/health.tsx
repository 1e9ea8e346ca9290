/** The first thing on a GPU's page: what is wrong with it, in words, or that nothing is. */
import { formatAge } from "../../../../src/view/age.ts";
import { feedDelayMs } from "../../live/feed.ts";
import type { Gpu } from "../../../../src/view/gpu.ts";
import { useAlerts } from "../../query/alerts.ts";
import { matchersOf } from "../../../../src/view/first-load.ts";
import { useNow } from "../../query/use-fetch.ts";
import { Banner } from "../../ui/banner.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { findingsOf, type GpuFinding } from "./findings.ts";

const EVERY_MS = 10_000;

export function Health({ gpu }: { gpu: Gpu }) {
  const { uuid, host } = gpu.device;
  const alerts = useAlerts().value?.filter(
    ({ labels }) => labels["uuid"] === uuid && (labels["host"] ?? host) === host,
  );
  const anomalies = useNow(
    `gpu_anomaly_active{${matchersOf(gpu.device)}} > 0`,
    EVERY_MS,
  ).value?.samples.map(({ labels }) => labels["kind"] ?? "");
  const findings = findingsOf({
    gpu,
    alerts: alerts ?? [],
    anomalies: anomalies ?? [],
  });
  const problems = findings.filter(({ level }) => level !== "note");
  const notes = findings.filter(({ level }) => level === "note");
  const read = gpu.row.ageMs.fast;
  return (
    <section class="health" aria-label="Health">
      {problems.map((finding) => (
        <One key={`${finding.from} ${finding.title}`} finding={finding} />
      ))}
      {problems.length === 0 && (
        <Banner level="good" title="Nothing is wrong.">
          {alerts === undefined ? "Alerts are being asked for" : "No warning and no anomaly"}
          {read === undefined ? "." : `; read ${formatAge(read + feedDelayMs.value)} ago.`}
          {notes.map(({ title, says }) => (
            <span key={title}>
              {" "}
              <span class="word" data-tip={says}>
                {title}
              </span>
            </span>
          ))}
        </Banner>
      )}
      {problems.length > 0 &&
        notes.map((finding) => <One key={`${finding.from} ${finding.title}`} finding={finding} />)}
    </section>
  );
}

function One({ finding: { level, title, says, from } }: { finding: GpuFinding }) {
  return (
    <Banner
      level={level}
      title={title}
      actions={
        from === "now" ? undefined : (
          <>
            <span class="unit">{from}</span>
            {from !== "anomaly" && <a href={hrefOf("alerts")}>Alerts</a>}
          </>
        )
      }
    >
      {says}
    </Banner>
  );
}
