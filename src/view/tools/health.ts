/** The tool that judges GPUs: state, action and reasons of each. */
import * as v from "valibot";
import { healthSchema } from "../health/report.ts";
import { actionWords, healthStates } from "../health/verdict.ts";
import { instant, name, number, pageOf, word } from "./answer.ts";
import { oneGpu, resolveGpu, unknownSubjectNote } from "./gpu-selector.ts";
import { readRoute, routeOf } from "./hub-reader.ts";
import { defineTool, oneOf, paging, text } from "./tool.ts";

const worstFirst = ["lost", "failing", "degraded", "unknown", "healthy"];

export const gpuHealth = defineTool({
  name: "gpu_health",
  title: "Health verdicts",
  description:
    "One verdict for each GPU, worst first: healthy, degraded, failing, lost or unknown, with the reasons, since when, and what to do (inspect, reset, reboot, drain). Answers whether a node is fit for jobs.",
  input: v.strictObject({
    host: text("Only GPUs of this host."),
    gpu: oneGpu,
    state: oneOf("Only GPUs in this state.", ["all", ...healthStates, "unknown"], "all"),
    ...paging,
  }),
  example: { state: "all" },
  run: async ({ host, gpu: given, state, limit, offset }, context) => {
    const { hub } = context;
    const gpu = await resolveGpu(given, context);
    const wanted = state === "all" ? undefined : state;
    const route = routeOf("/api/health", { host, uuid: gpu, state: wanted });
    const { hosts, counts } = await readRoute(hub, route, healthSchema);
    const verdicts = hosts.flatMap((one) => [
      ...(one.reasons.length === 0 ? [] : [{ ...one, uuid: undefined, gpu: undefined, model: "" }]),
      ...one.gpus,
    ]);
    verdicts.sort(
      (a, b) =>
        worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state) ||
        a.host.localeCompare(b.host) ||
        (a.gpu ?? -1) - (b.gpu ?? -1),
    );
    const counted = worstFirst.map((one) => `${counts[one] ?? 0} ${one}`).join(", ");
    return {
      summary: `All GPUs of this hub: ${counted}. ${verdicts.length} verdict${verdicts.length === 1 ? "" : "s"} selected, worst first.`,
      columns: ["HOST", "GPU", "UUID", "STATE", "ACTION", "REASONS", "SINCE", "NOT CHECKED"].map(
        (title) => ({ title }),
      ),
      rows: verdicts
        .slice(offset, offset + limit)
        .map((one) => [
          name(one.host),
          number(one.gpu),
          name(one.uuid, 100),
          word(one.state),
          word(actionWords[one.action]),
          name(one.reasons.map((reason) => `${reason.title}: ${reason.text}`).join("; "), 300),
          instant(Math.min(...one.reasons.map(({ since }) => Date.parse(since)))),
          word(one.unchecked.map(({ check }) => check).join(",")),
        ]),
      offset,
      total: verdicts.length,
      notes: verdicts.some(({ unchecked }) => unchecked.length > 0)
        ? [
            "NOT CHECKED lists checks whose input the GPU does not report: the verdict does not cover them.",
          ]
        : verdicts.length === 0 && wanted === undefined
          ? unknownSubjectNote({ host, gpu })
          : [],
      rerun: [{ route }],
      page: gpu === undefined ? pageOf("fleet", { q: host }) : pageOf("gpu", { uuid: gpu }),
    };
  },
});
