/**
 * The two pages that a browser opens in the benchmark, side by side on one origin: gpulse's under /gpulse/, as behind a reverse
 * proxy, and under /echarts/ the same data drawn by ECharts. Every file and every reading of both takes one hop through that
 * proxy: a page with its files in the proxy would be faster for that reason alone.
 */
import { readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";

export interface Pages {
  readonly gpulse: string;
  readonly echarts: string;
  /** Every response so far, oldest first. */
  readonly responses: readonly RecordedResponse[];
  stop(): Promise<void>;
}

export interface RecordedResponse {
  /** Path and query. */
  readonly url: string;
  /** The time of the request by `performance.now()`. */
  readonly startMs: number;
  readonly headBytes: number;
  readonly isGzip: boolean;
  /** The body as encoded on the wire. */
  readonly body: readonly Buffer[];
}

const library = readFileSync(createRequire(import.meta.url).resolve("echarts/dist/echarts.min.js"));

export async function servePages(hub: string): Promise<Pages> {
  const peer = await listen(
    createServer((asked, answer) => {
      const [type, body] = files[path.posix.basename(asked.url ?? "")] ?? ["text/html", page];
      answer.setHeader("content-type", `${type}; charset=utf-8`).end(body);
    }),
  );
  const responses: RecordedResponse[] = [];
  const proxy = await listen(
    createServer((asked, answer) => {
      const [url, startMs] = [asked.url ?? "/", performance.now()];
      const behind = url.startsWith("/echarts/") ? peer.origin : hub;
      const to = request(
        new URL(url.replace(/^\/(?:gpulse|echarts)\//, "/"), behind),
        { method: asked.method, headers: { ...asked.headers, host: new URL(behind).host } },
        (got) => {
          answer.writeHead(got.statusCode ?? 502, got.headers);
          answer.flushHeaders();
          const body: Buffer[] = [];
          const headBytes = got.rawHeaders.reduce((sum, { length }) => sum + length + 2, 17);
          const isGzip = got.headers["content-encoding"] === "gzip";
          responses.push({ url, startMs, headBytes, isGzip, body });
          got.on("data", (chunk: Buffer) => body.push(chunk));
          got.pipe(answer);
        },
      );
      to.on("error", () => answer.destroy());
      answer.on("close", () => to.destroy());
      asked.pipe(to);
    }),
  );
  return {
    gpulse: `${proxy.origin}/gpulse/`,
    echarts: `${proxy.origin}/echarts/`,
    responses,
    stop: async () => {
      await proxy.stop();
      await peer.stop();
    },
  };
}

async function listen(server: Server): Promise<{ origin: string; stop(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const page = `<!doctype html><meta charset="utf-8"><title>ECharts</title>
<style>body{margin:0;background:#111} div{height:220px} #heat{height:400px} #rows{height:400px}</style>
<body><script src="echarts.min.js"></script><script src="page.js"></script></body>`;

/**
 * `?view=fleet` draws the content of the fleet page from each frame: every GPU's utilisation as a cell, and the last five minutes
 * of as many GPUs as fit on a screen. `?view=gpu` draws six charts of one GPU's last five minutes.
 */
const script = `
const add = (id) => {
  const element = document.createElement("div");
  if (id) element.id = id;
  document.body.append(element);
  return echarts.init(element, "dark");
};
const done = () => { window.firstChart ??= performance.now(); };
const api = "/gpulse/api/";
if (new URLSearchParams(location.search).get("view") === "gpu") {
  const end = Date.now() / 1000;
  const metrics = ["gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_temperature_celsius", "gpu_power_watts", "gpu_clock_hertz", "gpu_fan_speed_ratio"];
  for (const metric of metrics) {
    const query = new URLSearchParams({ query: metric + '{gpu="0"}', start: end - 300, end, step: 1 });
    fetch(api + "v1/query_range?" + query).then((answer) => answer.json()).then(({ data }) => {
      const chart = add();
      chart.on("finished", done);
      chart.setOption({ animation: false, title: { text: metric }, tooltip: { trigger: "axis" }, xAxis: { type: "time" }, yAxis: { type: "value" },
        series: data.result.map(({ values }) => ({ type: "line", showSymbol: false, data: values.map(([s, v]) => [s * 1000, Number(v)]) })) });
    });
  }
} else {
  const [heat, rows] = [add("heat"), add("rows")];
  heat.on("finished", done);
  const SHOWN = 40, SECONDS = 300, WIDE = 50;
  let curves = [];
  const number = (value) => (typeof value === "number" ? value : null);
  const show = (frame) => {
    const cells = frame.rows.map(({ values }, at) => [at % WIDE, Math.floor(at / WIDE), number(values[1]) ?? "-"]);
    frame.rows.slice(0, SHOWN).forEach(({ values }, at) => {
      (curves[at] ??= []).push([frame.timeMs, number(values[1])]);
      if (curves[at].length > SECONDS) curves[at].shift();
    });
    heat.setOption({ series: [{ type: "heatmap", data: cells }] });
    rows.setOption({ series: curves.map((data) => ({ type: "line", showSymbol: false, data })) });
  };
  const live = new EventSource(api + "live");
  live.addEventListener("fleet", ({ data }) => {
    const { devices, history, frame } = JSON.parse(data);
    const high = Math.ceil(devices.length / WIDE);
    heat.setOption({ animation: false, tooltip: {}, visualMap: { min: 0, max: 1, show: false },
      xAxis: { type: "category", data: Array.from({ length: WIDE }, (_, at) => at), show: false },
      yAxis: { type: "category", data: Array.from({ length: high }, (_, at) => at), show: false } });
    rows.setOption({ animation: false, tooltip: { trigger: "axis" }, xAxis: { type: "time" }, yAxis: { type: "value", max: 1 } });
    curves = devices.slice(0, SHOWN).map((_, at) => {
      const past = (history.points[at] ?? [])[history.keys.indexOf("utilization")] ?? [];
      return past.map((value, place) => [(history.endSecond - past.length + 1 + place) * 1000, number(value)]);
    });
    show(frame);
  });
  live.addEventListener("frame", ({ data }) => show(JSON.parse(data)));
}
`;

/** The files of the peer's page, by name. */
const files: Readonly<Record<string, readonly [type: string, body: string | Buffer]>> = {
  "echarts.min.js": ["text/javascript", library],
  "page.js": ["text/javascript", script],
};
