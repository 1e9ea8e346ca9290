/** The tool that asks the hub for the likely causes of a problem. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { explanationSchema, subjectKinds } from "../explain/explanation.ts";
import { instant, name, number, pageOf, word } from "./answer.ts";
import { oneGpu, resolveGpu } from "./gpu-selector.ts";
import { readOptionalRoute, rerunPromql, routeOf } from "./hub-reader.ts";
import { quoteText, requotePromql } from "./quote.ts";
import { defineTool, paging, text, timeHint, timeOf } from "./tool.ts";

export const explain = defineTool({
  name: "explain",
  title: "Likely causes",
  description:
    "Why a GPU, host or job is slow, hot, idle or failing, or why an alert fired: ranked physical causes with confidence, the readings that show each one beside their usual values, and the runbook section. Says so when nothing stands out. Name exactly one subject.",
  input: v.strictObject({
    gpu: oneGpu,
    host: text("Name of a host."),
    job: text("Id of a job."),
    alert: text("Fingerprint of an alert, as list_alerts returns it."),
    time: text(`The moment to explain (default: now, or the alert's start): ${timeHint}.`),
    ...paging,
  }),
  example: { gpu: "GPU-1f2e3d4c" },
  run: async (input, context) => {
    const { hub, nowMs } = context;
    const given = subjectKinds.filter((subject) => input[subject] !== undefined);
    const [subject] = given;
    if (subject === undefined || given.length > 1)
      throw new GpulseError("USAGE", `Name exactly one of ${subjectKinds.join(", ")}.`);
    const { limit, offset, time } = input;
    const named = subject === "gpu" ? await resolveGpu(input.gpu, context) : input[subject];
    const route = routeOf("/api/explain", {
      [subject]: named,
      time: time === undefined ? undefined : timeOf("time", time, nowMs) / 1_000,
    });
    const found = await readOptionalRoute(hub, route, explanationSchema);
    if (found === undefined)
      throw new GpulseError(
        "QUERY_FAILED",
        "This hub cannot explain: update it, or start it with a store.",
      );
    const rows = found.causes.flatMap((cause, rank) =>
      (cause.evidence.length === 0 ? [undefined] : cause.evidence).map((evidence) => ({
        cause,
        rank,
        evidence,
      })),
    );
    const shown = rows.slice(offset, offset + limit);
    return {
      summary: `${found.outcome === "causes" ? `${found.causes.length} likely cause${found.causes.length === 1 ? "" : "s"}, most likely first` : "Nothing stands out"} at ${new Date(found.timeMs).toISOString()}: ${quoteText(found.sentence, 400)}.`,
      columns: [
        "RANK",
        "CAUSE",
        "CONFIDENCE",
        "SUMMARY",
        "SINCE",
        "READING",
        "VALUE",
        "USUAL",
        "UNIT",
        "SIGMAS",
        "RUNBOOK",
      ].map((title) => ({ title })),
      rows: shown.map(({ cause, rank, evidence }, at) => {
        const isFirst = at === 0 || shown[at - 1]?.cause !== cause;
        return [
          number(rank + 1),
          name(cause.title, 100),
          isFirst ? number(cause.confidence, 2) : undefined,
          isFirst ? name(cause.summary, 300) : undefined,
          isFirst ? instant(cause.sinceMs) : undefined,
          name(evidence?.metric, 100),
          significant(evidence?.value),
          significant(evidence?.usual),
          name(evidence?.unit, 20),
          number(evidence?.sigmas ?? undefined, 1),
          isFirst ? name(`${cause.runbook.title}: ${cause.runbook.step}`, 200) : undefined,
        ];
      }),
      offset,
      total: rows.length,
      rerun: [
        { route },
        ...shown.flatMap(({ evidence }) =>
          evidence === undefined ? [] : [rerunPromql(requotePromql(evidence.promql))],
        ),
      ],
      page:
        subject === "gpu"
          ? pageOf("gpu", { uuid: named })
          : subject === "job"
            ? pageOf("jobs", { id: input.job })
            : subject === "host"
              ? pageOf("fleet", { q: input.host })
              : "alerts",
    };
  },
});

const significant = (value: number | null | undefined) =>
  value === undefined || value === null ? undefined : word(String(Number(value.toPrecision(5))));
