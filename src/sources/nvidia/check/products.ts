/** Products with known results on every SM: integers on the integer units and, since Ampere, bf16 on the tensor cores. */
import { integerDigests, tensorDigests } from "./expected.ts";
import { FindingsMemory, type CheckFindings } from "./findings.ts";
import type { ProductsResult } from "./protocol.ts";
import { baseModule } from "./ptx/base.ts";
import { tensorModule, tensorProductShape } from "./ptx/tensor.ts";
import { type CheckSession, repeatsFor, runSlices } from "./session.ts";

export type ProductKind = ProductsResult["kinds"][number];

interface ProductShape {
  readonly kind: ProductKind;
  readonly module: () => string;
  readonly kernel: string;
  readonly threads: number;
  readonly iterations: number;
  /** Multiplications per block and iteration. */
  readonly perIteration: number;
  readonly digests: (seed: number, threads: number, iterations: number) => Uint32Array;
}

const shapes: readonly ProductShape[] = [
  {
    kind: "integer",
    module: baseModule,
    kernel: "integer_products",
    threads: 256,
    iterations: 1_024,
    perIteration: 256 * 2,
    digests: integerDigests,
  },
  {
    kind: "bf16",
    module: tensorModule,
    kernel: "tensor_products",
    ...tensorProductShape,
    perIteration: (tensorProductShape.threads / 32) * 16 * 8 * 16,
    digests: tensorDigests,
  },
];

const blocksPerSm = 4;
/** Seeds whose results are computed in advance; slices use them in turn. */
const seeds: readonly number[] = [1, 0x5bd1_e995, 0xdead_beef];

/** The bit to flip in the self-test: the thread, its block, the iteration, and the bit. */
export interface BitFlip {
  readonly block: number;
  readonly thread: number;
  readonly step: number;
  readonly mask: number;
}

const noFlip: BitFlip = { block: 0, thread: 0, step: 0, mask: 0 };

/** One kernel with the expected results of each seed in device memory. */
export class ProductLoad {
  readonly shape: ProductShape;
  readonly blocks: number;
  readonly #session: CheckSession;
  readonly #kernel: number;
  readonly #expected: readonly { readonly address: number; readonly free: () => void }[];
  readonly #findings: FindingsMemory;

  constructor(session: CheckSession, shape: ProductShape) {
    const { device, facts } = session;
    [this.shape, this.#session] = [shape, session];
    this.blocks = facts.smCount * blocksPerSm;
    this.#kernel = device.loadModule(shape.module())(shape.kernel);
    this.#expected = seeds.map((seed) => {
      const digests = shape.digests(seed, shape.threads, shape.iterations);
      const memory = device.allocate(digests.byteLength);
      device.write(memory.address, digests);
      return memory;
    });
    this.#findings = new FindingsMemory(device);
  }

  run(turn: number, repeats: number, flip: BitFlip = noFlip): number {
    const { device } = this.#session;
    const at = turn % seeds.length;
    return device.time(() =>
      device.launch({
        kernel: this.#kernel,
        blocks: this.blocks,
        threads: this.shape.threads,
        params: [
          this.#expected[at]?.address ?? 0,
          this.#findings.address,
          repeats,
          this.shape.iterations,
          seeds[at] ?? 0,
          flip.block,
          flip.thread,
          flip.step,
          flip.mask,
        ],
      }),
    );
  }

  /** Returns the wrong values found since the last call. */
  takeFindings(): CheckFindings {
    const found = this.#findings.read();
    this.#findings.clear();
    return found;
  }

  free(): void {
    for (const { free } of this.#expected) free();
    this.#findings.free();
  }
}

export const productShapesOf = (computeCapability: number): readonly ProductShape[] =>
  shapes.filter(({ kind }) => kind === "integer" || computeCapability >= 80);

export async function measureProducts(
  session: CheckSession,
  seconds: number,
): Promise<ProductsResult> {
  const chosen = productShapesOf(session.facts.computeCapability);
  const sms = new Set<number>();
  let [products, count, smCount, time] = [0, 0, 0, 0];
  for (const shape of chosen) {
    const load = new ProductLoad(session, shape);
    load.run(0, 1);
    const repeats = repeatsFor(load.run(0, 4) / 4, 2 ** 20);
    load.takeFindings();
    let turn = 0;
    const part = { test: "products", seconds: seconds / chosen.length } as const;
    const times = await runSlices(session, part, () => {
      const elapsed = load.run(turn++, repeats);
      const found = load.takeFindings();
      count += found.wrong;
      if (found.wrong > 0) sms.add(Number(found.first >> 32n));
      smCount = Math.max(smCount, found.smCount);
      products += load.blocks * shape.perIteration * shape.iterations * repeats;
      return elapsed;
    });
    load.free();
    time += times.reduce((sum, one) => sum + one, 0);
  }
  return {
    test: "products",
    products,
    smCount,
    kinds: chosen.map(({ kind }) => kind),
    seconds: time,
    wrong: { count, sms: [...sms].sort((a, b) => a - b) },
  };
}
