/**
 * Prints the difference between the simulated card and a recorded one: `npm run sim:compare -- DIR [MODEL]`, DIR with phases.json
 * and a trace.
 */
import { compare } from "./sim-compare/compare.ts";
import { loadRecording } from "./sim-compare/load.ts";
import { comparisonTable, violations } from "./sim-compare/table.ts";
import { findModel, models } from "../src/sources/sim/models/index.ts";

const [folder, modelName = "H200"] = process.argv.slice(2);
const model = findModel(modelName);
if (folder === undefined || model === undefined) {
  const known = models.map(({ key }) => key).join(", ");
  process.stderr.write(
    `usage: npm run sim:compare -- DIR [MODEL]   (DIR holds phases.json and a trace; models: ${known})\n`,
  );
  process.exit(2);
}
const { phases, rows } = recording(folder);
for (const useUtilization of [true, false]) {
  const comparison = compare(model, phases, rows, { useUtilization });
  const drive = useUtilization
    ? "phases, and stalls from the trace's utilisation"
    : "phases alone, whose names do not say how busy the card was";
  process.stdout.write(`\n${model.name} driven by the ${drive}\n${comparisonTable(comparison)}\n`);
  for (const violation of violations(comparison))
    process.stdout.write(`out of bounds: ${violation}\n`);
}

function recording(from: string): ReturnType<typeof loadRecording> {
  try {
    return loadRecording(from);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `${from} cannot be compared with: ${why}. Give a folder with phases.json and a trace, such as src/sources/sim/captures/h200-first.\n`,
    );
    process.exit(2);
  }
}
