/** The hub's alerts as its API returns them: in Alertmanager's, Prometheus's, and the hub's own format. */

export type LabelMap = Readonly<Record<string, string>>;

export interface GettableAlert {
  readonly fingerprint: string;
  readonly labels: LabelMap;
  readonly annotations: LabelMap;
  readonly startsAt: string;
  readonly updatedAt: string;
  readonly generatorURL?: string;
  readonly receivers: readonly { readonly name: string }[];
  readonly status: {
    readonly state: "active" | "suppressed" | "unprocessed";
    readonly silencedBy: readonly string[];
    readonly inhibitedBy: readonly string[];
  };
}

export interface ApiAlertGroup {
  readonly labels: LabelMap;
  readonly receiver: { readonly name: string };
  readonly alerts: readonly GettableAlert[];
}

export interface ApiMatcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

export interface GettableSilence {
  readonly id: string;
  readonly status: { readonly state: "active" | "pending" | "expired" };
  readonly comment: string;
  readonly createdBy: string;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly matchers: readonly ApiMatcher[];
}

export interface ApiRuleAlert {
  readonly labels: LabelMap;
  readonly annotations: LabelMap;
  readonly state: "pending" | "firing" | "inactive";
  readonly activeAt: string;
  readonly value: string;
}

export interface ApiRule {
  readonly type: "alerting" | "recording";
  readonly name: string;
  readonly query: string;
  readonly labels: LabelMap;
  readonly health: "ok" | "err" | "unknown";
  readonly lastError?: string;
  /** Annotations of its last evaluation. */
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
  readonly lastEvaluation: string;
  readonly evaluationTime: number;
  readonly state?: "firing" | "pending" | "inactive" | "unknown";
  readonly duration?: number;
  readonly keepFiringFor?: number;
  readonly annotations?: LabelMap;
  readonly alerts?: readonly ApiRuleAlert[] | null;
}

export interface ApiRuleGroup {
  readonly name: string;
  readonly file: string;
  readonly interval: number;
  readonly rules: readonly ApiRule[];
}

/** True for the hub's own file, whose rules were created on the page. */
export const isPageRule = ({ name, file }: ApiRuleGroup): boolean =>
  name === "page" && file.endsWith("page.yml");

export interface RulesResponse {
  readonly data: { readonly groups: readonly ApiRuleGroup[] };
}

export interface ApiDelivery {
  readonly time: string;
  readonly receiver: string;
  readonly channel?: string;
  readonly outcome: "sent" | "failed" | "suppressed";
  readonly status: "firing" | "resolved";
  readonly group: LabelMap;
  readonly alerts: readonly string[];
  readonly attempts: number;
  readonly why?: string;
}

export interface Backtest {
  readonly start: string;
  readonly end: string;
  readonly stepSeconds: number;
  readonly totals: {
    readonly firings: number;
    readonly labelSets: number;
    readonly firingSeconds: number;
    readonly longestSeconds: number;
    readonly pendingOnly: number;
  };
  readonly firings: readonly {
    readonly labels: LabelMap;
    readonly start: string;
    /** Absent if the alert still fires at the end of the range. */
    readonly end?: string;
    readonly durationSeconds: number;
    /** Null if it is infinite. */
    readonly peak: number | null;
  }[];
}

export interface ApiEvent {
  readonly id: string | number;
  readonly time: string;
  readonly end?: string;
  readonly kind: string;
  readonly state?: string;
  readonly severity: string;
  readonly title: string;
  readonly text?: string;
  readonly labels: LabelMap;
}

export const formatMatcher = ({ name, value, isRegex, isEqual }: ApiMatcher): string =>
  `${name}${isEqual ? "=" : "!"}${isRegex ? "~" : isEqual ? "" : "="}"${value}"`;

/** The display level of a severity. */
export function levelOf(severity: string | undefined): "bad" | "warn" | "note" {
  if (severity === "critical" || severity === "page" || severity === "error") return "bad";
  return severity === "warning" ? "warn" : "note";
}
