// A container's health check: ends with 0 where the address answers with a success. The images have no curl.
import process from "node:process";

const [address = ""] = process.argv.slice(2);
try {
  const response = await fetch(address, { signal: AbortSignal.timeout(5_000) });
  await response.arrayBuffer();
  process.exitCode = response.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
