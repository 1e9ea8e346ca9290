/** The first thing on a GPU's page: what is wrong with it, in words, or that nothing is. */
import { formatAge } from "../../../../src/view/age.ts";
import { feedDelayMs } from "../../live/feed.ts";
import type { Gpu } from "../../../../src/view/gpu.ts";
import type { GpuHealthReport } from "../../../../src/view/health/report.ts";
import { useAlerts } from "../../query/alerts.ts";
import { actionWords } from "../../../../src/view/health/verdict.ts";
import { verdictLevels } from "../../../../src/view/health/words.ts";
import { useVerdict } from "../../query/health.ts";
import { Banner } from "../../ui/banner.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { findingsOf, type GpuFinding } from "./findings.ts";

export function Health({ gpu }: { gpu: Gpu }) {
  const { uuid, host } = gpu.device;
  const alerts = useAlerts().value?.filter(
    ({ labels }) => labels["uuid"] === uuid && (labels["host"] ?? host) === host,
  );
  const { value: verdict } = useVerdict(gpu);
  const findings = findingsOf({ gpu, alerts: alerts ?? [], verdict });
  const problems = findings.filter(({ level }) => level !== "note");
  const notes = findings.filter(({ level }) => level === "note");
  const read = gpu.row.ageMs.fast;
  return (
    <section class="health" aria-label="Health">
      {verdict !== undefined && verdictLevels[verdict.state] !== "note" && (
        <Banner level={verdictLevels[verdict.state]} title={`Verdict: ${verdict.state}`}>
          The smallest action: {actionWords[verdict.action]}.
        </Banner>
      )}
      {problems.map((finding) => (
        <One key={`${finding.from} ${finding.title}`} finding={finding} />
      ))}
      {problems.length === 0 && (
        <Banner
          level={verdict?.state === "unknown" ? "note" : "good"}
          title={verdict?.state === "unknown" ? "It cannot be judged." : "Nothing is wrong."}
        >
          {alerts === undefined || verdict === undefined
            ? "Alerts and verdict are being asked for"
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
      {problems.length > 0 &&
        notes.map((finding) => <One key={`${finding.from} ${finding.title}`} finding={finding} />)}
      <Unchecked verdict={verdict} />
    </section>
  );
}

/** What the verdict does not cover: a check without input never counts as passed. */
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
