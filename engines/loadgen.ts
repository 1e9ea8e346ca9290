// MLPerf LoadGen from PyPI: the program that drives MLPerf inference benchmarks.

import { pythonPackages, type PythonPackages } from "./python.ts";

export const loadgen = (): Promise<PythonPackages> =>
  pythonPackages("loadgen", ["mlcommons-loadgen==6.0.17"]);
