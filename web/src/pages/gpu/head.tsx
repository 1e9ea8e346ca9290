/** The name of the GPU, links to its neighbours, and its actions. */
import { type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import { goTo, hrefOf } from "../../view-state/address.ts";

export interface GpuHeadProps {
  readonly gpu: Gpu;
  /** In the order of the fleet. */
  readonly all: readonly Gpu[];
}

export function Head({ gpu, all }: GpuHeadProps) {
  const { device, state } = gpu;
  return (
    <div class="gpu-head">
      <h2 class="page-title">{nameOf(gpu)}</h2>
      <a href={hrefOf("host", { host: device.host })} data-tip="All about this host">
        {device.host}
      </a>
      <span
        class={`word ${state === "lost" ? "bad" : state === "silent" ? "warn" : "note"}`}
        data-state={state}
      >
        {state}
      </span>
      {device.simulated && <span class="word note">simulated</span>}
      <span class="spacer" />
      <nav class="gpu-actions" aria-label="GPUs">
        <Step gpu={gpu} all={all} by={-1} label="Previous" keyName="k" />
        <label>
          <span class="unseen">GPU shown</span>
          <select
            class="input"
            value={gpu.id}
            onChange={(event) => goTo("gpu", { uuid: event.currentTarget.value })}
          >
            {all.map((one) => (
              <option key={one.id} value={one.id}>
                {`${one.device.host} · ${nameOf(one)}`}
              </option>
            ))}
          </select>
        </label>
        <Step gpu={gpu} all={all} by={1} label="Next" keyName="j" />
        <a class="action" href={compareHref(gpu, all)}>
          Compare
        </a>
      </nav>
    </div>
  );
}

/** Includes the neighbour, so that the page has something to compare at once. */
export function compareHref(gpu: Gpu, all: readonly Gpu[]): string {
  const other = neighbour(gpu, all, 1) ?? neighbour(gpu, all, -1);
  const ids = [gpu, ...(other === undefined ? [] : [other])].map(({ id }) => id);
  return hrefOf("compare", { gpus: ids.join(",") });
}

export function neighbour(gpu: Gpu, all: readonly Gpu[], by: 1 | -1): Gpu | undefined {
  const at = all.findIndex(({ id }) => id === gpu.id);
  return at === -1 ? undefined : all[at + by];
}

function Step({
  gpu,
  all,
  by,
  label,
  keyName,
}: GpuHeadProps & { by: 1 | -1; label: string; keyName: string }) {
  const to = neighbour(gpu, all, by);
  const arrow = by === 1 ? "→" : "←";
  if (to === undefined)
    return (
      <span class="action" aria-disabled="true">
        {arrow}
      </span>
    );
  return (
    <a
      class="action"
      href={hrefOf("gpu", { uuid: to.id })}
      aria-label={`${label} GPU: ${nameOf(to)}`}
      data-tip={`${label} GPU: ${nameOf(to)} (${keyName})`}
    >
      {arrow}
    </a>
  );
}
