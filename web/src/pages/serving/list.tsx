/** The servers as a table: one row for each model of each scraped server. */
import type { FigureName, Serving, ServingReplica } from "../../../../src/view/serving/figures.ts";
import { figureSpecs } from "../../../../src/view/serving/figures.ts";
import { formatGpus } from "../../../../src/view/serving/text.ts";
import { Empty } from "../../ui/banner.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { hrefWith } from "./address.ts";
import { figureNumber, figureTip, FigureValue, NotKnown } from "./figure.tsx";

const fullCache = 0.95;
const lowWithin = 0.99;

export function ServerList({ serving }: { serving: Serving }) {
  const { replicas, currency, leftOut } = serving;
  return (
    <>
      <Table
        caption="LLM servers"
        class="stacked servers"
        columns={columnsWith(currency)}
        rows={replicas}
        rowKey={({ id }) => id}
        rowLevel={levelOf}
        empty={<Empty title="No LLM server was scraped at this time." />}
      />
      {leftOut > 0 && <p class="unit">{leftOut} more servers are not shown.</p>}
    </>
  );
}

function levelOf(replica: ServingReplica): "warn" | undefined {
  const cache = figureNumber(replica, "kvCache") ?? 0;
  const within = figureNumber(replica, "withinSlo") ?? 1;
  return cache >= fullCache || within < lowWithin ? "warn" : undefined;
}

const columnsWith = (currency: string | undefined): readonly TableColumn<ServingReplica>[] => [
  {
    key: "model",
    label: "Model",
    by: ({ model }) => model,
    cell: ({ id, model, role }) => (
      <>
        <a href={hrefWith(id)}>{model ?? "unnamed model"}</a>
        {role === "router" && <span class="word"> router</span>}
      </>
    ),
  },
  {
    key: "server",
    label: "Server",
    by: ({ program }) => program,
    cell: ({ program, instance }) => (
      <>
        {program} <span class="unit">{instance}</span>
      </>
    ),
  },
  {
    key: "gpus",
    label: "GPUs",
    by: ({ gpus }) => ("absent" in gpus ? undefined : formatGpus(gpus)),
    cell: ({ gpus }) => ("absent" in gpus ? <NotKnown reason={gpus.absent} /> : formatGpus(gpus)),
  },
  ...shown.map((name): TableColumn<ServingReplica> => ({
    key: name,
    label: labelOf(name),
    by: (replica) => figureNumber(replica, name),
    numeric: true,
    tip: figureTip(name),
    cell: (replica) => <FigureValue replica={replica} name={name} currency={currency} />,
  })),
];

/** Rates have their unit in the head, since the cells have none. */
function labelOf(name: FigureName): string {
  const { label, unit } = figureSpecs[name];
  return unit === "tokens/s" ? `${label} tok/s` : label;
}

const shown: readonly FigureName[] = [
  "promptTokens",
  "generatedTokens",
  "waiting",
  "kvCache",
  "timeToFirstTokenP99",
  "interTokenP99",
  "withinSlo",
  "generatedPerJouleAtSlo",
  "costPerMillion",
];
