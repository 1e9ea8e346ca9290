/**
 * The controllers of pods that hold GPUs, remembered until their jobs have ended: Kubernetes may be queried before a job starts.
 */

/** Kubernetes' data about a pod that holds a GPU. */
export interface PodController {
  readonly namespace: string;
  readonly pod: string;
  /** Kind and name, such as `Job/train`. */
  readonly controller: string;
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

  of(key: string): string | undefined {
    return this.#pods.get(key)?.controller;
  }

  forget(key: string): void {
    this.#pods.delete(key);
  }

  all(): readonly PodController[] {
    return [...this.#pods.values()];
  }
}
