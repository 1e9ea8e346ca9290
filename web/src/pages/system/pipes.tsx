/** Pipes and replays in the hub: throughput and lag; added, started, stopped and removed here. */
import { useState } from "preact/hooks";
import { formatAge } from "../../../../src/view/age.ts";
import { formatFixedPoint } from "../../format/quantity.ts";
import { formatReadable } from "../../format/readable.ts";
import { hubTimeMs } from "../../live/feed.ts";
import { ApiError, send } from "../../query/http.ts";
import { me } from "../../query/me.ts";
import type { FetchState } from "../../query/use-fetch.ts";
import { attempt } from "../../ui/attempt.ts";
import { Banner, Empty } from "../../ui/banner.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SchemaForm } from "../../ui/form.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.ts";
import type { ApiPipe, PipesResponse } from "./api.ts";

const schema = {
  type: "object",
  required: ["name", "kind", "from", "to"],
  properties: {
    name: { type: "string", description: "Name of the pipe on this hub.", pattern: "^.{1,60}$" },
    kind: {
      enum: ["pipe", "replay"],
      default: "pipe",
      description: "pipe: copies new frames. replay: sends a recording at its own pace.",
    },
    from: {
      type: "array",
      items: { type: "string" },
      description:
        "Sources, one per line, such as kafka://localhost:9092/gpu-metrics?group=lake; for a replay, its file.",
    },
    to: {
      type: "array",
      items: { type: "string" },
      description:
        "Sinks, one per line, such as parquet:./lake. Passwords and tokens as ${VARIABLE} or file:PATH, accepted only from a browser on the hub's machine.",
    },
    speed: {
      type: "string",
      description: "Replay only: 2 is twice as fast, max is as fast as possible.",
    },
    loop: { type: "boolean", description: "Replay only: restart at the end." },
    now: {
      type: "boolean",
      description: "Replay only: with current timestamps instead of the recorded ones.",
    },
  },
} as const;

export function Pipes({ answer }: { answer: FetchState<PipesResponse> }) {
  const [open, setOpen] = useState(false);
  const [leaving, setLeaving] = useState<ApiPipe | undefined>(undefined);
  const change = (work: () => Promise<unknown>, message: string): void =>
    void attempt(work, () => {
      toast(message);
      answer.again();
    });
  const actions: PipeActions = {
    start: ({ id, name }) =>
      change(() => send("POST", `api/pipes/${id}/start`), `${name} is started.`),
    stop: ({ id, name }) =>
      change(() => send("POST", `api/pipes/${id}/stop`), `${name} is stopped.`),
    remove: setLeaving,
  };
  if (answer.error !== undefined && answer.error.status !== 0)
    return (
      <Banner level="note" title="Pipes are unavailable.">
        {answer.error.message}
      </Banner>
    );
  return (
    <>
      {me.value?.by === "nobody" && (
        <Banner level="note" title="Pipes need an administrator.">
          A pipe reads and writes with the hub's own rights. To add, start, stop or remove one here,
          run <code>gpulse token add NAME --scope admin</code> on the hub's machine and log in with
          the token. <code>gpulse pipe</code> on the command line needs none.
        </Banner>
      )}
      <div class="bar-line">
        <button
          type="button"
          class="primary changes"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          Add a pipe
        </button>
      </div>
      {open && (
        <section class="panel" aria-label="Add a pipe">
          <SchemaForm
            schema={schema}
            submit="Add and start"
            onCancel={() => setOpen(false)}
            onSubmit={async ({ name, kind, from, to, speed, loop, now }) => {
              try {
                const options = {
                  ...(typeof speed === "string" && speed !== "" && { speed }),
                  ...(loop === true && { loop }),
                  ...(now === true && { now }),
                };
                await send("POST", "api/pipes", { name, kind, from, to, options });
                setOpen(false);
                toast(`${String(name)} is started.`);
                answer.again();
                return undefined;
              } catch (thrown) {
                return thrown instanceof ApiError ? thrown.message : String(thrown);
              }
            }}
          />
        </section>
      )}
      <Table
        caption="Pipes and replays, and how far behind they are"
        class="stacked pipes"
        columns={columns(actions)}
        rows={answer.value?.pipes}
        rowKey={({ id }) => id}
        rowLevel={({ state }) =>
          state === "failed" ? "bad" : state === "waiting" ? "warn" : undefined
        }
        empty={
          <Empty title="No pipe runs with this hub.">
            Add one here, or run one on a command line:{" "}
            <code>gpulse pipe --from kafka://localhost:9092/gpu-metrics --to parquet:./lake</code>
          </Empty>
        }
      />
      <Dialog
        label="Remove a pipe"
        open={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
      >
        <h2>Remove {leaving?.name}?</h2>
        <p>
          The pipe is stopped and deleted with everything it has not sent yet. Stored data is kept.
        </p>
        <div class="bar-line">
          <button
            type="button"
            class="primary"
            onClick={() => {
              const { id = "", name = "" } = leaving ?? {};
              setLeaving(undefined);
              change(() => send("DELETE", `api/pipes/${id}`), `${name} is removed.`);
            }}
          >
            Remove pipe
          </button>
          <button type="button" class="quiet" onClick={() => setLeaving(undefined)}>
            Cancel
          </button>
        </div>
      </Dialog>
    </>
  );
}

interface PipeActions {
  readonly start: (pipe: ApiPipe) => void;
  readonly stop: (pipe: ApiPipe) => void;
  readonly remove: (pipe: ApiPipe) => void;
}

const stateWords: Readonly<Record<ApiPipe["state"], string>> = {
  running: "running",
  waiting: "failed, retrying",
  stopping: "stopping",
  stopped: "stopped",
  done: "finished",
  failed: "failed",
};

const columns = (actions: PipeActions): readonly TableColumn<ApiPipe>[] => [
  {
    key: "name",
    label: "Name",
    by: ({ name }) => name,
    cell: ({ name, kind, options }) => (
      <>
        <strong>{name}</strong>
        <span class="unit"> {[kind, ...paceWords(options)].join(", ")}</span>
      </>
    ),
  },
  {
    key: "way",
    label: "From → to",
    by: ({ from, to }) => [...from, ...to].join(" "),
    cell: ({ from, to }) => (
      <>
        <code>{from.join(", ")}</code> → <code>{to.join(", ")}</code>
      </>
    ),
  },
  {
    key: "state",
    label: "State",
    by: ({ state }) => state,
    cell: ({ state, since, restarts }) => (
      <>
        <span class={`word ${state === "failed" ? "bad" : state === "waiting" ? "warn" : ""}`}>
          {stateWords[state]}
        </span>
        <span class="unit">
          {" "}
          {state === "running" ? "for" : "since"} {formatAge(hubTimeMs() - Date.parse(since))}
          {restarts > 0 && `, restarted ${restarts === 1 ? "once" : `${restarts} times`}`}
        </span>
      </>
    ),
  },
  {
    key: "lag",
    label: "Behind",
    numeric: true,
    tip: "Age of the newest frame when every sink had it, and records left to read; for a replay, against its own pace.",
    by: ({ lagSeconds }) => lagSeconds ?? undefined,
    cell: (pipe) => lagWords(pipe) ?? <span class="absent">n/a</span>,
    rowTip: (pipe) =>
      lagWords(pipe) === undefined ? "It does not run, or has not reported yet." : undefined,
  },
  {
    key: "frames",
    label: "Frames",
    numeric: true,
    tip: "Since the last start: frames read from the source and written to every sink.",
    by: ({ frames }) => frames ?? undefined,
    cell: ({ frames }) => counted(frames),
  },
  {
    key: "letters",
    label: "Dead letters",
    numeric: true,
    tip: "Input that could not be parsed into a frame.",
    by: ({ deadLetters }) => deadLetters ?? undefined,
    cell: ({ deadLetters }) => counted(deadLetters),
  },
  {
    key: "trouble",
    label: "Last error",
    by: ({ trouble: problem }) => problem?.text,
    cell: ({ trouble: problem }) =>
      problem === null ? null : (
        <>
          {problem.text}
          <span class="unit"> {formatAge(hubTimeMs() - Date.parse(problem.at))} ago</span>
        </>
      ),
  },
  {
    key: "do",
    label: "Action",
    cell: (pipe) => (
      <span class="acts">
        {pipe.wanted === "running" ? (
          <Act name="Stop" pipe={pipe} act={actions.stop} />
        ) : (
          <Act name="Start" pipe={pipe} act={actions.start} />
        )}
        <Act name="Remove" pipe={pipe} act={actions.remove} />
      </span>
    ),
  },
];

const Act = ({
  name,
  pipe,
  act,
}: {
  name: string;
  pipe: ApiPipe;
  act: (pipe: ApiPipe) => void;
}) => (
  <button
    type="button"
    class="quiet changes"
    aria-label={`${name} ${pipe.name}`}
    onClick={() => act(pipe)}
  >
    {name}
  </button>
);

const counted = (count: number | null) =>
  count === null ? <span class="absent">n/a</span> : formatFixedPoint(count, 0);

function lagWords({ lagSeconds, lagRecords }: ApiPipe): string | undefined {
  const words = [
    ...(lagSeconds === null ? [] : [formatReadable(lagSeconds, "seconds")]),
    ...(lagRecords === null ? [] : [`${formatFixedPoint(lagRecords, 0)} records`]),
  ];
  return words.length === 0 ? undefined : words.join(", ");
}

const paceWords = ({ speed, loop, now }: ApiPipe["options"]): string[] => [
  ...(speed === undefined
    ? []
    : [speed === "max" ? "as fast as possible" : `${speed} times as fast`]),
  ...(loop === true ? ["in a loop"] : []),
  ...(now === true ? ["with current timestamps"] : []),
];
