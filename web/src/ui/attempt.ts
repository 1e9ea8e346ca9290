/** Does what a click asks for; what goes wrong is said in the hub's words. */
import { toast } from "./toast.ts";

export async function attempt(work: () => Promise<unknown>, done: () => void): Promise<void> {
  try {
    await work();
    done();
  } catch (thrown) {
    toast(thrown instanceof Error ? thrown.message : String(thrown), "bad");
  }
}
