/**
 * Temperatures of processors and board from hwmon. GPUs have their own sources, which respect their sleep, and reading a disk may
 * wake it: neither is read here.
 */
import { host } from "../../model/catalogue/index.ts";
import { groupFiles } from "../../machine/sysfs/hwmon.ts";
import { listDir, readLink, readNumber, readText } from "../../machine/sysfs/read.ts";
import { mapReadResult } from "../../machine/sysfs/read-result.ts";
import type { HostContext } from "./machine.ts";
import { capped, type HostFrameBuilder } from "./samples.ts";

const mostSensors = 128;
const keptMs = 60_000;
const processors =
  /^(?:coretemp|k8temp|k10temp|zenpower|cpu_thermal|cpu-thermal|via_cputemp|fam15h_power|scpi_sensors)$/;
const leftAlone = /^(?:amdgpu|radeon|nouveau|nvidia|i915|xe|drivetemp)$/;
const processorZone = /^(?:x86_pkg_temp|cpu.*|.*-cpu.*|soc.*)$/i;

interface Sensor {
  readonly path: string;
  readonly chip: string;
  readonly sensor: string;
  readonly processor: boolean;
}

export class Temperatures {
  readonly #machine: HostContext;
  #sensors: readonly Sensor[] = [];
  #foundMs: number | undefined;
  leftOut = 0;

  constructor(machine: HostContext) {
    this.#machine = machine;
  }

  async add(samples: HostFrameBuilder): Promise<void> {
    const nowMs = this.#machine.nowMs();
    if (this.#foundMs === undefined || nowMs - this.#foundMs > keptMs) {
      this.#foundMs = nowMs;
      const [sensors, leftOut] = capped(await this.#find(), mostSensors);
      this.#sensors = sensors;
      this.leftOut = leftOut;
    }
    const readings = await Promise.all(
      this.#sensors.map(({ path }) => readNumber(path, this.#machine.fileAccess)),
    );
    for (const [index, { chip, sensor, processor }] of this.#sensors.entries()) {
      const reading = readings[index];
      if (reading === undefined) continue;
      samples.add(
        processor ? host.cpuTemperature : host.temperature,
        mapReadResult(reading, (millidegrees) => millidegrees / 1_000),
        { chip, sensor },
      );
    }
  }

  async #find(): Promise<readonly Sensor[]> {
    const { sysfs, fileAccess } = this.#machine;
    const chips = await listDir(`${sysfs}/class/hwmon`, fileAccess);
    const names = chips.ok ? chips.value.filter((name) => /^hwmon\d{1,4}$/.test(name)) : [];
    const sensors = (
      await Promise.all(names.sort(byNumber).map((name) => this.#chip(name)))
    ).flat();
    if (sensors.some(({ processor }) => processor)) return unique(sensors);
    return unique([...(await this.#zones()), ...sensors]);
  }

  async #chip(folder: string): Promise<Sensor[]> {
    const { sysfs, fileAccess } = this.#machine;
    const path = `${sysfs}/class/hwmon/${folder}`;
    const name = await readText(`${path}/name`, 64, fileAccess);
    if (!name.ok || leftAlone.test(name.value)) return [];
    const [files, device] = await Promise.all([
      listDir(path, fileAccess),
      readLink(`${path}/device`, fileAccess),
    ]);
    if (!files.ok) return [];
    const parent = device.ok ? (device.value.split("/").at(-1) ?? folder) : folder;
    const chip = parent.startsWith(name.value) ? parent : `${name.value}-${parent}`;
    const channels = groupFiles(files.value).filter(
      ({ kind, attributes }) => kind === "temp" && attributes.has("input"),
    );
    return Promise.all(
      channels.map(async ({ number, attributes }) => {
        const label = attributes.has("label")
          ? await readText(`${path}/temp${number}_label`, 64, fileAccess)
          : undefined;
        return {
          path: `${path}/temp${number}_input`,
          chip,
          sensor: label?.ok === true && label.value !== "" ? label.value : `temp${number}`,
          processor: processors.test(name.value),
        };
      }),
    );
  }

  /** Boards without a sensor driver, such as most ARM ones, still have thermal zones. */
  async #zones(): Promise<Sensor[]> {
    const { sysfs, fileAccess } = this.#machine;
    const zones = await listDir(`${sysfs}/class/thermal`, fileAccess);
    if (!zones.ok) return [];
    const found: Sensor[] = [];
    for (const zone of zones.value
      .filter((name) => /^thermal_zone\d{1,4}$/.test(name))
      .sort(byNumber)) {
      const type = await readText(`${sysfs}/class/thermal/${zone}/type`, 64, fileAccess);
      if (type.ok && processorZone.test(type.value))
        found.push({
          path: `${sysfs}/class/thermal/${zone}/temp`,
          chip: zone,
          sensor: type.value,
          processor: true,
        });
    }
    return found;
  }
}

const byNumber = (a: string, b: string): number =>
  Number(a.replace(/\D/g, "")) - Number(b.replace(/\D/g, ""));

/** Adds a number to the label of the second and later sensors of a chip with the same label. */
function unique(sensors: readonly Sensor[]): Sensor[] {
  const seen = new Map<string, number>();
  return sensors.map((one) => {
    const key = `${one.processor} ${one.chip} ${one.sensor}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return count === 1 ? one : { ...one, sensor: `${one.sensor} #${count}` };
  });
}
