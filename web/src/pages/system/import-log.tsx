/** Imports a dropped or selected GPU-Z log into the history. Only uploads it: the hub parses it. */
import { useState } from "preact/hooks";
import { hrefOf } from "../../view-state/address.ts";
import { formatFixedPoint } from "../../format/quantity.ts";
import { formatInstant } from "../../view-state/range.ts";
import { upload } from "./upload.ts";

interface ImportResult {
  readonly name: string;
  readonly format: string;
  readonly kept: number;
  readonly refused: number;
  readonly notes: readonly string[];
  readonly fromTime: string | null;
  readonly toTime: string | null;
  readonly skipped: readonly { readonly reason: string; readonly count: number }[];
}

type UploadState =
  | { readonly kind: "idle" }
  | { readonly kind: "sending"; readonly name: string; readonly share: number }
  | { readonly kind: "done"; readonly outcome: ImportResult }
  | { readonly kind: "failed"; readonly name: string; readonly why: string };

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

export function ImportLog() {
  const [stand, setStand] = useState<UploadState>({ kind: "idle" });
  const [over, setOver] = useState(false);
  const [gpuName, setGpuName] = useState("");
  const [host, setHost] = useState("");
  const [timezone, setTimezone] = useState(ownZone);
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined || stand.kind === "sending") return;
    const { name } = file;
    setStand({ kind: "sending", name, share: 0 });
    try {
      const query = new URLSearchParams({ name, gpuName, host, timezone });
      const outcome = await upload(`api/import?${query.toString()}`, file, (share) =>
        setStand({ kind: "sending", name, share }),
      );
      setStand({ kind: "done", outcome: outcome as ImportResult });
    } catch (thrown) {
      setStand({
        kind: "failed",
        name,
        why: thrown instanceof Error ? thrown.message : String(thrown),
      });
    }
  };
  return (
    <section
      class="panel drop changes"
      aria-label="Import a log"
      data-over={over ? "" : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer?.files[0]);
      }}
    >
      <div class="bar-line">
        <strong>Import a log</strong>
        <span class="unit">
          Drop a GPU-Z sensor log here (or CSV, Prometheus or OpenMetrics text with times), or
        </span>
        <label class="file">
          choose a file
          <input
            type="file"
            class="unseen"
            onChange={(event) => {
              void take(event.currentTarget.files?.[0]);
              event.currentTarget.value = "";
            }}
          />
        </label>
      </div>
      <details open={stand.kind === "failed"}>
        <summary>Details that the log lacks</summary>
        <div class="bar-line">
          <label>
            Name of the GPU{" "}
            <input
              class="input"
              type="text"
              placeholder="such as GeForce RTX 4090"
              value={gpuName}
              onInput={(event) => setGpuName(event.currentTarget.value)}
            />
          </label>
          <label>
            Machine{" "}
            <input
              class="input"
              type="text"
              placeholder="this one"
              value={host}
              onInput={(event) => setHost(event.currentTarget.value)}
            />
          </label>
          <label>
            Time zone of its clock{" "}
            <input
              class="input"
              type="text"
              value={timezone}
              onInput={(event) => setTimezone(event.currentTarget.value)}
            />
          </label>
        </div>
      </details>
      <div role="status">
        <UploadStatus stand={stand} />
      </div>
    </section>
  );
}

function UploadStatus({ stand }: { stand: UploadState }) {
  if (stand.kind === "idle") return null;
  if (stand.kind === "failed")
    return (
      <p class="bad">
        {stand.name}: {stand.why}
      </p>
    );
  if (stand.kind === "sending")
    return (
      <p class="row">
        <span>
          {stand.name}:{" "}
          {stand.share < 1 ? `sent ${Math.floor(stand.share * 100)} %` : "reading it…"}
        </span>
        <progress max={1} value={stand.share < 1 ? stand.share : undefined} aria-label="Sent" />
      </p>
    );
  const { name, format, kept, refused, notes, fromTime, toTime, skipped } = stand.outcome;
  const [fromMs, toMs] = [Date.parse(fromTime ?? ""), Date.parse(toTime ?? "")];
  const dated = !Number.isNaN(fromMs) && !Number.isNaN(toMs);
  return (
    <div>
      <p>
        <strong>{name}</strong> ({format}): {formatFixedPoint(kept, 0)} samples are in the history
        {refused > 0 && <span class="warn">, {formatFixedPoint(refused, 0)} were refused</span>}
        {dated && (
          <>
            , {formatInstant(fromMs)} – {formatInstant(toMs)}.{" "}
            <a
              href={hrefOf("explore", {
                expr: "gpu_power_watts",
                from: new Date(fromMs - 1_000).toISOString(),
                to: new Date(toMs + 1_000).toISOString(),
              })}
            >
              Look at that time
            </a>
          </>
        )}
      </p>
      {[...notes, ...skipped.map(({ reason, count }) => `${count} left out: ${reason}`)].map(
        (note) => (
          <p key={note} class="unit">
            {note}
          </p>
        ),
      )}
    </div>
  );
}
