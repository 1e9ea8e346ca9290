/** Validated rules from rule files. */

export interface AlertingRule {
  readonly kind: "alert";
  readonly name: string;
  readonly expr: string;
  readonly forMs: number;
  readonly keepFiringForMs: number;
  /** Unexpanded templates. */
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
  /** Undefined: the engine's interval. */
  readonly intervalMs: number | undefined;
  /** How far before its evaluation a rule queries; undefined: the engine's default. */
  readonly queryOffsetMs: number | undefined;
  /** Maximum number of alerts or series per rule; 0 means no limit. */
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
