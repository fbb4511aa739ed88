// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const sizedType = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 3}
              color: {type: string}
              tags: {type: array, items: {type: string}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, weight: {type: integer, default: 7}}
              extra: {type: object, additionalProperties: {type: object, properties: {on: {type: boolean, default: true}}}}
              open: {type: object, x-kubernetes-preserve-unknown-fields: true}
MORE
`

const sizedWidget = `
apiVersion: GROUP/v1
kind: Widget
metadata: {name: own}
spec: {color: COLOR, tags: [x], parts: [{name: one}], extra: {a: {}}, open: {any: {thing: 1}}, unknown: gone}
`

// TestPlanOfNewTypes compares what the planner computes from the definition in the request with what the server stores.
func TestPlanOfNewTypes(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := func(more, color string) string {
		return ty.expand(strings.NewReplacer("MORE", more, "COLOR", color).Replace(sizedType + "---" + sizedWidget))
	}
	done := func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) }
	check := func(manifests, verb, reason string, local bool) {
		t.Helper()
		change := ty.plan(manifests, compare).Changes[1]
		if string(change.Verb) != verb || change.Reason != reason || change.Local != local {
			t.Errorf("expected the instance to be %s (%s), local: %v; got %s (%s), local: %v", verb, reason, local, change.Verb, change.Reason, change.Local)
		}
		if ty.definition() != nil {
			before := ty.widget("own")
			if diff := cmp.Diff(presentable(before), change.Before.Object); diff != "" {
				t.Errorf("before (-stored +planned):\n%s", diff)
			}
		} else if change.Before != nil {
			t.Error("there is nothing before")
		}
		ty.settle(manifests, done)
		if diff := cmp.Diff(presentable(ty.widget("own")), change.After.Object); diff != "" {
			t.Errorf("after (-stored +planned):\n%s", diff)
		}
	}
	check(manifests("", "red"), "Created", "does not exist", true)
	check(manifests("", "green"), "Updated", "the manifest changed", false)
	ty.patchAs(ty.widget("own"), `{"spec":{"size":9,"tags":["x","theirs"],"parts":[{"name":"one","weight":7},{"name":"two"}]}}`, "kubectl-edit")
	more := "              height: {type: integer, default: 12}"
	wider := manifests(more, "blue")
	check(wider, "Updated", "the manifest changed", true)

	annotated := strings.Replace(wider, "{name: widgets."+ty.group+"}", "{name: widgets."+ty.group+", annotations: {a: b}}", 1)
	changes := ty.plan(strings.ReplaceAll(annotated, "blue", "grey"), compare).Changes
	if changes[0].Verb != reconciler.VerbUpdated || changes[1].Local {
		t.Errorf("an annotation of a definition changes nothing for the instances, got %v", ty.lines(reconciler.Plan{Changes: changes}))
	}
	ty.mustDelete()
}

func TestPlanOfMissingNamespaces(t *testing.T) {
	t.Parallel()
	const inside = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS-in}\ndata: {a: b}\n"
	const namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: NS-in}\n"
	w := newWorld(t)
	t.Cleanup(func() {
		if namespace := w.get("v1", "Namespace", "NS-in"); namespace != nil {
			_ = w.client.Delete(context(t), namespace)
		}
	})
	declared := w.plan(inside+namespace, compare)
	w.expectPlan(declared, "0 Created Namespace NS-in: does not exist", "0 Created ConfigMap NS-in/a local: does not exist")
	undeclared := w.plan(inside, compare)
	w.expectPlan(undeclared, "0 Created ConfigMap NS-in/a local: does not exist")
	if want := []string{w.namespace + "-in"}; len(declared.Namespaces) > 0 || !slices.Equal(undeclared.Namespaces, want) {
		t.Errorf("a plan names the namespaces that no object declares, got %v and %v, want none and %v", declared.Namespaces, undeclared.Namespaces, want)
	}
	w.policies.MissingNamespaces = reconciler.MissingNamespacesPolicyDoNotCreate
	w.expectPlan(w.plan(inside, compare), "0 Created ConfigMap NS-in/a local: does not exist; namespace NS-in does not exist")
	if w.get("v1", "Namespace", "NS-in") != nil {
		t.Fatal("a plan must not create namespaces")
	}
	w.policies.MissingNamespaces = ""
	change := w.plan(inside, compare).Changes[0]
	w.mustApply(inside)
	stored := &unstructured.Unstructured{}
	stored.SetAPIVersion("v1")
	stored.SetKind("ConfigMap")
	if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: w.namespace + "-in", Name: "a"}, stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(presentable(stored), change.After.Object); diff != "" {
		t.Errorf("-stored +planned:\n%s", diff)
	}
	w.mustDelete()
}

// TestPlanOfPrerequisites plans objects that the API server refuses only as long as others do not exist, which are applied before.
func TestPlanOfPrerequisites(t *testing.T) {
	t.Parallel()
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: NS}
spec: {serviceAccountName: runner, priorityClassName: NS-urgent, containers: [{name: main, image: main}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NS-urgent}
value: 7
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: NS}
`
	w := newWorld(t)
	w.expectPlan(w.plan(pod, compare), "0 Created PriorityClass NS-urgent: does not exist", "0 Created ServiceAccount NS/runner: does not exist",
		"0 Created Pod NS/pod local: does not exist")
	const late = "metadata: {name: runner, namespace: NS, annotations: {PREFIX/apply-order: \"1\"}}"
	changes := w.plan(strings.Replace(pod, "metadata: {name: runner, namespace: NS}", late, 1), compare).Changes
	if change := changes[1]; change.Object.Kind != "Pod" || !strings.Contains(change.Refusal, `serviceaccount "runner" not found`) {
		t.Errorf("a pod is refused if its service account is applied after it, got %+v", change)
	}
	w.mustApply(pod)
	w.mustDelete()
}

// mutating runs a webhook that gives ConfigMaps of the namespace a label.
func (w *world) mutating() {
	w.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		_ = json.NewDecoder(request.Body).Decode(&review)
		patch := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/metadata/labels/mutated","value":"yes"}]`))
		_, _ = fmt.Fprintf(writer, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%q}}`, review.Request.UID, patch)
	}))
	w.Cleanup(server.Close)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	configuration := `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: NS-mutating}
webhooks:
- name: mutating.example.com
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v1]
  clientConfig: {url: "URL", caBundle: "BUNDLE"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
`
	object := testenv.Object(w, strings.NewReplacer("URL", server.URL, "BUNDLE", bundle).Replace(w.expand(configuration)))
	if err := w.client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.client.Delete(context(w), object) })
	testenv.Eventually(w, func() (bool, string) {
		probe := testenv.Object(w, w.expand("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe, namespace: NS, labels: {a: b}}"))
		if err := w.client.Create(w.Context(), probe); err != nil {
			return false, err.Error()
		}
		w.remove(probe)
		return probe.GetLabels()["mutated"] == "yes", "the webhook is not effective yet"
	})
}

func TestPlanCountsInWebhooks(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	w := newWorld(t)
	w.mutating()
	change := w.plan(manifest, compare).Changes[0]
	if change.Local || change.After.GetLabels()["mutated"] != "yes" {
		t.Errorf("expected what the webhook adds, got local: %v, labels: %v", change.Local, change.After.GetLabels())
	}
	w.mustApply(manifest)
}

// TestPlanWithWebhooksThatKnowNoDryRuns has webhooks that were registered long ago, for which the server refuses dry runs.
func TestPlanWithWebhooksThatKnowNoDryRuns(t *testing.T) {
	t.Parallel()
	refuse := func(next http.RoundTripper) http.RoundTripper {
		return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Query().Get("dryRun") != "All" {
				return next.RoundTrip(request)
			}
			answer := httptest.NewRecorder()
			answer.Header().Set("Content-Type", "application/json")
			answer.WriteHeader(http.StatusBadRequest)
			_, _ = answer.WriteString(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,
				"message":"admission webhook \"x\" does not support dry run"}`)
			return answer.Result(), nil
		})
	}
	w := newWorld(t, func(s *setup) { s.config.Wrap(refuse) })
	change := w.plan("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n", compare).Changes[0]
	if !change.Local || change.Refusal != "" || change.After.Object["data"] == nil {
		t.Errorf("expected the manifest, got local: %v, refusal: %q, after: %v", change.Local, change.Refusal, change.After)
	}
}
