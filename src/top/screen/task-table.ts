/** The table of processes, or of owners if no process is reported, as a list or as a tree. */
import type { TaskSort } from "../model/arrange.ts";
import type { Picture } from "../model/picture.ts";
import { podOf, type TaskLine, taskName } from "../model/process.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { NOT_AVAILABLE, gibibytes, percent } from "../text/quantity.ts";
import { span } from "../text/row.ts";
import { clean, fit } from "../text/width.ts";
import type { ScreenColumn } from "./columns.ts";
import { hasSeveralHosts } from "../../view/gpu.ts";

export function taskColumns(
  picture: Picture,
  glyphs: Glyphs,
  hasPids: boolean,
): readonly ScreenColumn<TaskLine, TaskSort>[] {
  const { tasks } = picture;
  const hosts = hasSeveralHosts(picture.gpus);
  const indent = {
    pass: glyphs.pass,
    blank: "   ",
    branch: glyphs.branch,
    last: glyphs.lastBranch,
  };
  const text = (value: string | undefined, line: TaskLine, width: number) => [
    line.task === undefined
      ? span(" ".repeat(width))
      : span(fit(clean(value ?? NOT_AVAILABLE), width), value === undefined ? "dim" : "text"),
  ];
  const right = (value: string | undefined, line: TaskLine, width: number) => [
    line.task === undefined
      ? span(" ".repeat(width))
      : span(fit(value ?? NOT_AVAILABLE, width, "right"), value === undefined ? "dim" : "text"),
  ];
  return [
    ...(hosts
      ? [
          {
            title: "HOST",
            sort: "gpu" as const,
            min: 6,
            max: 18,
            rank: 6,
            cell: (line: TaskLine, width: number) => text(line.task?.host, line, width),
          },
        ]
      : []),
    {
      title: "GPU",
      ...(hosts ? {} : { sort: "gpu" as const }),
      min: 4,
      max: 4,
      rank: 1,
      align: "right",
      cell: (line, width) => right(line.task?.gpuIndex, line, width),
    },
    ...(hasPids
      ? [
          {
            title: "PID",
            sort: "pid" as const,
            min: 7,
            max: 8,
            rank: 2,
            align: "right" as const,
            cell: (line: TaskLine, width: number) =>
              right(line.task?.pid === undefined ? undefined : String(line.task.pid), line, width),
          },
        ]
      : []),
    {
      title: "MEMORY",
      sort: "memory",
      min: 8,
      max: 9,
      rank: 3,
      align: "right",
      cell: (line, width) =>
        right(known(gibibytes(line.task?.memoryBytes ?? "stale")), line, width),
    },
    {
      title: "UTIL",
      sort: "util",
      min: 5,
      max: 5,
      rank: 4,
      align: "right",
      cell: (line, width) => right(known(percent(line.task?.utilization ?? "stale")), line, width),
    },
    {
      title: "USER",
      sort: "user",
      min: 6,
      max: 14,
      rank: 5,
      cell: (line, width) => text(line.task?.user, line, width),
    },
    {
      title: hasPids ? "PROCESS" : "JOB",
      sort: "name",
      min: 10,
      max: 60,
      rank: 1,
      cell: (line) => {
        const before = line.depth.map((part) => indent[part]).join("");
        const name = line.task === undefined ? line.label : taskName(line.task);
        return [span(before, "dim"), span(clean(name), line.task === undefined ? "dim" : "text")];
      },
    },
    ...(tasks.some(({ container }) => container !== undefined)
      ? [
          {
            title: "CONTAINER",
            sort: "container" as const,
            min: 9,
            max: 30,
            rank: 7,
            cell: (line: TaskLine, width: number) => text(line.task?.container, line, width),
          },
        ]
      : []),
    ...(tasks.some(({ pod }) => pod !== undefined)
      ? [
          {
            title: "POD",
            sort: "pod" as const,
            min: 9,
            max: 48,
            rank: 8,
            cell: (line: TaskLine, width: number) =>
              text(line.task === undefined ? undefined : podOf(line.task), line, width),
          },
        ]
      : []),
  ];
}

const known = (text: string): string | undefined => (text === NOT_AVAILABLE ? undefined : text);
