/** Loads a scenario by its name, or from a user's file. */
import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { checkValue } from "../../../config/check.ts";
import { didYouMean } from "../../../config/closest.ts";
import { GpulseError, formatError, systemCode } from "../../../base/error.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { type Scenario, scenarioSchema } from "./schema.ts";

/** An argument with a slash, a backslash or a YAML ending is a file; anything else is a scenario's name. */
export function loadScenario(nameOrFile: string): Scenario {
  if (!/[/\\]|\.ya?ml$/i.test(nameOrFile)) {
    const text = Object.hasOwn(scenarios, nameOrFile) ? scenarios[nameOrFile] : undefined;
    if (text !== undefined) return parseScenario(text, nameOrFile);
    const known = Object.keys(scenarios);
    const near = didYouMean(nameOrFile, known);
    throw new GpulseError(
      "SCENARIO_INVALID",
      `There is no scenario "${nameOrFile}".${near === "" ? ` There are ${known.join(", ")}; the name of your own file ends in .yaml.` : near}`,
    );
  }
  let text: string;
  try {
    text = readFileSync(nameOrFile, "utf8");
  } catch (thrown) {
    const why =
      systemCode(thrown) === "ENOENT"
        ? "does not exist"
        : `cannot be read (${formatError(thrown)})`;
    throw new GpulseError("SCENARIO_INVALID", `The scenario file ${nameOrFile} ${why}.`, {
      cause: thrown,
    });
  }
  return parseScenario(text, nameOrFile);
}

export function parseScenario(text: string, shown: string): Scenario {
  let document: ReturnType<typeof parseDocument>;
  try {
    document = parseDocument(text, { prettyErrors: true });
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new GpulseError("SCENARIO_INVALID", `Scenario ${shown}: nested too deeply.`, {
      cause: thrown,
    });
  }
  const wrong = (thrown: Error): GpulseError => {
    const [line] = thrown.message.split("\n");
    return new GpulseError("SCENARIO_INVALID", `Scenario ${shown}: ${line ?? "not valid YAML"}`, {
      cause: thrown,
    });
  };
  const [syntax] = document.errors;
  if (syntax !== undefined) throw wrong(syntax);
  let given: unknown;
  try {
    given = document.toJS();
  } catch (thrown) {
    // An undefined alias, or too many of them.
    throw thrown instanceof Error ? wrong(thrown) : thrown;
  }
  const checked = checkValue(scenarioSchema, given ?? {});
  if (checked.ok) return checked.value;
  throw new GpulseError(
    "SCENARIO_INVALID",
    `Scenario ${shown}: ${checked.problems[0]?.sentence ?? "not understood."}`,
  );
}
