// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
)

// TestSurplus removes what others added to real objects, as the update policy "replace" does.
func TestSurplus(t *testing.T) {
	t.Parallel()
	const service = "{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {selector: {a: b}, ports: [{port: 80}]}}"
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: NAME}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	const webhook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: NAME},
		webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, clientConfig: {url: "https://127.0.0.1:1/x"}, rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [x]}]}]}`
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAME}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {none: none}}]}}"
	const bare = "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {mine: '1'}}}"
	for _, tc := range []struct {
		reason, manifest string
		change           func(*subject)
		want             []string
	}{
		{"a sidecar", deployment, func(s *subject) {
			s.patch(types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x"}]}}}}`)
		}, []string{`.spec.template.spec.containers[name="side"]`}},
		{"a variable", deployment, func(s *subject) {
			s.patch(types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"B","value":"2"}]}]}}}}`)
		}, []string{`.spec.template.spec.containers[name="main"].env[name="B"]`}},
		{"a label and an annotation", deployment, func(s *subject) {
			s.merge(`{"metadata":{"labels":{"theirs":"1"},"annotations":{"theirs":"1"}}}`)
		}, []string{".metadata.annotations.theirs", ".metadata.labels.theirs"}},
		{"a restart stays while its neighbour goes", deployment, func(s *subject) {
			s.merge(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now","theirs":"1"}}}}}`)
		}, []string{".spec.template.metadata.annotations.theirs"}},
		{"finalizers stay", deployment, func(s *subject) {
			s.patch(types.JSONPatchType, `[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/theirs"}]`)
		}, nil},
		{"a scale is not on the main resource", deployment, func(s *subject) { s.merge(`{"spec":{"replicas":0}}`); s.scale(0) }, nil},
		{"a port of a Service", service, func(s *subject) {
			s.patch(types.JSONPatchType, `[{"op":"replace","path":"/spec/ports","value":[{"name":"a","port":80},{"name":"b","port":81}]}]`)
		}, []string{`.spec.ports[port=80,protocol="TCP"].name`, `.spec.ports[port=81,protocol="TCP"]`}},
		{"the volume of a claim stays", claim, func(s *subject) {
			s.merge(`{"spec":{"volumeName":"v"},"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes","theirs":"1"}}}`)
		}, []string{".metadata.annotations.theirs"}},
		{"what an injector provides stays", webhook, func(s *subject) {
			s.patch(types.JSONPatchType, `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"Cg=="}]`)
		}, nil},
		{"rules of aggregated roles stay", role, func(s *subject) { s.merge(`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`) }, nil},
		{"a whole map", bare, func(s *subject) { s.merge(`{"data":{"a":"1","b":"2"}}`) }, []string{".data"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, tc.manifest)
			s.apply()
			tc.change(s)
			got := s.clean()
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			if left := s.clean(); len(left) > 0 {
				t.Errorf("what was removed must be gone, still there: %v", left)
			}
		})
	}
}

// TestSurplusOfOwnUpdates: what we wrote by other means than apply goes once it is not declared.
func TestSurplusOfOwnUpdates(t *testing.T) {
	t.Parallel()
	s := newSubject(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {old: '1', mine: '1'}}")
	if err := s.client.Create(t.Context(), s.manifest.DeepCopy(), fieldOwner(us)); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(s.manifest.Object, "data", "old")
	live := s.apply()
	surplus, err := fieldset.Surplus(schema.GroupKind{Kind: "ConfigMap"}, live.GetManagedFields(), us, func(string) bool { return false })
	if err != nil || len(surplus) != 1 || surplus[0].String() != ".data.old" {
		t.Errorf("got %v, %v", surplus, err)
	}
}

func fields(t *testing.T, manager, operation, apiVersion, raw string) metav1.ManagedFieldsEntry {
	t.Helper()
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: apiVersion, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(raw)}
}

func TestSurplusKeepsWhatIsNotToBeReclaimed(t *testing.T) {
	t.Parallel()
	ours := fields(t, us, "Apply", "v1", `{"f:data":{"f:mine":{}}}`)
	entries := func(entries ...metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry { return entries }
	for _, tc := range []struct {
		reason string
		others []metav1.ManagedFieldsEntry
		want   []string
	}{
		{"a manager that is reclaimed", entries(fields(t, "kubectl", "Update", "v1", `{"f:data":{"f:x":{}}}`)), []string{".data.x"}},
		{"a manager that is not", entries(fields(t, "other", "Update", "v1", `{"f:data":{"f:x":{}}}`)), nil},
		{"another API version", entries(fields(t, "kubectl", "Update", "v2", `{"f:data":{"f:x":{}}}`)), nil},
		{"what is ours as well", entries(fields(t, "kubectl", "Update", "v1", `{"f:data":{".":{},"f:mine":{}}}`)), nil},
		{"what a manager that is not reclaimed owns as well", entries(
			fields(t, "kubectl", "Update", "v1", `{"f:data":{"f:x":{},"f:y":{}}}`), fields(t, "other", "Update", "v1", `{"f:data":{"f:x":{}}}`),
		), []string{".data.y"}},
		{"the whole data beside ours", entries(fields(t, "kubectl", "Update", "v1", `{"f:data":{".":{},"f:mine":{},"f:x":{}}}`)), []string{".data.x"}},
	} {
		got, err := fieldset.Surplus(schema.GroupKind{Kind: "ConfigMap"}, append(tc.others, ours), us, func(manager string) bool { return manager == "kubectl" })
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, path := range got {
			texts = append(texts, path.String())
		}
		if diff := cmp.Diff(tc.want, texts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
	if got := fieldset.Outside([]fieldpath.Path{fieldpath.MakePathOrDie("metadata", "labels"), fieldpath.MakePathOrDie("data", "metadata")}, "metadata"); len(got) != 1 || got[0].String() != ".data.metadata" {
		t.Errorf("got %v", got)
	}
}
