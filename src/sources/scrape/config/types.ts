/** The checked scrape configuration: every default is filled in, every duration is in milliseconds, every path is absolute. */
import type { ExpositionFormat } from "../../../formats/exposition/visit.ts";
import type { HttpClientConfig } from "../../../net/http/auth-config.ts";
import type { LabelSet } from "../../../model/labels.ts";
import type { RelabelRule } from "../../../formats/relabel/rule.ts";

/** Limits are counts or bytes; 0 means no limit, as in Prometheus. */
export interface ScrapeLimits {
  readonly samples: number;
  readonly labels: number;
  readonly labelNameBytes: number;
  readonly labelValueBytes: number;
  readonly targets: number;
  readonly bodyBytes: number;
  readonly keepDroppedTargets: number;
}

/** Which histograms are scraped, and how. */
export interface HistogramConfig {
  /** Scrape native histograms; protobuf is then the preferred format. */
  readonly isNative: boolean;
  /** Also scrape the classic buckets of histograms that have native ones. */
  readonly isAlwaysClassic: boolean;
  /** Convert classic histograms to native ones with custom buckets. */
  readonly isConverted: boolean;
  /** Maximum number of buckets of a native histogram; 0 means no limit. */
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
  /** Formats to request, in order of preference. */
  readonly formats: readonly ExpositionFormat[];
  /** The format of a page without a known Content-Type. */
  readonly fallbackFormat: ExpositionFormat;
  /** Also report the timeout, the sample limit and the page size. */
  readonly extraMetrics: boolean;
  readonly histograms: HistogramConfig;
  readonly limits: ScrapeLimits;
  /** Applied to a target's labels before the scrape. */
  readonly relabelRules: readonly RelabelRule[];
  /** Applied to each series' labels after the scrape. */
  readonly metricRelabelRules: readonly RelabelRule[];
  readonly discovery: DiscoveryConfig;
  readonly http: HttpClientConfig;
  /** Why this job is not scraped: it requires an unsupported feature. */
  readonly inactive?: string;
}

export interface DiscoveryConfig {
  readonly static: readonly TargetGroup[];
  readonly file: readonly FileDiscovery[];
  readonly http: readonly HttpDiscovery[];
  readonly dns: readonly DnsDiscovery[];
  readonly kubernetes: readonly KubernetesDiscovery[];
}

/** Addresses, and labels added to all of them. */
export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: LabelSet;
}

/** Each pattern is absolute; its last part may contain a `*`. */
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
  /** The port for every record type but SRV. */
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
  /** Without it and without a kubeconfig, the cluster this process runs in. */
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
  /** Older samples are not sent; 0 means no limit. */
  readonly sampleAgeLimitMs: number;
}

export interface RemoteWriteConfig {
  readonly url: string;
  /** Configured, or made from the URL and the position in the list; unique. */
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
  /** Applied to alerts sent to this Alertmanager, after the rules of `alerting`. */
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
  /** Absolute patterns, not expanded. */
  readonly ruleFiles: readonly string[];
  readonly alerting: {
    readonly alertRelabelRules: readonly RelabelRule[];
    readonly alertmanagers: readonly AlertmanagerConfig[];
  };
  readonly otlp: {
    /** Convert histograms with explicit bounds to native ones with custom buckets. */
    readonly toCustomBuckets: boolean;
  };
  /** One sentence, with its path, for each part that is valid but has no effect here. */
  readonly unsupported: readonly string[];
}
