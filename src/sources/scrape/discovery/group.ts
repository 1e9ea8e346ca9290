/** What every discovery finds: groups of targets, each target a set of labels, and the one interface they find them behind. */

export type TargetLabels = Readonly<Record<string, string>>;

/** A group is never changed after it was emitted: the same object stands for the same targets. */
export interface DiscoveredGroup {
  /** Where it comes from: a place in a file, a URL, an object of a cluster. Shown when something is wrong with it. */
  readonly source: string;
  /** Each with its `__address__`. */
  readonly targets: readonly TargetLabels[];
  /** Of every target that does not say otherwise itself. */
  readonly labels: TargetLabels;
}

export interface Discovery {
  /**
   * Finds until closed. `emit` gets all groups there are now; it is called once after the first attempt, whatever came of
   * it, and then at each change. What cannot be read any more keeps its last good groups.
   */
  start(emit: (groups: readonly DiscoveredGroup[]) => void): void;
  close(): void;
}
