/** A checked scrape configuration: every default filled in, every duration in milliseconds, every path absolute. */
import type { ExpositionFormat } from "../../../formats/exposition/visit.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { LabelSet } from "../../../model/labels.ts";
import type { RelabelRule } from "../../../formats/relabel/rule.ts";

/** Limits are counts; 0 is none, as Prometheus has it. */
export interface ScrapeLimits {
  readonly samples: number;
  readonly labels: number;
  readonly labelNameBytes: number;
  readonly labelValueBytes: number;
  readonly targets: number;
  readonly bodyBytes: number;
  readonly keepDroppedTargets: number;
}

/** What is scraped of histograms. */
export interface HistogramConfig {
  /** Native histograms; protobuf is then the format asked for first. */
  readonly isNative: boolean;
  /** Classic buckets also of histograms that have native ones. */
  readonly isAlwaysClassic: boolean;
  /** Classic histograms become native ones with custom buckets. */
  readonly isConverted: boolean;
  /** Buckets of one native histogram; 0 is no limit. */
  readonly bucketLimit: number;
  /** Finer native histograms are merged down to this schema. */
  readonly maxSchema: number;
}

export interface ScrapeConfig {
  readonly jobName: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly metricsPath: string;
  readonly scheme: "http" | "https";
  readonly params: Readonly<Record<string, readonly string[]>>;
  readonly honorLabels: boolean;
  readonly honorTimestamps: boolean;
  readonly trackTimestampsStaleness: boolean;
  readonly enableCompression: boolean;
  /** What is asked for, the most wanted first. */
  readonly formats: readonly ExpositionFormat[];
  /** The format of a page without a known Content-Type. */
  readonly fallbackFormat: ExpositionFormat;
  /** Also report the timeout, the sample limit and the page size. */
  readonly extraMetrics: boolean;
  readonly histograms: HistogramConfig;
  readonly limits: ScrapeLimits;
  /** Before the scrape, on a target's labels. */
  readonly relabelRules: readonly RelabelRule[];
  /** After it, on each series'. */
  readonly metricRelabelRules: readonly RelabelRule[];
  readonly discovery: DiscoveryConfig;
  readonly http: HttpClientConfig;
  /** Why nothing of this job is scraped: it asks for something that is not supported. */
  readonly inactive?: string;
}

export interface DiscoveryConfig {
  readonly static: readonly TargetGroup[];
  readonly file: readonly FileDiscovery[];
  readonly http: readonly HttpDiscovery[];
  readonly dns: readonly DnsDiscovery[];
  readonly kubernetes: readonly KubernetesDiscovery[];
}

/** Addresses, and labels that all of them get. */
export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: LabelSet;
}

/** Each pattern is absolute; its last part may hold a `*`. */
export interface FileDiscovery {
  readonly files: readonly string[];
  readonly refreshIntervalMs: number;
}

export interface HttpDiscovery {
  readonly url: string;
  readonly refreshIntervalMs: number;
  readonly http: HttpClientConfig;
}

export interface DnsDiscovery {
  readonly names: readonly string[];
  readonly type: "SRV" | "A" | "AAAA" | "MX" | "NS";
  /** For every type but SRV. */
  readonly port: number;
  readonly refreshIntervalMs: number;
}

export const kubernetesRoles = [
  "node",
  "pod",
  "service",
  "endpoints",
  "endpointslice",
  "ingress",
] as const;
export type KubernetesRole = (typeof kubernetesRoles)[number];

export interface KubernetesSelector {
  readonly role: KubernetesRole;
  readonly label?: string;
  readonly field?: string;
}

export interface KubernetesDiscovery {
  readonly role: KubernetesRole;
  /** Without it and without a kubeconfig: the cluster this runs in. */
  readonly apiServer?: string;
  readonly kubeconfigFile?: string;
  readonly namespaces: { readonly names: readonly string[]; readonly ownNamespace: boolean };
  readonly selectors: readonly KubernetesSelector[];
  readonly attachNodeMetadata: boolean;
  readonly http: HttpClientConfig;
}

export interface QueueConfig {
  readonly capacity: number;
  readonly minShards: number;
  readonly maxShards: number;
  readonly maxSamplesPerSend: number;
  readonly batchSendDeadlineMs: number;
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly retryOnRateLimit: boolean;
  /** Older samples are not sent; 0 is no bound. */
  readonly sampleAgeLimitMs: number;
}

export interface RemoteWriteConfig {
  readonly url: string;
  /** Given, or made from the url and the place in the list; unique. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly writeRelabelRules: readonly RelabelRule[];
  readonly version: "1.0" | "2.0";
  readonly sendsExemplars: boolean;
  readonly sendsHistograms: boolean;
  readonly queue: QueueConfig;
  readonly metadata: {
    readonly send: boolean;
    readonly sendIntervalMs: number;
    readonly maxSamplesPerSend: number;
  };
  readonly http: HttpClientConfig;
}

export interface AlertmanagerConfig {
  readonly scheme: "http" | "https";
  readonly pathPrefix: string;
  readonly timeoutMs: number;
  readonly relabelRules: readonly RelabelRule[];
  /** On the alerts sent to this one, after those of `alerting`. */
  readonly alertRelabelRules: readonly RelabelRule[];
  readonly discovery: DiscoveryConfig;
  readonly http: HttpClientConfig;
}

export interface GlobalConfig {
  readonly scrapeIntervalMs: number;
  readonly scrapeTimeoutMs: number;
  readonly evaluationIntervalMs: number;
  readonly ruleQueryOffsetMs: number;
  readonly externalLabels: LabelSet;
  readonly limits: ScrapeLimits;
}

/** A whole prometheus.yml. */
export interface PrometheusConfig {
  readonly global: GlobalConfig;
  readonly scrapeConfigs: readonly ScrapeConfig[];
  readonly remoteWrite: readonly RemoteWriteConfig[];
  /** Absolute patterns, as given. */
  readonly ruleFiles: readonly string[];
  readonly alerting: {
    readonly alertRelabelRules: readonly RelabelRule[];
    readonly alertmanagers: readonly AlertmanagerConfig[];
  };
  readonly otlp: {
    /** Histograms with explicit bounds become native ones with custom buckets. */
    readonly toCustomBuckets: boolean;
  };
  /** One sentence for each part that is understood and does nothing here, with its path. */
  readonly unsupported: readonly string[];
}
