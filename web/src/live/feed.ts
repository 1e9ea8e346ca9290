/** The hub's live feed as signals: the fleet, its newest frame, and whether the frame is current. */
import { computed, signal } from "@preact/signals";
import { GpuHistory } from "../../../src/view/gpu-history.ts";
import { HISTORY_SECONDS } from "../../../src/view/live/history.ts";
import type { DecodedFleet } from "../../../src/view/live/fleet-columns.ts";
import { type LiveFrame, SCHEMA } from "../../../src/view/live/protocol.ts";
import { type Gpu, gpuId, gpuOf } from "../../../src/view/gpu.ts";
import type { LinkState } from "./connection.ts";
import { openLink } from "./link.ts";
import { getJson } from "../query/http.ts";

/** After this silence of the hub the values are no longer shown as current. */
const STALE_AFTER_MS = 3_000;

/** Without its curves, which `history` takes over, and its first frame: they would stay in memory as long as the page. */
export type KnownFleet = Omit<DecodedFleet, "history" | "frame">;

export const fleet = signal<KnownFleet | undefined>(undefined);
export const frame = signal<LiveFrame | undefined>(undefined);
/** True if the hub uses a newer protocol than this page. */
export const outdated = signal(false);
export const history = new GpuHistory(HISTORY_SECONDS);

const link = signal<LinkState>({ kind: "connecting" });
const lastFrameAtMs = signal(0);
const tickMs = signal(0);

export type Liveness = "connecting" | "live" | "stale" | "lost";

/** Time since the last frame of the hub. */
export const silentMs = computed(() => Math.max(0, tickMs.value - lastFrameAtMs.value));

/**
 * The same in whole seconds, and 0 while frames arrive, so that components that add it to an age are not redrawn between two
 * frames.
 */
export const feedDelayMs = computed(() =>
  silentMs.value < 2_000 ? 0 : Math.floor(silentMs.value / 1_000) * 1_000,
);

export const liveness = computed<Liveness>(() => {
  if (link.value.kind === "lost") return "lost";
  if (frame.value === undefined) return "connecting";
  return silentMs.value > STALE_AFTER_MS ? "stale" : "live";
});

/** The reason the hub gave for closing the stream, if any. */
export const closedReason = computed(() =>
  link.value.kind === "lost" ? link.value.reason : undefined,
);

export const gpus = computed<readonly Gpu[]>(() => {
  const [known, newest] = [fleet.value, frame.value];
  if (known === undefined || newest === undefined) return [];
  return known.devices.flatMap((device, at) => {
    const row = newest.rows[at];
    return row === undefined ? [] : [gpuOf(device, row, newest.timeMs)];
  });
});

export const endSecond = computed(() => Math.floor((frame.value?.timeMs ?? 0) / 1_000));
/** The hub's clock: ages never mix it with the browser's. */
export const hubNowMs = computed(() => frame.value?.timeMs ?? 0);

/**
 * If the clocks differ by more than this, the hub's is used: the browser's may be wrong by more than a chart's width, and the data
 * has the hub's time.
 */
const CLOCKS_AGREE_MS = 2_000;
let hubAheadMs = 0;

/** The best estimate of the hub's time. */
export const hubTimeMs = (): number => Date.now() + hubAheadMs;

/** `first`: the fleet that came with the HTML. */
export function startLive(url: string, first: DecodedFleet | undefined): void {
  const tick = (): void => {
    tickMs.value = performance.now();
  };
  tick();
  setInterval(tick, 500);
  const show = (newest: LiveFrame): void => {
    lastFrameAtMs.value = performance.now();
    const aheadMs = newest.timeMs - Date.now();
    hubAheadMs = Math.abs(aheadMs) > CLOCKS_AGREE_MS ? aheadMs : 0;
    tick();
    frame.value = newest;
    for (const gpu of gpus.value) history.record(gpu);
  };
  const begin = (next: DecodedFleet): void => {
    outdated.value = next.schema !== SCHEMA;
    if (outdated.value) return;
    const { history: curves, frame: newest, ...rest } = next;
    fleet.value = rest;
    // They also cover the time this page was disconnected.
    history.forgetAllBut(new Set(rest.devices.map(gpuId)));
    history.restoreEncoded(rest.devices, curves);
    show(newest);
  };
  if (first !== undefined) begin(first);
  const known = first && { fleet: first.fleet, timeMs: first.frame.timeMs };
  openLink(url, known, {
    state: (state) => {
      // EventSource does not report why the connection was rejected: the session may have expired.
      if (state.kind === "lost") askWhoWeAre();
      link.value = state;
      tick();
    },
    fleet: begin,
    frame: (next) => {
      if (next.fleet === fleet.value?.fleet) show(next);
    },
  });
}

/** Sends any request, so that a 401 leads to the login form. */
function askWhoWeAre(): void {
  getJson("api/v1/status/buildinfo").catch(() => undefined);
}
