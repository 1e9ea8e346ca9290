// guidellm from PyPI, without PyTorch: of its 3 GB it uses the iteration over a list, which `guidellm-torch` stands in for.

import path from "node:path";
import { fileURLToPath } from "node:url";

import { installOnce, installWith, requiredTool } from "./cache.ts";

const VERSION = "0.8.1";
/** guidellm's requirements, except PyTorch; jinja2 comes with PyTorch. */
const PACKAGES = [
  "click==8.4.2",
  "culsans==0.10.0",
  "datasets==5.2.0",
  "eval_type_backport",
  "faker",
  "ftfy",
  "httpx[http2]<1",
  "jinja2",
  "loguru",
  "more-itertools",
  "msgpack",
  "numpy==2.4.6",
  "protobuf",
  "pydantic",
  "pydantic-settings",
  "pyyaml",
  "rich",
  "sanic",
  "tabulate",
  "transformers==5.23.0",
  "uvloop",
  "websockets",
];
const standIn = fileURLToPath(new URL("guidellm-torch", import.meta.url));

/** Returns the command that runs guidellm offline; about 460 MB, downloaded once. */
export async function guidellm(): Promise<readonly string[]> {
  const recipe = [VERSION, ...PACKAGES].join(" ");
  const folder = await installOnce("guidellm", recipe, async (aside) => {
    await installWith(requiredTool("python"), ["-m", "venv", aside]);
    const pip = ["-m", "pip", "install", "--quiet", "--no-compile"];
    const python = path.join(aside, "bin", "python");
    await installWith(python, [...pip, ...PACKAGES]);
    await installWith(python, [...pip, "--no-deps", `guidellm==${VERSION}`]);
  });
  const python = path.join(folder, "bin", "python");
  return ["env", `PYTHONPATH=${standIn}`, "HF_HUB_OFFLINE=1", python, "-m", "guidellm"];
}
