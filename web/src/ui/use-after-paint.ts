/** False in the first frame of a component: elements below the first chart are drawn in the next one. */
import { useEffect, useState } from "preact/hooks";

export function useAfterPaint(): boolean {
  const [painted, setPainted] = useState(false);
  // Effects run after the frame.
  useEffect(() => setPainted(true), []);
  return painted;
}
