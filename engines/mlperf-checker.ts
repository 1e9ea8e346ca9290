// MLCommons' checker of system descriptions, from PyPI. Of its package's dependencies it only needs YAML.

import { pythonPackages, type PythonPackages } from "./python.ts";

export const mlperfChecker = (): Promise<PythonPackages> =>
  pythonPackages("mlperf-checker", ["--no-deps", "mlperf-logging==4.1.68", "pyyaml==6.0.3"]);
