/** `kubernetes_sd_configs`: which objects to watch, in which namespaces, at which API server. */
import * as v from "valibot";
import { duration, goUrl, list, scalar, yamlBoolean } from "../../../config/yaml/fields.ts";
import { isWebAddress } from "../../../config/yaml/go-url.ts";
import { httpEntries, isPlainHttp, readHttp } from "./http-section.ts";
import type { ConfigPath, ConfigDiagnostics } from "../../../config/yaml/diagnostics.ts";
import { fieldSelectorProblem, labelSelectorProblem } from "./selector.ts";
import {
  type KubernetesDiscovery,
  type KubernetesRole,
  kubernetesRoles,
  type KubernetesSelector,
} from "./types.ts";

const role = () => v.picklist(kubernetesRoles, `one of ${kubernetesRoles.join(", ")}`);

export const kubernetesSchema = v.strictObject({
  role: role(),
  api_server: v.optional(goUrl()),
  kubeconfig_file: v.optional(scalar()),
  namespaces: v.optional(
    v.strictObject({ own_namespace: v.optional(yamlBoolean(), false), names: list(scalar()) }),
    {},
  ),
  selectors: list(
    v.strictObject({ role: role(), label: v.optional(scalar()), field: v.optional(scalar()) }),
  ),
  attach_metadata: v.optional(
    v.strictObject({
      node: v.optional(yamlBoolean(), false),
      namespace: v.optional(yamlBoolean(), false),
    }),
    {},
  ),
  // Objects are watched, so this key has no effect; older files still contain it.
  refresh_interval: v.optional(duration()),
  ...httpEntries,
});

/** The kinds of objects a role reads. */
const followed: Readonly<Record<KubernetesRole, readonly KubernetesRole[]>> = {
  node: ["node"],
  pod: ["pod"],
  service: ["service"],
  endpoints: ["endpoints", "pod", "service"],
  endpointslice: ["endpointslice", "pod", "service"],
  ingress: ["ingress"],
};

export function readKubernetes(
  raw: v.InferOutput<typeof kubernetesSchema>,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): KubernetesDiscovery {
  const { api_server: server, kubeconfig_file: kubeconfig, namespaces } = raw;
  const hasServer = server !== undefined && server !== "";
  const hasKubeconfig = kubeconfig !== undefined && kubeconfig !== "";
  if (hasServer && hasKubeconfig)
    reading.wrong(path, "at most one of api_server, kubeconfig_file may be given.");
  if (!hasServer && !isPlainHttp(raw))
    reading.wrong(
      path,
      hasKubeconfig
        ? "credentials and TLS come from the kubeconfig_file: remove them here."
        : "credentials and TLS need an api_server to go to.",
    );
  if (namespaces.own_namespace && (hasServer || hasKubeconfig))
    reading.wrong(
      [...path, "namespaces"],
      "own_namespace is that of the cluster this runs in: remove api_server or kubeconfig_file.",
    );
  if (raw.attach_metadata.namespace)
    reading.lacks(
      [...path, "attach_metadata", "namespace"],
      "labels of namespaces are not attached.",
    );
  if (hasServer && !isWebAddress(server))
    reading.refuses(
      [...path, "api_server"],
      "it needs a URL that begins with http:// or https://.",
    );
  checkSelectors(raw, reading, path);
  return {
    role: raw.role,
    ...(hasServer ? { apiServer: server } : {}),
    ...(hasKubeconfig ? { kubeconfigFile: reading.file(kubeconfig) } : {}),
    namespaces: { names: namespaces.names, ownNamespace: namespaces.own_namespace },
    selectors: raw.selectors.map(({ role: of, label, field }): KubernetesSelector => ({
      role: of,
      ...(label === undefined || label === "" ? {} : { label }),
      ...(field === undefined || field === "" ? {} : { field }),
    })),
    attachNodeMetadata: raw.attach_metadata.node,
    http: readHttp(raw, reading, path),
  };
}

function checkSelectors(
  { role: own, selectors, attach_metadata }: v.InferOutput<typeof kubernetesSchema>,
  reading: ConfigDiagnostics,
  path: ConfigPath,
): void {
  const allowed = attach_metadata.node ? [...followed[own], "node"] : followed[own];
  const seen = new Set<string>();
  for (const [index, { role: of, label = "", field = "" }] of selectors.entries()) {
    const here = [...path, "selectors", index];
    if (!allowed.includes(of))
      reading.wrong(here, `role ${own} looks only at ${allowed.join(", ")}, not at ${of}.`);
    if (seen.has(of)) reading.wrong(here, `there is already a selector for ${of}.`);
    seen.add(of);
    const fieldProblem = fieldSelectorProblem(field);
    if (fieldProblem !== undefined)
      reading.wrong(
        [...here, "field"],
        `a field selector such as spec.nodeName=a is expected: ${fieldProblem}.`,
      );
    const labelProblem = labelSelectorProblem(label);
    if (labelProblem !== undefined)
      reading.wrong(
        [...here, "label"],
        `a label selector such as app in (a, b) is expected: ${labelProblem}.`,
      );
  }
}
