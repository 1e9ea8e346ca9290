/** `role: ingress`: each path of each rule's host, for probing from outside. */
import type { DiscoveredGroup, TargetLabels } from "../group.ts";
import { objectLabels, prefix } from "./labels.ts";
import { keyOf, type KubeIngress } from "./objects.ts";
import type { DiscoveryRole } from "./role.ts";

export const ingressRole: DiscoveryRole<"ingress"> = { resource: "ingress", beside: [], build };

function build(ingress: KubeIngress): DiscoveredGroup {
  const { metadata, spec } = ingress;
  const tlsHosts = (spec?.tls ?? []).flatMap(({ hosts }) => hosts ?? []);
  const targets = (spec?.rules ?? []).flatMap(({ host = "", http }): TargetLabels[] => {
    const secure = tlsHosts.some((pattern) => matchesHost(pattern, host));
    const paths = http?.paths?.map(({ path }) => (path === undefined || path === "" ? "/" : path));
    return (paths === undefined || paths.length === 0 ? ["/"] : paths).map((path) => ({
      __address__: host,
      [`${prefix}ingress_scheme`]: secure ? "https" : "http",
      [`${prefix}ingress_host`]: host,
      [`${prefix}ingress_path`]: path,
    }));
  });
  return {
    source: `ingress/${keyOf(ingress)}`,
    targets,
    labels: {
      [`${prefix}namespace`]: metadata?.namespace ?? "",
      [`${prefix}ingress_name`]: metadata?.name ?? "",
      ...objectLabels("ingress", ingress),
      ...(spec?.ingressClassName === undefined
        ? {}
        : { [`${prefix}ingress_class_name`]: spec.ingressClassName }),
    },
  };
}

/** `*.example.com` covers one name below, as in a certificate. */
export function matchesHost(pattern: string, host: string): boolean {
  if (pattern === host) return true;
  const wanted = pattern.split(".");
  const parts = host.split(".");
  return (
    wanted.length === parts.length &&
    wanted[0] === "*" &&
    wanted.slice(1).every((part, at) => part === parts[at + 1])
  );
}
