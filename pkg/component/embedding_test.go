// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/component/testdata/embedding"
)

// embedder has a value for each field of our types.
const embedder = `
namespace: target
name: demo
kubeConfig: {secretRef: {name: kubeconfig, key: value}}
serviceAccountName: deployer
suspend: true
requeueInterval: 5m0s
retryInterval: 1m0s
timeout: 10m0s
reapplyInterval: 1h0m0s
adoptionPolicy: Always
updatePolicy: SsaMerge
deletePolicy: Orphan
missingNamespacesPolicy: DoNotCreate
additionalManagedTypes: [{group: "*.example.io", kind: "*"}]
nodeSelector: {disk: ssd}
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
tolerations: [{key: a, operator: Exists}]
priorityClassName: high
podSecurityContext: {runAsNonRoot: true}
podLabels: {a: b}
podAnnotations: {c: d}
securityContext: {readOnlyRootFilesystem: true}
resources: {requests: {cpu: 100m}}
former: {namespace: target, name: demo}
image: {repository: example.org/image, tag: "1.0", pullPolicy: Always, pullSecret: pull}
service: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8], externalTrafficPolicy: Local, labels: {a: b}, annotations: {c: d}}
ingress: {class: nginx, labels: {a: b}, annotations: {c: d}}
sidecars: {proxy: {resources: {limits: {memory: 1Gi}}}}
pods: [{nodeSelector: {a: b}}]
settings: {name: settings}
setting: {name: settings, key: a}
credentials: [{name: credentials}]
password: {name: credentials, key: password}
patches: [{patch: "[]", target: {group: apps, version: v1, kind: Deployment, name: web, namespace: target, annotationSelector: a=b, labelSelector: c=d}}]
images: [{name: nginx, newName: example.org/nginx, newTag: "1.0", digest: "sha256:0"}]
selector: {kind: Service}
types: [{group: apps, kind: Deployment}]
versions: [{group: apps, version: v1, kind: Deployment}]
names: [{namespace: target, name: web}]
items:
- {group: "", version: v1, kind: ConfigMap, namespace: target, name: a, adoptionPolicy: IfUnowned, reconcilePolicy: Once, updatePolicy: Replace,
   deletePolicy: Delete, applyOrder: -1, deleteOrder: 2, managedTypes: [{group: g, version: v1, kind: K}], digest: d, phase: Ready, status: Current,
   lastAppliedAt: "2026-01-02T03:04:05Z"}
adoption: Never
phase: Ready
conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z", reason: Ready, message: ok}]
formerStatus: {observedGeneration: 1, appliedGeneration: 1, revision: 3, state: Ready}
`

// TestEmbeddedTypes has the API server accept and keep each field of our types in an API type of an operator, and generated code copy them.
func TestEmbeddedTypes(t *testing.T) {
	t.Parallel()
	component.Install(t)
	object := &embedding.Embedder{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "demo"}}
	if err := yaml.UnmarshalStrict([]byte(embedder), &object.Spec); err != nil {
		t.Fatal(err)
	}
	want := contentOf(t, object.Spec)
	if d := cmp.Diff(want, contentOf(t, object.DeepCopy().Spec)); d != "" {
		t.Errorf("copy (-want +got):\n%s", d)
	}
	for field := range strings.Lines(strings.TrimSpace(embedder)) {
		name, _, found := strings.Cut(field, ":")
		if _, kept := want[name]; found && !kept && !strings.HasPrefix(name, " ") && !strings.HasPrefix(name, "-") {
			t.Errorf("%s is lost by Go", name)
		}
	}
	live := &unstructured.Unstructured{Object: map[string]any{"spec": want}}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: "component-test.example.io", Version: "v1", Kind: "Embedder"})
	live.SetNamespace(object.Namespace)
	live.SetName(object.Name)
	if err := testenv.Client(t).Create(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(live.Object, "spec")
	if d := cmp.Diff(want, contentOf(t, got)); d != "" {
		t.Errorf("what the API server keeps (-want +got):\n%s", d)
	}
	if got, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration"); got != -1 {
		t.Errorf("observedGeneration: want -1, got %d", got)
	}
}

// contentOf returns a value as JSON has it.
func contentOf(t *testing.T, value any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]any{}
	if err := json.Unmarshal(raw, &content); err != nil {
		t.Fatal(err)
	}
	return content
}
