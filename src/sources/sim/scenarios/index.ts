/** The scenarios that come with gpulse, as text, so that they travel inside the bundle and read like a user's own file. */
import { defaultScenario } from "./default.ts";
import { faultsScenario } from "./faults.ts";
import { idleScenario } from "./idle.ts";
import { mixedScenario } from "./mixed.ts";
import { mlperfScenario } from "./mlperf.ts";
import { stressScenario } from "./stress.ts";

export const scenarios: Readonly<Record<string, string>> = {
  default: defaultScenario,
  stress: stressScenario,
  idle: idleScenario,
  faults: faultsScenario,
  mixed: mixedScenario,
  mlperf: mlperfScenario,
};
