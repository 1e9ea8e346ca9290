/** The fields of Kubernetes objects that discovery reads. Any field may be missing in a response of the API server. */

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly annotations?: Readonly<Record<string, string>> | null;
  readonly ownerReferences?: readonly {
    readonly kind?: string;
    readonly name?: string;
    readonly controller?: boolean;
  }[];
}

export interface KubeObject {
  readonly metadata?: ObjectMeta;
}

export interface KubeNode extends KubeObject {
  readonly spec?: { readonly providerID?: string };
  readonly status?: {
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
  };
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort?: number;
  readonly protocol?: string;
}

export interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly ports?: readonly ContainerPort[];
}

export interface ContainerStatus {
  readonly name?: string;
  readonly containerID?: string;
}

export interface KubePod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  readonly status?: {
    readonly podIP?: string;
    readonly hostIP?: string;
    readonly phase?: string;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface KubeService extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly loadBalancerIP?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port?: number;
      readonly protocol?: string;
    }[];
  };
}

export interface ObjectRef {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

export interface EndpointAddress {
  readonly ip?: string;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef?: ObjectRef;
}

export interface KubeEndpoints extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly EndpointAddress[];
    readonly notReadyAddresses?: readonly EndpointAddress[];
    readonly ports?: readonly {
      readonly name?: string;
      readonly port?: number;
      readonly protocol?: string;
    }[];
  }[];
}

export interface KubeEndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly ports?: readonly {
    readonly name?: string;
    readonly port?: number;
    readonly protocol?: string;
    readonly appProtocol?: string;
  }[];
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly conditions?: {
      readonly ready?: boolean;
      readonly serving?: boolean;
      readonly terminating?: boolean;
    };
    readonly hostname?: string;
    readonly nodeName?: string;
    readonly zone?: string;
    readonly deprecatedTopology?: Readonly<Record<string, string>>;
    readonly targetRef?: ObjectRef;
  }[];
}

export interface KubeIngress extends KubeObject {
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly tls?: readonly { readonly hosts?: readonly string[] }[];
    readonly rules?: readonly {
      readonly host?: string;
      readonly http?: { readonly paths?: readonly { readonly path?: string }[] };
    }[];
  };
}

export interface ResourceObjects {
  readonly node: KubeNode;
  readonly pod: KubePod;
  readonly service: KubeService;
  readonly endpoints: KubeEndpoints;
  readonly endpointslice: KubeEndpointSlice;
  readonly ingress: KubeIngress;
}
export type Resource = keyof ResourceObjects;

/** `namespace/name`, or the name alone for an object without a namespace. */
export const keyOf = ({ metadata }: KubeObject): string =>
  metadata?.namespace === undefined || metadata.namespace === ""
    ? (metadata?.name ?? "")
    : `${metadata.namespace}/${metadata.name ?? ""}`;
