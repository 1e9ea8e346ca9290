/** Every sink that can be named on the command line. Adding one is a folder and a line here. */
import type { SinkDefinition } from "../pipeline/sink.ts";
import { stdout } from "./stdout/define.ts";

export const sinks: readonly SinkDefinition[] = [stdout];
