/**
 * The controllers and labels of pods that hold GPUs, remembered until their jobs have ended: Kubernetes may be queried before a
 * job starts.
 */
import type { JobRecord } from "./record.ts";

/** Kubernetes' data about a pod that holds a GPU. */
export interface PodController {
  readonly namespace: string;
  readonly pod: string;
  /** Kind and name, such as `Job/train`; absent for a pod without one. */
  readonly controller?: string | undefined;
  /** The pod labels that the hub is configured to read, by their names in series, such as `label_team`. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Beyond this, the oldest are forgotten. */
const mostPods = 20_000;

export class PodControllers {
  /** By the key of the pod's job. */
  readonly #pods = new Map<string, PodController>();

  /** Adds a pod and returns the key of its job. */
  add(pod: PodController): string {
    const key = `pod:${pod.namespace}/${pod.pod}`;
    this.#pods.delete(key);
    this.#pods.set(key, pod);
    const [oldest] = this.#pods.keys();
    if (this.#pods.size > mostPods && oldest !== undefined) this.#pods.delete(oldest);
    return key;
  }

  /** Adds what is known about the pod of a job to its record. */
  describe(record: JobRecord): void {
    const { controller, labels } = this.#pods.get(record.key) ?? {};
    if (controller !== undefined) record.controller = controller;
    if (labels !== undefined) record.labels = labels;
  }

  forget(key: string): void {
    this.#pods.delete(key);
  }

  all(): readonly PodController[] {
    return [...this.#pods.values()];
  }
}
