import type { Row } from "../table.ts";
export const fuzzHttp = async (_inputs: string | undefined, _seed: number): Promise<Row[]> => [];
