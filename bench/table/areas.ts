/** Every area of the benchmark table, in the order of the page. To add one, add a file beside this one and a line here. */
import { agent } from "./agent.ts";
import { analytics } from "./analytics.ts";
import { daily } from "./daily.ts";
import { histograms } from "./histograms.ts";
import { latency } from "./latency.ts";
import type { Area } from "./measurement.ts";
import { nvidia } from "./nvidia.ts";
import { queries } from "./queries.ts";
import { receive } from "./receive.ts";
import { rules } from "./rules.ts";
import { scale } from "./scale.ts";
import { store } from "./store.ts";
import { stream } from "./stream.ts";
import { top } from "./top.ts";
import { web } from "./web.ts";

export const areas: readonly Area[] = [
  agent,
  nvidia,
  store,
  receive,
  queries,
  histograms,
  scale,
  rules,
  latency,
  web,
  analytics,
  daily,
  stream,
  top,
];
