/** The vocabulary of questions in free word order: what each word of a question means to `gpulse ask`. */

export type Concept =
  | "alert"
  | "average"
  | "busy"
  | "can"
  | "change"
  | "clock"
  | "compare"
  | "cost"
  | "driver"
  | "ecc"
  | "encoder"
  | "ended"
  | "energy"
  | "error"
  | "event"
  | "fan"
  | "gpu"
  | "health"
  | "heat"
  | "host"
  | "idle"
  | "job"
  | "limit"
  | "lowest"
  | "many"
  | "memory"
  | "model"
  | "most"
  | "nvlink"
  | "pcie"
  | "peak"
  | "power"
  | "ran"
  | "running"
  | "temperature"
  | "throttled"
  | "total"
  | "use"
  | "utilization"
  | "waste"
  | "where"
  | "who"
  | "why"
  | "xid";

const wordsOf: Readonly<Record<Concept, string>> = {
  alert: "alert alerts firing fire fired alarm alarms",
  average: "average avg mean",
  busy: "busy busiest loaded occupied taken",
  can: "can could should",
  change: "change changed changes",
  clock: "clock clocks frequency mhz fastest",
  compare: "compare comparison difference differ",
  cost: "cost costs money bill spend spent spends expensive price pay paid",
  driver: "driver drivers version versions",
  ecc: "ecc",
  encoder: "encoder encoders",
  ended: "ended finished completed done",
  energy:
    "energy electricity kwh co2 carbon footprint emission emissions emit emitted hours gpu-hours",
  error: "error errors",
  event: "event events happened happen timeline",
  fan: "fan fans",
  gpu: "gpu gpus card cards device devices accelerator accelerators",
  health:
    "health healthy unhealthy ok okay fine broken down up alive dead lost missing fit ready drain wrong problem problems issue issues failing degraded bad anything everything something status state offline unreachable reset drained replace replaced reboot inspect fail failed fails failure failures",
  heat: "hot hottest warm warmest overheating overheat thermally",
  host: "host hosts node nodes machine machines server servers",
  idle: "idle idlest unused free available empty",
  job: "job jobs workload workloads",
  limit: "limit limits",
  lowest: "least lowest min minimum coolest coldest idlest slowest emptiest",
  many: "many number count",
  memory: "memory vram full fullest emptiest",
  model: "model models type types",
  most: "most highest top max maximum hottest warmest busiest fullest fastest biggest largest hungriest",
  nvlink: "nvlink interconnect links",
  pcie: "pcie pci bandwidth throughput",
  peak: "max maximum peak",
  power: "power watt watts hungriest capped",
  ran: "ran",
  running: "running run runs",
  temperature: "temperature temperatures temp temps heat coolest coldest degrees celsius",
  throttled: "throttled throttling throttle capped slowed thermally",
  total: "total sum altogether overall combined",
  use: "use uses used using usage holds hold holding draw draws drawing consume consumes consumed consumption need needs take takes owns own owner owners hogging",
  utilization: "utilization utilisation load",
  waste: "waste wastes wasted wasting",
  where: "where",
  who: "who whom whose user users anyone anybody somebody people",
  why: "why explain cause reason slow slower slowing",
  xid: "xid xids",
};

/** Words without a meaning of their own here. Not among them: not, no, without, except. */
const fillers =
  "a an the is are was were be been being do does did doing has have had having would will i me my we our us you your there here it its this that these those now please show list give tell find see get what which where when how long much any all every each some few of on in at to for from with by per out and or than right current currently present value values level levels reading readings speed rate sorted sort order ordered ranked cluster fleet system datacenter going mean means say since been just still left over under across between so too last latest recent newest start started starts begin began installed";

const meanings = new Map<string, readonly Concept[]>();
for (const word of fillers.split(" ")) meanings.set(word, []);
for (const [concept, words] of Object.entries(wordsOf) as [Concept, string][])
  for (const word of words.split(" ")) meanings.set(word, [...(meanings.get(word) ?? []), concept]);

/** The concepts of a word; undefined for a word that is none of the vocabulary, such as a name. */
export const conceptsOf = (word: string): readonly Concept[] | undefined =>
  meanings.get(word.toLowerCase());
