/** Memory errors by block (RAS), retired pages, and the card's partitioning. */
import { gpu } from "../../model/catalogue/index.ts";
import { listDir, readText } from "../../machine/sysfs/read.ts";
import { failed, mapReadResult, present, unsupported } from "../../machine/sysfs/read-result.ts";
import { type CardChannel, oncePerTick } from "../cards.ts";
import { type AmdCardContext, fromTable } from "./card-context.ts";
import { parseBadPages, parseErrorCounts } from "./parse.ts";

/** The memory controller, whose errors correspond to other vendors' ECC errors. */
const memoryBlock = "umc";

export async function rasChannels(context: AmdCardContext): Promise<readonly CardChannel[]> {
  if (!context.files.has("ras")) return [];
  const folder = `${context.card.device}/ras`;
  const names = await listDir(folder, context.fileAccess);
  if (!names.ok) return [];
  const blocks = names.value.flatMap((name) => /^(\w{1,32})_err_count$/.exec(name)?.[1] ?? []);
  const channels = await Promise.all(
    blocks.toSorted().map((block) => blockChannels(context, block)),
  );
  if (names.value.includes("gpu_vram_bad_pages")) channels.push(badPageChannels(context));
  return channels.flat();
}

async function blockChannels(context: AmdCardContext, block: string): Promise<CardChannel[]> {
  const read = oncePerTick(async () => {
    const file = `${context.card.device}/ras/${block}_err_count`;
    const text = await readText(file, 4_096, context.fileAccess);
    return text.ok ? parseErrorCounts(text.value) : text;
  });
  const first = await read(Number.NaN);
  if (!first.ok) return [];
  return [...first.value.keys()].flatMap((type): CardChannel[] => {
    const count: CardChannel["read"] = async (timeMs) => {
      const counts = await read(timeMs);
      if (!counts.ok) return counts;
      const value = counts.value.get(type);
      return value === undefined ? failed : present(value);
    };
    const own: CardChannel = { metric: gpu.blockErrors, labels: { block, type }, read: count };
    return block === memoryBlock
      ? [own, { metric: gpu.eccErrors, labels: { type }, read: count }]
      : [own];
  });
}

/** Pages retired after an uncorrectable error. */
function badPageChannels(context: AmdCardContext): CardChannel[] {
  const read = oncePerTick(async () => {
    const file = `${context.card.device}/ras/gpu_vram_bad_pages`;
    const text = await readText(file, 1 << 16, context.fileAccess);
    return text.ok ? parseBadPages(text.value) : text;
  });
  return [
    {
      metric: gpu.retiredPages,
      labels: { cause: "uncorrected" },
      read: async (timeMs) => mapReadResult(await read(timeMs), ({ retired }) => retired),
    },
    {
      metric: gpu.retiredPagesPending,
      read: async (timeMs) =>
        mapReadResult(await read(timeMs), ({ pending }) => (pending > 0 ? 1 : 0)),
    },
  ];
}

export async function partitionChannels(context: AmdCardContext): Promise<readonly CardChannel[]> {
  const mode = async (file: string): Promise<string | undefined> => {
    if (!context.files.has(file)) return undefined;
    const text = await readText(`${context.card.device}/${file}`, 64, context.fileAccess);
    return text.ok && /^[A-Z0-9]{2,8}$/.test(text.value) ? text.value : undefined;
  };
  const [compute, memory] = await Promise.all([
    mode("current_compute_partition"),
    mode("current_memory_partition"),
  ]);
  const channels: CardChannel[] = [];
  if (compute !== undefined || memory !== undefined) {
    // The mode is a label: once it changes this series ends, and the next discovery adds the new one.
    const read: CardChannel["read"] = async () =>
      (await mode("current_compute_partition")) === compute ? present(1) : unsupported;
    channels.push({ metric: gpu.partitionInfo, labels: { compute, memory }, read });
  }
  if (context.initialMetrics?.partitions !== undefined) {
    channels.push({
      metric: gpu.partitions,
      read: fromTable(context, ({ partitions }) => partitions),
    });
  }
  return channels;
}
