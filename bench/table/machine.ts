/** The machine and the engines of a run, as printed on the page. Never a host name or a path. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { mavenJars } from "../../engines/cache.ts";
import { findTool, type ToolName } from "../../engines/tools.ts";

export interface BenchMachine {
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly engines: Readonly<Record<string, string>>;
}

const programs: readonly (readonly [name: string, tool: ToolName, flag: string])[] = [
  ["Prometheus", "prometheus", "--version"],
  ["VictoriaMetrics", "victoria-metrics", "--version"],
  ["node-exporter", "node-exporter", "--version"],
  ["Alertmanager", "alertmanager", "--version"],
  ["Chromium", "chromium", "--version"],
  ["btop", "btop", "--version"],
];

const version = (text: string): string | undefined => /\d+\.\d+(\.\d+)*/.exec(text)?.[0];

function packaged(name: string): string | undefined {
  const asked = spawnSync("dpkg-query", ["-W", "-f", "${Version}", name], { encoding: "utf8" });
  return version(asked.stdout ?? "");
}

function packageVersion(name: string): string {
  const file = fileURLToPath(new URL(`../../node_modules/${name}/package.json`, import.meta.url));
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

export async function thisMachine(): Promise<BenchMachine> {
  const engines: Record<string, string> = {};
  for (const [name, tool, flag] of programs) {
    const found = findTool(tool);
    if ("missing" in found) continue;
    const { stdout, stderr } = spawnSync(found.path, [flag], { encoding: "utf8" });
    // Debian's VictoriaMetrics prints no version, so its package is queried.
    engines[name] = version(`${stdout}${stderr}`) ?? packaged(tool) ?? "unknown";
  }
  const jars = await mavenJars("kafka").catch(() => undefined);
  const jar = jars && readdirSync(jars).find((file) => /^kafka-clients-.*\.jar$/.test(file));
  if (jar !== undefined) engines["Kafka"] = version(jar) ?? "unknown";
  engines["Spark"] = "4.0.0";
  engines["DuckDB"] = version(packageVersion("@duckdb/node-api")) ?? "unknown";
  engines["ECharts"] = packageVersion("echarts");
  return {
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    engines,
  };
}
