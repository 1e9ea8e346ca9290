// cAdvisor, where it could be built: the only service of the stack that comes from no package.

export type Cadvisor =
  | { readonly path: string; readonly args: (port: number) => readonly string[] }
  | { readonly missing: string };

export async function findCadvisor(): Promise<Cadvisor> {
  return { missing: "cAdvisor could not be built here" };
}
