package main

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The types of KEDA and Argo CD, whose own modules bring hundreds of others with them: the fields of their specs that
// a manifest of ours may use, kept by hand after KEDA 2.21's and Argo CD 3.5's references. A field that is missing here
// is refused, so the list grows with what we use; it must never hold one that they do not know.

type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              scaledObjectSpec `json:"spec"`
}

type scaledObjectSpec struct {
	ScaleTargetRef        scaleTarget    `json:"scaleTargetRef"`
	PollingInterval       *int32         `json:"pollingInterval"`
	CooldownPeriod        *int32         `json:"cooldownPeriod"`
	InitialCooldownPeriod *int32         `json:"initialCooldownPeriod"`
	IdleReplicaCount      *int32         `json:"idleReplicaCount"`
	MinReplicaCount       *int32         `json:"minReplicaCount"`
	MaxReplicaCount       *int32         `json:"maxReplicaCount"`
	Advanced              *scaleAdvanced `json:"advanced"`
	Triggers              []scaleTrigger `json:"triggers"`
	Fallback              *scaleFallback `json:"fallback"`
}

type scaleTarget struct {
	Name                   string `json:"name"`
	APIVersion             string `json:"apiVersion"`
	Kind                   string `json:"kind"`
	EnvSourceContainerName string `json:"envSourceContainerName"`
}

type scaleAdvanced struct {
	RestoreToOriginalReplicaCount bool            `json:"restoreToOriginalReplicaCount"`
	HorizontalPodAutoscalerConfig *scaleHpaConfig `json:"horizontalPodAutoscalerConfig"`
	ScalingModifiers              *scaleModifiers `json:"scalingModifiers"`
}

type scaleHpaConfig struct {
	Name     string                                         `json:"name"`
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
}

type scaleModifiers struct {
	Formula          string                         `json:"formula"`
	Target           string                         `json:"target"`
	ActivationTarget string                         `json:"activationTarget"`
	MetricType       autoscalingv2.MetricTargetType `json:"metricType"`
}

type scaleTrigger struct {
	Type              string                         `json:"type"`
	Name              string                         `json:"name"`
	UseCachedMetrics  bool                           `json:"useCachedMetrics"`
	Metadata          map[string]string              `json:"metadata"`
	AuthenticationRef *scaleAuthentication           `json:"authenticationRef"`
	MetricType        autoscalingv2.MetricTargetType `json:"metricType"`
}

type scaleAuthentication struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type scaleFallback struct {
	FailureThreshold int32  `json:"failureThreshold"`
	Replicas         int32  `json:"replicas"`
	Behavior         string `json:"behavior"`
}

type application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              applicationSpec `json:"spec"`
}

type applicationSpec struct {
	Project              string                 `json:"project"`
	Source               *applicationSource     `json:"source"`
	Sources              []applicationSource    `json:"sources"`
	Destination          applicationDestination `json:"destination"`
	SyncPolicy           *syncPolicy            `json:"syncPolicy"`
	IgnoreDifferences    []ignoreDifference     `json:"ignoreDifferences"`
	RevisionHistoryLimit *int64                 `json:"revisionHistoryLimit"`
}

type applicationSource struct {
	RepoURL        string           `json:"repoURL"`
	Path           string           `json:"path"`
	TargetRevision string           `json:"targetRevision"`
	Chart          string           `json:"chart"`
	Ref            string           `json:"ref"`
	Helm           *applicationHelm `json:"helm"`
}

type applicationHelm struct {
	ReleaseName             string                `json:"releaseName"`
	ValueFiles              []string              `json:"valueFiles"`
	Values                  string                `json:"values"`
	ValuesObject            *runtime.RawExtension `json:"valuesObject"`
	Parameters              []helmParameter       `json:"parameters"`
	IgnoreMissingValueFiles bool                  `json:"ignoreMissingValueFiles"`
	SkipCrds                bool                  `json:"skipCrds"`
}

type helmParameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString"`
}

type applicationDestination struct {
	Server    string `json:"server"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type syncPolicy struct {
	Automated   *syncAutomated `json:"automated"`
	SyncOptions []string       `json:"syncOptions"`
	Retry       *syncRetry     `json:"retry"`
}

type syncAutomated struct {
	Prune      bool  `json:"prune"`
	SelfHeal   bool  `json:"selfHeal"`
	AllowEmpty bool  `json:"allowEmpty"`
	Enabled    *bool `json:"enabled"`
}

type syncRetry struct {
	Limit   int64        `json:"limit"`
	Backoff *syncBackoff `json:"backoff"`
}

type syncBackoff struct {
	Duration    string `json:"duration"`
	Factor      *int64 `json:"factor"`
	MaxDuration string `json:"maxDuration"`
}

type ignoreDifference struct {
	Group                 string   `json:"group"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name"`
	Namespace             string   `json:"namespace"`
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

const kustomizeGroup = "kustomize.config.k8s.io"

type kustomization struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Namespace         string               `json:"namespace"`
	NamePrefix        string               `json:"namePrefix"`
	Resources         []string             `json:"resources"`
	Images            []kustomizationImage `json:"images"`
	Patches           []kustomizationPatch `json:"patches"`
	Labels            []kustomizationLabel `json:"labels"`
}

type kustomizationImage struct {
	Name    string `json:"name"`
	NewName string `json:"newName"`
	NewTag  string `json:"newTag"`
	Digest  string `json:"digest"`
}

type kustomizationPatch struct {
	Path   string               `json:"path"`
	Patch  string               `json:"patch"`
	Target *kustomizationTarget `json:"target"`
}

type kustomizationTarget struct {
	Group         string `json:"group"`
	Version       string `json:"version"`
	Kind          string `json:"kind"`
	Name          string `json:"name"`
	LabelSelector string `json:"labelSelector"`
}

type kustomizationLabel struct {
	Pairs            map[string]string `json:"pairs"`
	IncludeSelectors bool              `json:"includeSelectors"`
	IncludeTemplates bool              `json:"includeTemplates"`
}

// Nothing here is ever copied: a document is decoded once and thrown away.
func (object *scaledObject) DeepCopyObject() runtime.Object  { return object }
func (object *application) DeepCopyObject() runtime.Object   { return object }
func (object *kustomization) DeepCopyObject() runtime.Object { return object }

func addForeign(scheme *runtime.Scheme) error {
	for version, kinds := range map[schema.GroupVersion]map[string]runtime.Object{
		{Group: "keda.sh", Version: "v1alpha1"}:     {"ScaledObject": &scaledObject{}},
		{Group: "argoproj.io", Version: "v1alpha1"}: {"Application": &application{}},
		{Group: kustomizeGroup, Version: "v1beta1"}: {"Kustomization": &kustomization{}},
	} {
		for kind, object := range kinds {
			scheme.AddKnownTypeWithName(version.WithKind(kind), object)
		}
	}
	return nil
}
