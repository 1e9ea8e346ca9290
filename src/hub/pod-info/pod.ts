/** Labels of a pod's series: its own labels and the object that controls it. Pure. */
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

/** Labels of `gpu_owner_pod_info`; undefined if the object is not a pod. Labels missing on the pod are left out. */
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
 * Finds the object that a user created: if another controller created the pod's controller, labels that it sets on its pods
 * identify it, so that intermediate objects need not be read.
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
      // Kubeflow's notebook controller creates a StatefulSet with the notebook's name.
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

/** Label names as in kube-state-metrics: `app.kubernetes.io/name` is `label_app_kubernetes_io_name`. */
export const labelNameOf = (key: string): string => `label_${key.replace(/[^A-Za-z0-9_]/g, "_")}`;
