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
  const user = findUserObject(controller, labels);
  if (user !== undefined) {
    found["owner_kind"] = user.kind;
    found["owner_name"] = user.name;
  }
  for (const key of wanted) {
    const value = labels[key];
    if (value !== undefined && value !== "") found[labelNameOf(key)] = value;
  }
  return found;
}

interface OwnerObject {
  readonly kind: string;
  readonly name: string;
}

/**
 * The object that a user made: where the pod's controller was made for it by another controller, the labels that this one sets
 * on its pods name it, so that the objects in between need not be read.
 */
function findUserObject(
  controller: OwnerObject | undefined,
  labels: Readonly<Record<string, string>>,
): OwnerObject | undefined {
  const hash = labels[templateHash];
  const jobSet = labels["jobset.sigs.k8s.io/jobset-name"];
  switch (controller?.kind) {
    case undefined:
      return findHubUser(labels);
    case "ReplicaSet":
      // A Deployment names its ReplicaSets NAME-HASH and labels their pods with the hash.
      return hash !== undefined && controller.name.endsWith(`-${hash}`)
        ? { kind: "Deployment", name: controller.name.slice(0, -hash.length - 1) }
        : controller;
    case "StatefulSet":
      // Kubeflow's notebook controller makes one of the notebook's name.
      return labels["notebook-name"] === controller.name
        ? { kind: "Notebook", name: controller.name }
        : controller;
    case "Job":
      return jobSet !== undefined && controller.name.startsWith(`${jobSet}-`)
        ? { kind: "JobSet", name: jobSet }
        : controller;
    default:
      return controller;
  }
}

/** JupyterHub starts a user's server as a pod without a controller. */
function findHubUser(labels: Readonly<Record<string, string>>): OwnerObject | undefined {
  const component = labels["app.kubernetes.io/component"] ?? labels["component"];
  const name = labels["hub.jupyter.org/username"];
  return component === "singleuser-server" && name !== undefined && name !== ""
    ? { kind: "Notebook", name }
    : undefined;
}

/** As kube-state-metrics names them: `app.kubernetes.io/name` is `label_app_kubernetes_io_name`. */
export const labelNameOf = (key: string): string => `label_${key.replace(/[^A-Za-z0-9_]/g, "_")}`;
