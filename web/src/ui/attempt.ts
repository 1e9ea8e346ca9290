/** Runs the action of a click; an error is shown with the hub's message. */
import { toast } from "./toast.ts";

export async function attempt(work: () => Promise<unknown>, done: () => void): Promise<void> {
  try {
    await work();
    done();
  } catch (thrown) {
    toast(thrown instanceof Error ? thrown.message : String(thrown), "bad");
  }
}
