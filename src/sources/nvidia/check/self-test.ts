/** Verifies on this GPU that one wrong bit is found: flips one bit per short run, in a kernel's registers or in memory. */
import { memoryPatterns, patternWordAt } from "./expected.ts";
import { MemoryUnderTest } from "./memory.ts";
import { ProductLoad, productShapesOf } from "./products.ts";
import type { SelfTestResult } from "./protocol.ts";
import { type CheckSession, pause } from "./session.ts";

const memoryBytes = 2 ** 26;
const repeats = 2;

/**
 * One kind of fault. `inject` causes one and returns true if exactly that one was found; `clean` runs without a fault and returns
 * the number of wrong values found.
 */
interface FaultKind {
  readonly name: string;
  inject(turn: number): boolean;
  clean(turn: number): number;
  free(): void;
}

export async function runSelfTest(
  session: CheckSession,
  count: number,
  random: () => number,
): Promise<SelfTestResult> {
  const below = (limit: number): number => Math.floor(random() * limit);
  const kinds = [
    ...productShapesOf(session.facts.computeCapability).map((shape) =>
      productFaults(new ProductLoad(session, shape), below),
    ),
    memoryFaults(session, below),
  ];
  const tally = kinds.map(() => ({ injected: 0, found: 0 }));
  let falseAlarms = 0;
  session.guard.expectMemory(session.device.memory().freeBytes);
  for (let turn = 0; turn < count; turn++) {
    const at = turn % kinds.length;
    const [kind, sum] = [kinds[at], tally[at]];
    if (kind === undefined || sum === undefined) throw new Error("BUG: no kind of fault");
    sum.injected++;
    if (kind.inject(turn)) sum.found++;
    falseAlarms += kind.clean(turn);
    await pause(session, "self-test", (turn + 1) / count);
  }
  for (const kind of kinds) kind.free();
  return {
    injected: count,
    found: tally.reduce((sum, { found }) => sum + found, 0),
    falseAlarms,
    kinds: Object.fromEntries(
      kinds.map(({ name }, at) => [name, tally[at] ?? { injected: 0, found: 0 }]),
    ),
  };
}

function productFaults(load: ProductLoad, below: (limit: number) => number): FaultKind {
  const { shape, blocks } = load;
  return {
    name: `${shape.kind} products`,
    inject: (turn) => {
      load.run(turn, repeats, {
        block: below(blocks),
        thread: below(shape.threads),
        step: below(shape.iterations * repeats),
        mask: 2 ** below(32),
      });
      return load.takeFindings().wrong === 1;
    },
    clean: (turn) => {
      load.run(turn, repeats);
      return load.takeFindings().wrong;
    },
    free: () => load.free(),
  };
}

function memoryFaults(session: CheckSession, below: (limit: number) => number): FaultKind {
  const memory = new MemoryUnderTest(session, memoryBytes);
  const patternOf = (turn: number) => memoryPatterns[turn % memoryPatterns.length];
  const takeFindings = () => {
    const found = memory.findings.read();
    memory.findings.clear();
    return found;
  };
  const run = (turn: number, fault?: (word: number, bit: bigint) => void) => {
    const [chunk, pattern] = [memory.chunks[0], patternOf(turn)];
    if (chunk === undefined || pattern === undefined) throw new Error("BUG: no memory to test");
    memory.fill(chunk, pattern);
    const [word, bit] = [below(chunk.words), 1n << BigInt(below(64))];
    if (fault !== undefined) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(patternWordAt(pattern, BigInt(word)) ^ bit, 0);
      session.device.write(chunk.address + word * 8, bytes);
      fault(word, bit);
    }
    memory.verify(chunk, pattern);
    return takeFindings();
  };
  return {
    name: "memory",
    inject: (turn) => {
      let [at, flipped] = [0, 0n];
      const found = run(turn, (word, bit) => ([at, flipped] = [word, bit]));
      return found.wrong === 1 && found.first === BigInt(at) && found.bits === flipped;
    },
    clean: (turn) => run(turn).wrong,
    free: () => memory.free(),
  };
}
