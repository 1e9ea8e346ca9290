/**
 * Labels and controllers of the pods that hold GPUs, as series besides `gpu_owner_info`. The hub reads each such pod from the
 * API server every few minutes, so that agents need no permissions there. No other pod is read.
 */
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { identityOf } from "../../model/identity.ts";
import { labelKey, labelSet, labelValue } from "../../model/labels.ts";
import { presence } from "../../model/presence.ts";
import { type ListedReading, ReadingFrames } from "../../model/reading-frames.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { SampleWriter } from "../../storage/history.ts";
import { ApiServerError } from "../kubernetes/api-server.ts";
import { podLabels } from "./pod.ts";

export interface PodInfoOptions {
  readonly latest: { at(nowMs: number): readonly Delivery[] };
  /** Returns the pod from the API server; rejects with ApiServerError 404 if it is gone. */
  readonly readPod: (namespace: string, pod: string) => Promise<unknown>;
  /** Keys of the pod labels to copy. */
  readonly labels: readonly string[];
  readonly writer: Pick<SampleWriter, "writeFrame">;
  /** Receives every pod whose controller or labels are known, after each round. */
  readonly describe?: ((pods: readonly DescribedPod[]) => void) | undefined;
  readonly log: Log;
  readonly nowMs: () => number;
}

const roundEveryMs = 5_000;
/** Labels of a running pod rarely change. */
const rereadMs = 300_000;
/**
 * A pod that the API server does not return, such as one in a namespace without rights, must not delay the others. One that does
 * not exist may be created again under its name.
 */
const refusedMs = 60_000;
/** Reads per round: a hub that starts in a full cluster needs several rounds to read its pods. */
const maxReads = 200;
const parallelReads = 8;

interface DescribedPod {
  readonly namespace: string;
  readonly pod: string;
  /** Kind and name of the controller, such as `Job/train`. */
  readonly controller?: string;
  /** The requested labels that it has, by their names in series. */
  readonly labels?: Readonly<Record<string, string>>;
}

interface KnownPod {
  /** When to read it again. */
  readonly dueMs: number;
  /** Undefined if the pod does not exist, or was never read. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The API server's error, if it refused the last read. */
  readonly refusal?: string;
}

interface PodOwner {
  readonly pod: string;
  readonly namespace: string;
  /** Labels of the GPU. */
  readonly device: Readonly<Record<string, string | undefined>>;
}

const keyOf = ({ namespace, pod }: PodOwner): string => `${namespace}/${pod}`;

export class PodInfo {
  readonly #options: PodInfoOptions;
  readonly #pods = new Map<string, KnownPod>();
  readonly #frames = new Map<string, ReadingFrames>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #problem: string | undefined;

  constructor(options: PodInfoOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#round ??= this.round().finally(() => (this.#round = undefined));
    }, roundEveryMs).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [`pod info: ${this.#problem}`];
  }

  /** Reads pods that are new or due again, and writes the series of all pods. Never rejects. */
  async round(): Promise<void> {
    const { log } = this.#options;
    try {
      const owners = this.#owners();
      let problem: string | undefined;
      try {
        await this.#read(owners);
      } catch (thrown) {
        problem = formatError(thrown);
      }
      this.#options.describe?.(this.#described(owners));
      // The data of the other pods is still written.
      await this.#write(owners);
      if (problem !== undefined && problem !== this.#problem)
        log.warn("pods could not be read", { error: problem });
      this.#problem = problem;
    } catch (thrown) {
      const problem = formatError(thrown);
      if (problem !== this.#problem) log.warn("pod info failed", { error: problem });
      this.#problem = problem;
    }
  }

  #owners(): readonly PodOwner[] {
    const { latest, nowMs } = this.#options;
    const owners = new Map<string, PodOwner>();
    for (const { frame } of latest.at(nowMs()))
      frame.layout.series.forEach(({ metric, labels }, slot) => {
        if (metric !== gpu.ownerInfo || frame.presence[slot] !== presence.present) return;
        const label = (name: string): string | undefined => labelValue(labels, name);
        const [namespace, pod] = [label("namespace"), label("pod")];
        if (namespace === undefined || pod === undefined) return;
        const device = {
          uuid: label("uuid"),
          gpu: label("gpu"),
          host: label("host"),
          job: label("job"),
          instance: label("instance"),
        };
        const owner = { namespace, pod, device };
        // Two containers of a pod may share a GPU.
        owners.set(labelKey(labelSet({ ...device, namespace, pod })), owner);
      });
    return [...owners.values()];
  }

  #described(owners: readonly PodOwner[]): DescribedPod[] {
    const pods = new Map<string, DescribedPod>();
    for (const owner of owners) {
      const known = this.#pods.get(keyOf(owner))?.labels ?? {};
      const { owner_kind: kind, owner_name: name, ...labels } = known;
      const { namespace, pod } = owner;
      const isControlled = kind !== undefined && name !== undefined;
      if (!isControlled && Object.keys(labels).length === 0) continue;
      pods.set(keyOf(owner), {
        namespace,
        pod,
        ...(isControlled && { controller: `${kind}/${name}` }),
        ...(Object.keys(labels).length > 0 && { labels }),
      });
    }
    return [...pods.values()];
  }

  async #read(owners: readonly PodOwner[]): Promise<void> {
    const { readPod, nowMs, labels } = this.#options;
    const wanted = new Map(owners.map((owner) => [keyOf(owner), owner]));
    // A pod that reappears with the same name is a different pod.
    for (const key of this.#pods.keys()) if (!wanted.has(key)) this.#pods.delete(key);
    const due = [...wanted].filter(([key]) => nowMs() >= (this.#pods.get(key)?.dueMs ?? 0));
    const queue = due.slice(0, maxReads);
    const readNext = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [key, { namespace, pod }] = next;
        try {
          const found = podLabels(await readPod(namespace, pod), labels);
          this.#pods.set(key, { dueMs: nowMs() + rereadMs, labels: found });
        } catch (thrown) {
          // Without a response the next reads would fail as well: they wait for the next round.
          if (!(thrown instanceof ApiServerError)) {
            queue.length = 0;
            throw thrown;
          }
          const isGone = thrown.status === 404;
          const last = isGone
            ? { labels: undefined }
            : { labels: this.#pods.get(key)?.labels, refusal: formatError(thrown) };
          this.#pods.set(key, { dueMs: nowMs() + refusedMs, ...last });
        }
      }
    };
    const reads = Array.from({ length: parallelReads }, readNext);
    const failed = (await Promise.allSettled(reads)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    const refusal = [...this.#pods.values()].find((pod) => pod.refusal !== undefined)?.refusal;
    if (refusal !== undefined) throw new Error(refusal);
  }

  async #write(owners: readonly PodOwner[]): Promise<void> {
    const { writer, nowMs } = this.#options;
    const hosts = new Map<string, ListedReading[]>();
    // A host without pods gets an empty frame, so that its series end.
    for (const host of this.#frames.keys()) hosts.set(host, []);
    for (const owner of owners) {
      const known = this.#pods.get(keyOf(owner))?.labels;
      if (known === undefined) continue;
      const { device, namespace, pod } = owner;
      const host = device["host"] ?? "";
      const reading: ListedReading = {
        metric: gpu.ownerPodInfo,
        labels: labelSet({ ...known, ...device, namespace, pod }),
        value: 1,
      };
      const readings = hosts.get(host);
      if (readings === undefined) hosts.set(host, [reading]);
      else readings.push(reading);
    }
    for (const [host, readings] of hosts) {
      const frames = this.#frames.get(host) ?? new ReadingFrames();
      this.#frames.set(host, frames);
      const frame = frames.frame(nowMs(), readings);
      const origin = { frame, source: `pod-info/${host}`, tier: "pods" };
      await writer.writeFrame(origin, identityOf(host));
      if (readings.length === 0) this.#frames.delete(host);
    }
  }
}
