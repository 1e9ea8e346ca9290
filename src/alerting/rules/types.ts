/** Rules as their files give them, checked. */

export interface AlertingRule {
  readonly kind: "alert";
  readonly name: string;
  readonly expr: string;
  readonly forMs: number;
  readonly keepFiringForMs: number;
  /** Templates, not expanded. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface RecordingRule {
  readonly kind: "record";
  readonly name: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

export type Rule = AlertingRule | RecordingRule;

export interface RuleGroup {
  readonly file: string;
  readonly name: string;
  /** undefined: the engine's own interval. */
  readonly intervalMs: number | undefined;
  /** How far before its evaluation a rule looks; undefined: as far as the engine does by default. */
  readonly queryOffsetMs: number | undefined;
  /** Most alerts or series one rule may give; 0 is no limit. */
  readonly limit: number;
  readonly rules: readonly Rule[];
}

export type AlertState = "pending" | "firing" | "inactive";

/** One alert of one rule: a label set that its expression returned. */
export interface RuleAlert {
  readonly state: AlertState;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly value: number;
  readonly activeAtMs: number;
  readonly firedAtMs: number | undefined;
  readonly resolvedAtMs: number | undefined;
  readonly keepFiringSinceMs: number | undefined;
  readonly lastSentAtMs: number | undefined;
}

export type RuleHealth = "unknown" | "ok" | "err";
