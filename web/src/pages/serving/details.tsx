/** One server in full: every figure or the reason for its absence, its GPUs, and the energy split. */
import {
  type FigureName,
  figureSpecs,
  type ServingReplica,
} from "../../../../src/view/serving/figures.ts";
import { formatSplit } from "../../../../src/view/serving/text.ts";
import { Banner } from "../../ui/banner.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { hrefWith } from "./address.ts";
import { FigureValue } from "./figure.tsx";

const groups: readonly (readonly [title: string, names: readonly FigureName[]])[] = [
  [
    "Work",
    [
      "promptTokens",
      "generatedTokens",
      "requests",
      "failedRequests",
      "running",
      "waiting",
      "kvCache",
      "preemptions",
    ],
  ],
  [
    "Latency",
    [
      "timeToFirstTokenP50",
      "timeToFirstTokenP99",
      "interTokenP50",
      "interTokenP99",
      "requestDurationP50",
    ],
  ],
  ["SLO", ["withinTimeToFirstToken", "withinInterToken", "withinSlo", "goodput"]],
  [
    "Energy",
    [
      "power",
      "tokensPerJoule",
      "generatedPerJoule",
      "generatedPerJouleAtSlo",
      "joulesPerGenerated",
      "costPerMillion",
    ],
  ],
];

export function ServerDetails({
  replica,
  currency,
}: {
  replica: ServingReplica;
  currency: string | undefined;
}) {
  const { model, program, instance, gpus, energySplit, problems } = replica;
  return (
    <section class="server">
      <p class="back">
        <a href={hrefWith(undefined)}>All servers</a>
      </p>
      <h2 class="title">
        {model ?? "Unnamed model"} <span class="unit">{`${program}, ${instance}`}</span>
      </h2>
      {problems.map((problem) => (
        <Banner key={problem} level="warn" title="Its metrics are inconsistent.">
          {problem}
        </Banner>
      ))}
      {groups.map(([title, names]) => (
        <div key={title}>
          <h3>{title}</h3>
          <dl class="facts">
            {names.map((name) => (
              <div key={name} data-tip={figureSpecs[name].help}>
                <dt>{figureSpecs[name].label}</dt>
                <dd>
                  <FigureValue replica={replica} name={name} currency={currency} />
                  <FigureUnitText replica={replica} name={name} />
                </dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
      <h3>Prefill and decode</h3>
      <p>{formatSplit(energySplit)}</p>
      <h3>GPUs</h3>
      {"absent" in gpus ? (
        <p class="unit">{gpus.absent}</p>
      ) : (
        <>
          <p class="unit">{gpuSentences[gpus.by]}</p>
          <ul>
            {gpus.list.map(({ uuid, host, index, model: card }) => (
              <li key={`${host}/${uuid}`}>
                <a href={hrefOf("gpu", { uuid })}>{`GPU ${index} of ${host}`}</a>{" "}
                <span class="unit">{card}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const gpuSentences = {
  pod: "Found by its pod.",
  workload: "Found by its workload.",
  port: "Found by the process that listens on its port.",
  container: "Found by its container.",
  host: "All GPUs of its machine, since no process is known: other work on them counts as this server's.",
} as const;

/** The unit, unless the formatted value already contains it. */
function FigureUnitText({ replica, name }: { replica: ServingReplica; name: FigureName }) {
  const { unit } = figureSpecs[name];
  const isSaid = unit === "ratio" || unit === "seconds" || unit === "watts" || unit === "requests";
  return isSaid || "absent" in replica.figures[name] ? null : <span class="unit"> {unit}</span>;
}
