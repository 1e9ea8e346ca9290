/** The name of a GPU as a button: it opens the details, and takes the keyboard focus of the row. */
import { useEffect, useRef } from "preact/hooks";
import { type Gpu, nameOf, shortModel, uuidPrefix } from "../../../../src/view/gpu.ts";
import { partlySimulated, severalHosts } from "../../query/known-gpus.ts";
import { hrefOf } from "../../view-state/address.ts";
import { cursor, focusWanted, rows, selected } from "./view.ts";

export function GpuName({ gpu }: { gpu: Gpu }) {
  const { device } = gpu;
  const button = useRef<HTMLButtonElement>(null);
  const reachable = (cursor.value ?? rows.value[0]?.id) === gpu.id;
  useEffect(() => {
    if (focusWanted.value !== gpu.id) return;
    focusWanted.value = undefined;
    button.current?.focus({ preventScroll: true });
  });
  return (
    <>
      <button
        ref={button}
        type="button"
        class="name"
        tabIndex={reachable ? 0 : -1}
        aria-expanded={selected.value === gpu.id}
        // With the keyboard, the tooltip would cover the next rows; the details contain the same text.
        data-tip-pointer
        data-tip={`${nameOf(gpu)}\n${uuidPrefix(device)}…${device.pciBusId === undefined ? "" : `\nPCI ${device.pciBusId}`}`}
        onFocus={() => {
          cursor.value = gpu.id;
        }}
      >
        <span class="model">{shortModel(device)}</span>
        <span class="index">#{device.index}</span>
      </button>
      <a
        class="go"
        href={hrefOf("gpu", { uuid: gpu.id })}
        tabIndex={-1}
        aria-label={`All about ${nameOf(gpu)}`}
        data-tip="All about this GPU (o)"
      >
        <span aria-hidden="true">↗</span>
      </a>
      {severalHosts.value && (
        <a class="unit host-link" href={hrefOf("host", { host: device.host })} tabIndex={-1}>
          {device.host}
        </a>
      )}
      {partlySimulated.value && device.simulated && <span class="word note">simulated</span>}
    </>
  );
}
