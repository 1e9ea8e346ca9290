// Replays every stored input, those that once broke something first: none may break it again.

import { expect, test } from "vitest";

import { findContractBreach } from "./contract.ts";
import { readCorpus } from "./corpus.ts";
import { mutate, seededRandom } from "./mutate.ts";
import { groups } from "./targets.ts";

const targets = Object.values(groups).flat();
/** Adds a few new inputs, the same each time; `npm run fuzz` is the long run. */
const few = 60;

test.each(targets.map((target) => [target.name, target] as const))(
  "%s keeps its word on what is kept of it",
  { timeout: 120_000 },
  async (name, target) => {
    const kept = readCorpus(name);
    for (const { name: file, bytes } of kept)
      expect(await findContractBreach(target, bytes), `${name}/${file}`).toBeUndefined();
    const samples = [...target.seeds, ...kept.map(({ bytes }) => bytes)].map((seed) =>
      Buffer.from(seed as Uint8Array),
    );
    const random = seededRandom(17);
    for (let count = 0; count < few / (target.cost ?? 1); count++) {
      const bytes = mutate(samples, random).subarray(0, target.maxBytes);
      expect(await findContractBreach(target, bytes), bytes.toString("base64url")).toBeUndefined();
    }
  },
);
