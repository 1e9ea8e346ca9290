/** The first section of a GPU's page: its problems in sentences, or that there are none. */
import { formatAge } from "../../../../src/view/age.ts";
import { feedDelayMs, hubTimeMs } from "../../live/feed.ts";
import type { Gpu } from "../../../../src/view/gpu.ts";
import type { Explanation } from "../../../../src/view/explain/explanation.ts";
import type { GpuHealthReport } from "../../../../src/view/health/report.ts";
import { useAlerts } from "../../query/alerts.ts";
import { actionWords } from "../../../../src/view/health/verdict.ts";
import { useVerdict } from "../../query/health.ts";
import { knownGpus } from "../../query/known-gpus.ts";
import { useJson } from "../../query/use-fetch.ts";
import { Banner } from "../../ui/banner.tsx";
import { WithCode } from "../../ui/with-code.tsx";
import { runbookHref } from "../../format/runbook-link.ts";
import { hrefOf } from "../../view-state/address.ts";
import { formatInstant } from "../../view-state/range.ts";
import { diagnose, formatOnset } from "./diagnosis.ts";
import { findingsOf, type GpuFinding } from "./findings.ts";

const DAY_MS = 86_400_000;
/** Long, because an explanation reads a day of the fleet. */
const EXPLAIN_EVERY_MS = 60_000;

export function Health({ gpu }: { gpu: Gpu }) {
  const { uuid, host } = gpu.device;
  const alerts = useAlerts().value?.filter(
    ({ labels }) => labels["uuid"] === uuid && (labels["host"] ?? host) === host,
  );
  const { value: verdict, loading } = useVerdict(gpu);
  const isWaiting = alerts === undefined || (verdict === undefined && loading);
  const findings = findingsOf({ gpu, alerts: alerts ?? [], verdict });
  const problems = findings.filter(({ level }) => level !== "note");
  const notes = findings.filter(({ level }) => level === "note");
  const read = gpu.row.ageMs.fast;
  return (
    <section class="health" aria-label="Health">
      {problems.length > 0 && <SickGpu {...{ gpu, verdict, findings }} />}
      {problems.length === 0 && isWaiting && (
        <Banner level="note" title="Checking this GPU…">
          Alerts and the verdict have not been read yet.
        </Banner>
      )}
      {problems.length === 0 && !isWaiting && (
        <Banner
          level={verdict?.state === "unknown" ? "note" : "good"}
          title={verdict?.state === "unknown" ? "Health is unknown." : "Nothing is wrong."}
        >
          {verdict === undefined
            ? "No alert; this hub has no verdict"
            : `No alert, and the verdict is ${verdict.state}`}
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
      {isWaiting ? <p class="unit unchecked">&nbsp;</p> : <Unchecked verdict={verdict} />}
    </section>
  );
}

interface SickGpuProps {
  readonly gpu: Gpu;
  readonly verdict: GpuHealthReport | undefined;
  readonly findings: readonly GpuFinding[];
}

/** One summary sentence; the findings behind it can be expanded. */
function SickGpu({ gpu, verdict, findings }: SickGpuProps) {
  const id = `${gpu.device.uuid}@${gpu.device.host}`;
  const { value } = useJson<Explanation>(
    `api/explain?${new URLSearchParams({ gpu: id })}`,
    EXPLAIN_EVERY_MS,
  );
  const diagnosis = diagnose({ gpu, all: knownGpus.value, verdict, cause: value?.causes[0] });
  const level = findings[0]?.level ?? "warn";
  if (diagnosis === undefined)
    return (
      <>
        {findings.map((finding) => (
          <One key={`${finding.from} ${finding.title}`} finding={finding} />
        ))}
      </>
    );
  const { what, cost, why, peers, next, href } = diagnosis;
  const nowMs = hubTimeMs();
  const since = formatOnset(
    diagnosis,
    nowMs,
    formatInstant(diagnosis.sinceMs).slice(nowMs - diagnosis.sinceMs < DAY_MS ? 11 : 0, 16),
  );
  return (
    <>
      <Banner level={level} title={`${what} ${since}${cost === undefined ? "" : `, ${cost}`}.`}>
        {why} {peers} Next: <WithCode text={next} />{" "}
        {href !== undefined && <a href={runbookHref(href) ?? href}>Runbook</a>}
      </Banner>
      <details class="findings">
        <summary>
          {findings.length === 1 ? "1 finding" : `${findings.length} findings`}
          {/* A verdict needs some minutes: until then "healthy" would contradict the diagnosis above. */}
          {verdict !== undefined &&
            verdict.state !== "healthy" &&
            ` · verdict ${verdict.state}: ${actionWords[verdict.action]}`}
        </summary>
        {findings.map((finding) => (
          <One key={`${finding.from} ${finding.title}`} finding={finding} />
        ))}
      </details>
    </>
  );
}

/** Checks that the verdict does not cover: a check without input never counts as passed. */
function Unchecked({ verdict }: { verdict: GpuHealthReport | undefined }) {
  if (verdict === undefined || verdict.unchecked.length === 0) return null;
  return (
    <p class="unit unchecked">
      Not checked:{" "}
      {verdict.unchecked.map(({ check, why }) => (
        <span key={check} class="word" data-tip={why}>
          {check.replaceAll("_", " ")}
        </span>
      ))}
    </p>
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
            {from !== "verdict" && <a href={hrefOf("alerts")}>Alerts</a>}
          </>
        )
      }
    >
      {says}
    </Banner>
  );
}
