/** What the series of a pod says beside its name: its labels and the object that controls it. Pure. */
import * as v from "valibot";

const podSchema = v.object({
  metadata: v.object({
    labels: v.optional(v.record(v.string(), v.string()), {}),
    ownerReferences: v.optional(
      v.array(
        v.object({
          kind: v.string(),
          name: v.string(),
          controller: v.optional(v.boolean(), false),
        }),
      ),
      [],
    ),
  }),
});

const templateHash = "pod-template-hash";

/** Labels of `gpu_owner_pod_info`; undefined where the object is no pod. A label that the pod lacks is left out. */
export function podLabels(
  object: unknown,
  wanted: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const parsed = v.safeParse(podSchema, object);
  if (!parsed.success) return undefined;
  const { labels, ownerReferences } = parsed.output.metadata;
  const found: Record<string, string> = {};
  const controller = ownerReferences.find(({ controller: controls }) => controls);
  if (controller !== undefined) {
    const deployment = deploymentOf(controller, labels[templateHash]);
    found["owner_kind"] = deployment === undefined ? controller.kind : "Deployment";
    found["owner_name"] = deployment ?? controller.name;
  }
  for (const key of wanted) {
    const value = labels[key];
    if (value !== undefined && value !== "") found[labelNameOf(key)] = value;
  }
  return found;
}

/** A Deployment names its ReplicaSets NAME-HASH and labels their pods with the hash, so the ReplicaSet need not be read. */
function deploymentOf(
  { kind, name }: { readonly kind: string; readonly name: string },
  hash: string | undefined,
): string | undefined {
  if (kind !== "ReplicaSet" || hash === undefined || !name.endsWith(`-${hash}`)) return undefined;
  return name.slice(0, -hash.length - 1);
}

/** As kube-state-metrics names them: `app.kubernetes.io/name` is `label_app_kubernetes_io_name`. */
export const labelNameOf = (key: string): string => `label_${key.replace(/[^A-Za-z0-9_]/g, "_")}`;
