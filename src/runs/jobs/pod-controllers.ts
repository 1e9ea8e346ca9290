/** What controls the pods that hold GPUs, remembered until their jobs have ended: Kubernetes may be asked before a job starts. */

/** What Kubernetes says about a pod that holds a GPU. */
export interface PodController {
  readonly namespace: string;
  readonly pod: string;
  /** Kind and name, such as `Job/train`. */
  readonly controller: string;
}

/** The oldest are forgotten beyond this. */
const mostPods = 20_000;

export class PodControllers {
  /** By the key of the pod's job. */
  readonly #pods = new Map<string, PodController>();

  /** Returns the key of the pod's job. */
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
