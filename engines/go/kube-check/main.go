// kube-check decodes Kubernetes manifests from its standard input into the real API types, strictly: an unknown field,
// a field given twice or a value of the wrong type is an error. It talks to no cluster.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	strictjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// verdict is what is said of one document; no errors means that the API server would take its fields.
type verdict struct {
	Document int      `json:"document"`
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	Errors   []string `json:"errors"`
}

func knownTypes() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, monitoringv1.AddToScheme, addForeign,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func check(scheme *runtime.Scheme, document int, text []byte) verdict {
	said := verdict{Document: document, Errors: []string{}}
	decoder := strictjson.NewSerializerWithOptions(strictjson.DefaultMetaFactory, scheme, scheme,
		strictjson.SerializerOptions{Yaml: true, Strict: true})
	object, kind, err := decoder.Decode(text, nil, nil)
	if kind != nil {
		said.Kind = kind.GroupVersion().String() + " " + kind.Kind
	}
	if err != nil {
		said.Errors = append(said.Errors, err.Error())
		return said
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		said.Errors = append(said.Errors, err.Error())
		return said
	}
	said.Name = accessor.GetName()
	said.Errors = append(said.Errors, metadataErrors(kind.Group, accessor)...)
	return said
}

// metadataErrors holds what the API server checks of every object beyond its fields.
func metadataErrors(group string, object metav1.Object) []string {
	said := []string{}
	// RBAC names are free path segments, and a Kustomization is a file that needs none; all others become part of a DNS name.
	if group != rbacv1.GroupName && group != kustomizeGroup {
		for _, reason := range validation.IsDNS1123Subdomain(object.GetName()) {
			said = append(said, "metadata.name: "+reason)
		}
	}
	for _, wrong := range metavalidation.ValidateLabels(object.GetLabels(), field.NewPath("metadata", "labels")) {
		said = append(said, wrong.Error())
	}
	for key := range object.GetAnnotations() {
		for _, reason := range validation.IsQualifiedName(strings.ToLower(key)) {
			said = append(said, fmt.Sprintf("metadata.annotations %q: %s", key, reason))
		}
	}
	return said
}

func run() (bool, error) {
	scheme, err := knownTypes()
	if err != nil {
		return false, err
	}
	verdicts, good := []verdict{}, true
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for document := 0; ; document++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		if empty(text) {
			continue
		}
		said := check(scheme, document, text)
		good = good && len(said.Errors) == 0
		verdicts = append(verdicts, said)
	}
	return good, json.NewEncoder(os.Stdout).Encode(verdicts)
}

// empty tells documents that hold only comments, as Helm leaves them behind.
func empty(text []byte) bool {
	for _, line := range strings.Split(string(text), "\n") {
		plain := strings.TrimSpace(line)
		if plain != "" && plain != "---" && !strings.HasPrefix(plain, "#") {
			return false
		}
	}
	return true
}

func main() {
	good, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !good {
		os.Exit(1)
	}
}
