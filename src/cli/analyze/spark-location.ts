/** An address of ours as Spark writes it: S3 through its s3a, with the endpoint as a setting; secrets stay in variables. Pure. */
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface SparkLocation {
  readonly url: string;
  readonly conf: readonly string[];
}

export function toSparkLocation(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
): SparkLocation {
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) return { url: pathToFileURL(path.resolve(address)).href, conf: [] };
  if (scheme === "file") return { url: pathToFileURL(fileURLToPath(address)).href, conf: [] };
  if (scheme !== "s3") return { url: address.replace(/\?.*$/, ""), conf: [] };
  const url = new URL(address);
  const endpoint =
    url.searchParams.get("endpoint") ?? env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"];
  const region = url.searchParams.get("region") ?? env["AWS_REGION"];
  return {
    url: `s3a://${url.host}${url.pathname}`,
    conf: [
      ...(endpoint === undefined
        ? []
        : [
            `spark.hadoop.fs.s3a.endpoint=${endpoint}`,
            "spark.hadoop.fs.s3a.path.style.access=true",
          ]),
      ...(region === undefined ? [] : [`spark.hadoop.fs.s3a.endpoint.region=${region}`]),
    ],
  };
}
