// Relabelling by example: rules as a file has them, labels before and after. The same table is run here and through a real
// Prometheus, so no example may need more than labels of a target.

import type { RelabelInput } from "../../src/formats/relabel/rule.ts";

export interface RelabelExample {
  readonly says: string;
  readonly rules: readonly RelabelInput[];
  readonly before: Readonly<Record<string, string>>;
  /** undefined: dropped. */
  readonly after: Readonly<Record<string, string>> | undefined;
  /** What a Prometheus before 3.0 does otherwise, and why: such a one is not asked. */
  readonly since3?: string;
}

const host = { __address__: "10.0.0.7:9100", job: "node" };
const pod = {
  __address__: "10.1.2.3:8080",
  __meta_kubernetes_namespace: "shop",
  __meta_kubernetes_pod_name: "cart-5d9",
  __meta_kubernetes_pod_annotation_prometheus_io_scrape: "true",
  __meta_kubernetes_pod_annotation_prometheus_io_port: "9102",
  __meta_kubernetes_pod_annotation_prometheus_io_path: "/stats",
  __meta_kubernetes_pod_label_app: "cart",
  __meta_kubernetes_pod_label_tier: "web",
};

export const relabelExamples: readonly RelabelExample[] = [
  {
    says: "no rule leaves all as it is",
    rules: [],
    before: host,
    after: host,
  },
  {
    says: "a label is copied by the defaults",
    rules: [{ source_labels: ["job"], target_label: "team" }],
    before: host,
    after: { ...host, team: "node" },
  },
  {
    says: "a fixed value is set without a source",
    rules: [{ target_label: "site", replacement: "north" }],
    before: host,
    after: { ...host, site: "north" },
  },
  {
    says: "a group takes the host out of the address",
    rules: [
      { source_labels: ["__address__"], regex: "([^:]+)(?::\\d+)?", target_label: "instance" },
    ],
    before: host,
    after: { ...host, instance: "10.0.0.7" },
  },
  {
    says: "the port of an address is exchanged",
    rules: [
      {
        source_labels: ["__address__"],
        regex: "(.*):\\d+",
        target_label: "__address__",
        replacement: "${1}:9400",
      },
    ],
    before: host,
    after: { ...host, __address__: "10.0.0.7:9400" },
  },
  {
    says: "sources are joined by a semicolon",
    rules: [{ source_labels: ["a", "b", "c"], target_label: "all" }],
    before: { ...host, a: "1", c: "3" },
    after: { ...host, a: "1", c: "3", all: "1;;3" },
  },
  {
    says: "another separator joins",
    rules: [{ source_labels: ["a", "b"], separator: "/", target_label: "all" }],
    before: { ...host, a: "1", b: "2" },
    after: { ...host, a: "1", b: "2", all: "1/2" },
  },
  {
    says: "an empty separator joins",
    rules: [{ source_labels: ["a", "b"], separator: "", target_label: "all" }],
    before: { ...host, a: "1", b: "2" },
    after: { ...host, a: "1", b: "2", all: "12" },
  },
  {
    says: "no match changes nothing",
    rules: [{ source_labels: ["job"], regex: "no", target_label: "job", replacement: "x" }],
    before: host,
    after: host,
  },
  {
    says: "a regex takes the whole text or nothing",
    rules: [{ source_labels: ["job"], regex: "nod", target_label: "job", replacement: "x" }],
    before: host,
    after: host,
  },
  {
    says: "alternatives are anchored together",
    rules: [{ source_labels: ["job"], regex: "n|node|x", target_label: "hit", replacement: "yes" }],
    before: host,
    after: { ...host, hit: "yes" },
  },
  {
    says: "an empty replacement takes the label away",
    rules: [{ source_labels: ["rack"], regex: "(.*)", target_label: "rack", replacement: "" }],
    before: { ...host, rack: "r1" },
    after: host,
  },
  {
    says: "a copy of a label that is not there takes the target away",
    rules: [{ source_labels: ["nothing"], target_label: "rack" }],
    before: { ...host, rack: "r1" },
    after: host,
  },
  {
    says: "a group that is not there is empty",
    rules: [{ source_labels: ["job"], target_label: "x", replacement: "a${7}b$9c" }],
    before: host,
    after: { ...host, x: "ab" },
  },
  {
    says: "letters after a number belong to the group's name",
    rules: [{ source_labels: ["job"], target_label: "x", replacement: "$1st ${1}st" }],
    before: host,
    after: { ...host, x: " nodest" },
  },
  {
    says: "two dollars are one",
    rules: [{ source_labels: ["job"], target_label: "x", replacement: "$$1 $$$1" }],
    before: host,
    after: { ...host, x: "$1 $node" },
  },
  {
    says: "a dollar that names nothing stays",
    rules: [{ source_labels: ["job"], target_label: "x", replacement: "5$ ${ ${} $-$" }],
    before: host,
    after: { ...host, x: "5$ ${ ${} $-$" },
  },
  {
    says: "group zero is all of it",
    rules: [
      { source_labels: ["job"], regex: "n(.).*", target_label: "x", replacement: "$0-$1-$01" },
    ],
    before: host,
    after: { ...host, x: "node-o-" },
  },
  {
    says: "groups may have names",
    rules: [
      {
        source_labels: ["__address__"],
        regex: "(?P<host>[^:]+):(?P<port>.*)",
        target_label: "x",
        replacement: "${port}@$host",
      },
    ],
    before: host,
    after: { ...host, x: "9100@10.0.0.7" },
  },
  {
    says: "a target may be made from groups",
    rules: [
      {
        source_labels: ["pair"],
        regex: "(\\w+)=(\\w+)",
        target_label: "got_$1",
        replacement: "$2",
      },
    ],
    before: { ...host, pair: "color=blue" },
    after: { ...host, pair: "color=blue", got_color: "blue" },
  },
  {
    says: "a target that comes out empty is left",
    rules: [{ source_labels: ["job"], regex: "(x*)node", target_label: "$1", replacement: "y" }],
    before: host,
    after: host,
  },
  {
    says: "keep keeps what matches",
    rules: [{ source_labels: ["job"], regex: "node|agent", action: "keep" }],
    before: host,
    after: host,
  },
  {
    says: "keep drops what does not match",
    rules: [{ source_labels: ["job"], regex: "agent", action: "keep" }],
    before: host,
    after: undefined,
  },
  {
    says: "keep by the default regex keeps all",
    rules: [{ source_labels: ["nothing"], action: "keep" }],
    before: host,
    after: host,
  },
  {
    says: "drop drops what matches",
    rules: [{ source_labels: ["job", "rack"], regex: "node;r[12]", action: "drop" }],
    before: { ...host, rack: "r1" },
    after: undefined,
  },
  {
    says: "drop keeps what does not match",
    rules: [{ source_labels: ["job", "rack"], regex: "node;r[12]", action: "drop" }],
    before: { ...host, rack: "r3" },
    after: { ...host, rack: "r3" },
  },
  {
    says: "actions are understood in any case",
    rules: [{ source_labels: ["job"], regex: "node", action: "DROP" }],
    before: host,
    after: undefined,
  },
  {
    says: "keepequal keeps equals",
    rules: [{ source_labels: ["a"], target_label: "b", action: "keepequal" }],
    before: { ...host, a: "1", b: "1" },
    after: { ...host, a: "1", b: "1" },
  },
  {
    says: "keepequal drops what differs",
    rules: [{ source_labels: ["a"], target_label: "b", action: "keepequal" }],
    before: { ...host, a: "1", b: "2" },
    after: undefined,
  },
  {
    says: "dropequal drops equals, also where both are missing",
    rules: [{ source_labels: ["a"], target_label: "b", action: "dropequal" }],
    before: host,
    after: undefined,
  },
  {
    says: "dropequal keeps what differs",
    rules: [{ source_labels: ["a"], target_label: "b", action: "dropequal" }],
    before: { ...host, a: "1" },
    after: { ...host, a: "1" },
  },
  {
    says: "hashmod spreads targets over hubs",
    rules: [
      { source_labels: ["__address__"], modulus: 4, target_label: "__tmp_hash", action: "hashmod" },
      { source_labels: ["__tmp_hash"], target_label: "part" },
    ],
    before: host,
    after: { ...host, __tmp_hash: "2", part: "2" },
  },
  {
    says: "hashmod of several sources with a large modulus",
    rules: [
      {
        source_labels: ["__address__", "job"],
        modulus: 1_000_003,
        target_label: "h",
        action: "hashmod",
      },
    ],
    before: host,
    after: { ...host, h: "111370" },
  },
  {
    says: "labelmap copies by name",
    rules: [{ regex: "__meta_kubernetes_pod_label_(.+)", action: "labelmap" }],
    before: pod,
    after: { ...pod, app: "cart", tier: "web" },
  },
  {
    says: "labelmap names with a template",
    rules: [
      { regex: "__meta_kubernetes_pod_label_(.+)", action: "labelmap", replacement: "k8s_${1}" },
    ],
    before: pod,
    after: { ...pod, k8s_app: "cart", k8s_tier: "web" },
  },
  {
    says: "labelmap to one name: the last in order stays",
    rules: [{ regex: "part_.", action: "labelmap", replacement: "one" }],
    before: { ...host, part_b: "2", part_a: "1" },
    after: { ...host, part_a: "1", part_b: "2", one: "2" },
  },
  {
    says: "labelmap to one name: what an earlier rule set comes after the rest",
    rules: [
      { target_label: "part_a", replacement: "new" },
      { regex: "part_.", action: "labelmap", replacement: "one" },
    ],
    before: { ...host, part_a: "1", part_b: "2" },
    after: { ...host, part_a: "new", part_b: "2", one: "new" },
  },
  {
    says: "labeldrop takes names away",
    rules: [{ regex: "rack|zo.*", action: "labeldrop" }],
    before: { ...host, rack: "r1", zone: "z", zo: "y", xrack: "x" },
    after: { ...host, xrack: "x" },
  },
  {
    says: "labelkeep leaves only some",
    rules: [{ regex: "__.*|job", action: "labelkeep" }],
    before: { ...host, rack: "r1" },
    after: host,
  },
  {
    says: "lowercase and uppercase",
    rules: [
      { source_labels: ["name"], target_label: "low", action: "lowercase" },
      { source_labels: ["name"], target_label: "high", action: "uppercase" },
    ],
    before: { ...host, name: "MixedCase-9" },
    after: { ...host, name: "MixedCase-9", low: "mixedcase-9", high: "MIXEDCASE-9" },
  },
  {
    says: "letters change one by one, as Go has them",
    rules: [
      { source_labels: ["name"], target_label: "low", action: "lowercase" },
      { source_labels: ["name"], target_label: "high", action: "uppercase" },
    ],
    before: { ...host, name: "Straße ΟΔΟΣ ᾳ é" },
    after: { ...host, name: "Straße ΟΔΟΣ ᾳ é", low: "straße οδοσ ᾳ é", high: "STRAßE ΟΔΟΣ ᾼ É" },
  },
  {
    says: "the annotations of a pod choose, address and name it",
    rules: [
      {
        source_labels: ["__meta_kubernetes_pod_annotation_prometheus_io_scrape"],
        action: "keep",
        regex: "true",
      },
      {
        source_labels: ["__meta_kubernetes_pod_annotation_prometheus_io_path"],
        action: "replace",
        target_label: "__metrics_path__",
        regex: "(.+)",
      },
      {
        source_labels: ["__address__", "__meta_kubernetes_pod_annotation_prometheus_io_port"],
        action: "replace",
        regex: "([^:]+)(?::\\d+)?;(\\d+)",
        replacement: "$1:$2",
        target_label: "__address__",
      },
      { action: "labelmap", regex: "__meta_kubernetes_pod_label_(.+)" },
      { source_labels: ["__meta_kubernetes_namespace"], target_label: "namespace" },
      { source_labels: ["__meta_kubernetes_pod_name"], target_label: "pod" },
    ],
    before: pod,
    after: {
      ...pod,
      __address__: "10.1.2.3:9102",
      __metrics_path__: "/stats",
      app: "cart",
      tier: "web",
      namespace: "shop",
      pod: "cart-5d9",
    },
  },
  {
    says: "a probe is asked about the target",
    rules: [
      { source_labels: ["__address__"], target_label: "__param_target" },
      { source_labels: ["__param_target"], target_label: "instance" },
      { target_label: "__address__", replacement: "127.0.0.1:9115" },
    ],
    before: { __address__: "example.test", job: "probe" },
    after: {
      __address__: "127.0.0.1:9115",
      __param_target: "example.test",
      instance: "example.test",
      job: "probe",
    },
  },
  {
    says: "a rule sees what the one before it did",
    rules: [
      { regex: "^rack$", action: "labeldrop" },
      { source_labels: ["job"], regex: "(.+)", target_label: "rack", replacement: "of-$1" },
      { source_labels: ["rack"], regex: "^of-node$", action: "keep" },
    ],
    before: { ...host, rack: "r1" },
    after: { ...host, rack: "of-node" },
  },
  {
    says: "a dot takes a line break",
    rules: [{ source_labels: ["note"], regex: "a.b", target_label: "hit", replacement: "yes" }],
    before: { ...host, note: "a\nb" },
    after: { ...host, note: "a\nb", hit: "yes" },
    since3: "a dot took no line break",
  },
  {
    says: "label names may be any text",
    rules: [{ source_labels: ["job"], target_label: "größe.von-x" }],
    before: host,
    after: { ...host, "größe.von-x": "node" },
    since3: "label names were letters, digits and underscores",
  },
];
