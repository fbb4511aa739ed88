// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const (
	workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, annotations: {ANNOTATIONS}}
spec:
  replicas: 0
  selector: {matchLabels: {app: SELECTOR}}
  template: {metadata: {labels: {app: SELECTOR}}, spec: {containers: [{name: NAME, image: x}]}}
`
	task = `
apiVersion: batch/v1
kind: Job
metadata: {name: a, annotations: {PREFIX/update-policy: recreate}}
spec: {suspend: true, template: {spec: {restartPolicy: RESTART, containers: [{name: main, image: x}]}}}
`
	endpoint = `
apiVersion: v1
kind: Service
metadata: {name: a, annotations: {PREFIX/recreate-if-immutable: "true"}}
spec: {SPEC ports: [{name: http, port: 80}]}
`
)

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

// TestWhatCannotBeCreatedIsNotDeleted has objects that would have to be recreated, whose manifests the API server does not accept.
func TestWhatCannotBeCreatedIsNotDeleted(t *testing.T) {
	t.Parallel()
	const ifImmutable = `PREFIX/recreate-if-immutable: "true"`
	for name, tc := range map[string]struct {
		kind, before, after string
		// policy is a ValidatingAdmissionPolicy's expression for creations.
		policy string
		want   []string
	}{
		"Immutable": {
			"apps/v1 Deployment", replaced(workload, "ANNOTATIONS", ifImmutable, "SELECTOR", "a", "NAME", "main"), replaced(workload, "ANNOTATIONS", ifImmutable, "SELECTOR", "b", "NAME", "Not_Valid"), "",
			[]string{"Deployment NS/a: rejected by the API server: it has to be recreated, which would fail", "Not_Valid"},
		},
		"Recreate": {
			"batch/v1 Job", replaced(task, "RESTART", "Never"), replaced(task, "RESTART", "Always"), "",
			[]string{"Job NS/a: rejected by the API server: it has to be recreated, which would fail", "restartPolicy"},
		},
		"Denied": {
			"batch/v1 Job", replaced(task, "RESTART", "Never"), replaced(task, "RESTART", "OnFailure"), `object.spec.template.spec.restartPolicy == "Never"`,
			[]string{"it has to be recreated, which would fail", "denied request"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if _, err := w.apply(tc.before); err != nil {
				t.Fatal(err)
			}
			version, kind, _ := strings.Cut(tc.kind, " ")
			uid := w.get(version, kind, "a").GetUID()
			if tc.policy != "" {
				w.denyCreations(tc.policy)
			}
			change := w.plan(tc.after, compare).Changes[0]
			_, err := w.apply(tc.after)
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, text := range tc.want {
				if text = w.expand(text); !strings.Contains(err.Error(), text) {
					t.Errorf("expected the error to contain %q, got %q", text, err)
				}
			}
			if change.Refusal == "" || change.Recreate && change.Verb == "" {
				t.Errorf("planned: %+v", change)
			}
			if live := w.get(version, kind, "a"); live == nil || live.GetUID() != uid || live.GetDeletionTimestamp() != nil {
				t.Errorf("it is deleted: %v", live)
			}
		})
	}
}

// denyCreations has the API server deny Jobs in the namespace that do not fit, when they are created.
func (w *world) denyCreations(expression string) {
	w.Helper()
	w.create(strings.ReplaceAll(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS-creations}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: 'EXPRESSION'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS-creations}
spec: {policyName: NS-creations, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}}
`, "EXPRESSION", expression))
	w.Cleanup(func() {
		for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
			object := &unstructured.Unstructured{}
			object.SetAPIVersion("admissionregistration.k8s.io/v1")
			object.SetKind(kind)
			object.SetName(w.namespace + "-creations")
			_ = w.client.Delete(context(w), object)
		}
	})
	probe := testenv.Object(w, w.expand(replaced(task, "RESTART", "OnFailure", "name: a", "name: probe, namespace: NS")))
	testenv.Eventually(w, func() (bool, string) {
		err := w.client.Create(w.Context(), probe.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "denied request"), "the policy is not in force"
	})
}

// TestWhatCannotBeUpdatedIsRecreated has changes that the API server accepts only for a new object, in whatever words it says so.
func TestWhatCannotBeUpdatedIsRecreated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, after, more string }{
		"Headless": {replaced(endpoint, "SPEC", ""), replaced(endpoint, "SPEC", "clusterIP: None,"), ""},
		"NodePort": {
			replaced(endpoint, "SPEC", "type: LoadBalancer, loadBalancerClass: example.com/a,", "port: 80", "port: 80, nodePort: 30917"),
			replaced(endpoint, "SPEC", "type: LoadBalancer, loadBalancerClass: example.com/b,", "port: 80", "port: 80, nodePort: 30917"), "",
		},
		"Quota": {
			replaced(task, "RESTART", "Never"), replaced(task, "RESTART", "OnFailure"),
			"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {count/jobs.batch: \"1\"}}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tc.more != "" {
				w.create(tc.more)
			}
			if _, err := w.apply(tc.before); err != nil {
				t.Fatal(err)
			}
			object := objects(w, tc.before)[0].(*unstructured.Unstructured)
			uid := w.get(object.GetAPIVersion(), object.GetKind(), "a").GetUID()
			if change := w.plan(tc.after, compare).Changes[0]; !change.Recreate || change.Refusal != "" {
				t.Errorf("planned: %+v", change)
			}
			if tc.more != "" {
				return // nobody frees the quota here
			}
			w.settle(tc.after, func(reconciler.Result) (bool, string) {
				live := w.get(object.GetAPIVersion(), object.GetKind(), "a")
				return live != nil && live.GetUID() != uid, "it is still the former one"
			})
		})
	}
}

// TestObjectsAreReplaced has manifests that the API server accepts, but not together with what others or the server itself have set.
func TestObjectsAreReplaced(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: TARGET}]}\n"
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NS.example.com}
spec:
  group: NS.example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  conversion: CONVERSION
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	pod := func(more string) string {
		return replaced(workload, "ANNOTATIONS", "", "SELECTOR", "a", "name: NAME, image: x", "name: main, image: x"+more)
	}
	for name, tc := range map[string]struct {
		before, after string
		// patch is what another client changes.
		patch     string
		want, not string
	}{
		"Port":       {replaced(service, "TARGET", "1"), replaced(service, "TARGET", "2"), `{"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, `"port":80`, `"port":83`},
		"Correction": {replaced(service, "TARGET", "1"), replaced(service, "TARGET", "1"), `{"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, `"port":80`, `"port":83`},
		"Value": {
			pod(""), pod(", env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x","env":[{"name":"PASSWORD","value":"x"}]}]}}}}`, `"valueFrom"`, `"value":"x"`,
		},
		"Strategy": {pod(""), pod("") + "  strategy: {type: Recreate}\n", `{"metadata":{"labels":{"x":"y"}}}`, `"type":"Recreate"`, "rollingUpdate"},
		"Account": {
			replaced(pod(""), "spec: {containers", "spec: {serviceAccountName: former, containers"), pod(""), `{"metadata":{"labels":{"x":"y"}}}`, `"replicas":0`, "former",
		},
		"Webhook": {
			replaced(definition, "CONVERSION", "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: NS, name: s}}}}"), replaced(definition, "CONVERSION", "{strategy: None}"),
			`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"` + bundle + `"}}}}}`, `"strategy":"None"`, "caBundle",
		},
		"Volume": {
			replaced(pod(""), "spec: {containers", "spec: {volumes: [{name: v}], containers"), replaced(pod(""), "spec: {containers", "spec: {volumes: [{name: v, configMap: {name: c}}], containers"),
			`{"metadata":{"finalizers":["example.com/keep"]}}`, `"configMap"`, "emptyDir",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if _, err := w.apply(tc.before); err != nil {
				t.Fatal(err)
			}
			object := objects(w, tc.before)[0].(*unstructured.Unstructured)
			live := func() *unstructured.Unstructured {
				return w.get(object.GetAPIVersion(), object.GetKind(), object.GetName())
			}
			uid := live().GetUID()
			changed := live()
			if err := w.client.Patch(t.Context(), changed, client.RawPatch(types.MergePatchType, []byte(tc.patch)), client.FieldOwner("somebody")); err != nil {
				t.Fatal(err)
			}
			w.noteChange(changed, false)
			testenv.Eventually(t, func() (bool, string) {
				change := w.plan(tc.after, compare).Changes[0]
				return !change.Recreate && change.Refusal == "" && change.Verb != "", fmt.Sprintf("planned: %+v", change)
			})
			w.settle(tc.after, func(reconciler.Result) (bool, string) {
				spec, _ := json.Marshal(live().Object["spec"])
				return strings.Contains(string(spec), tc.want) && !strings.Contains(string(spec), tc.not), "it is not replaced: " + string(spec)
			})
			if live().GetUID() != uid {
				t.Error("it was recreated")
			}
			if strings.Contains(tc.patch, "finalizers") && len(live().GetFinalizers()) == 0 {
				t.Error("the finalizer of another client is gone")
			}
			before := len(w.writes())
			w.settle(tc.after, func(result reconciler.Result) (bool, string) { return true, "" })
			if after := w.writes(); len(after) > before {
				t.Errorf("written again: %v", after[before:])
			}
			w.patch(live(), `{"metadata":{"finalizers":null}}`)
			w.mustDelete()
		})
	}
}

// TestReplacingKeepsTheScale has a client scale a Deployment, as autoscalers do, whose strategy is changed then.
func TestReplacingKeepsTheScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := replaced(workload, "ANNOTATIONS", "", "  replicas: 0\n", "", "SELECTOR", "a", "NAME", "main")
	if _, err := w.apply(before); err != nil {
		t.Fatal(err)
	}
	live := w.get("apps/v1", "Deployment", "a")
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}, Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if err := w.client.SubResource("scale").Update(t.Context(), live, client.WithSubResourceBody(scale), client.FieldOwner("scaler")); err != nil {
		t.Fatal(err)
	}
	w.settle(before+"  strategy: {type: Recreate}\n", func(reconciler.Result) (bool, string) {
		kind, _, _ := unstructured.NestedString(w.get("apps/v1", "Deployment", "a").Object, "spec", "strategy", "type")
		return kind == "Recreate", "the strategy is " + kind
	})
	if replicas, _, _ := unstructured.NestedInt64(w.get("apps/v1", "Deployment", "a").Object, "spec", "replicas"); replicas != 5 {
		t.Errorf("it has %d replicas", replicas)
	}
}

// TestReplacingRespectsOwnership has fields of others that do not go with the manifest, and that the update policy keeps or removes.
func TestReplacingRespectsOwnership(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {PREFIX/update-policy: POLICY}}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: TARGET}]}\n"
	for _, tc := range []struct {
		policy, manager string
		refused         bool
	}{
		{"ssa-override", "kubectl-edit", false}, {"ssa-override", "somebody", true}, {"ssa-merge", "kubectl-edit", true}, {"replace", "somebody", false},
	} {
		t.Run(tc.policy+"/"+tc.manager, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before, after := replaced(service, "POLICY", tc.policy, "TARGET", "1"), replaced(service, "POLICY", tc.policy, "TARGET", "2")
			if _, err := w.apply(before); err != nil {
				t.Fatal(err)
			}
			w.patchAs(w.get("v1", "Service", "a"), `{"metadata":{"annotations":{"theirs":"x"}},"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, tc.manager)
			_, err := w.apply(after)
			ports, _, _ := unstructured.NestedSlice(w.get("v1", "Service", "a").Object, "spec", "ports")
			if !tc.refused {
				if err != nil || len(ports) != 1 || ports[0].(map[string]any)["port"] != int64(80) {
					t.Errorf("got ports %v and error %v", ports, err)
				}
				return
			}
			w.expectRefusal(err, "Duplicate value", "the fields .spec.ports", "which others have set, do not go with the manifest: remove them, or use the update policy replace")
			if ports[0].(map[string]any)["port"] != int64(83) || w.get("v1", "Service", "a").GetAnnotations()["theirs"] == "" {
				t.Errorf("fields of others were changed: %v", ports)
			}
		})
	}
}

// TestDriftThatCannotBeApplied has others change an object such that the API server would reject its manifest, and drift only be reported.
func TestDriftThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {PREFIX/drift-policy: report}}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: 1}]}\n"
	w := newWorld(t)
	w.mustApply(service)
	w.patch(w.get("v1", "Service", "a"), `{"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`)
	w.settle(service, func(result reconciler.Result) (bool, string) {
		return len(result.Drift) == 1, fmt.Sprintf("drift: %v", result.Drift)
	})
	if change := w.plan(service, compare).Changes[0]; change.Refusal != "" || change.Verb != "" || change.Recreate {
		t.Errorf("planned: %+v", change)
	}
}

// TestDeathInARemedy ends the process before each write of an update that the API server rejects at first.
func TestDeathInARemedy(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, ports: [{name: http, port: 80, targetPort: TARGET}]}\n"
	for name, tc := range map[string]struct {
		before, after, patch string
		recreated            bool
	}{
		"Replaced":  {replaced(service, "TARGET", "1"), replaced(service, "TARGET", "2"), `{"spec":{"ports":[{"name":"http","port":83,"targetPort":1}]}}`, false},
		"Recreated": {replaced(endpoint, "SPEC", ""), replaced(endpoint, "SPEC", "clusterIP: None,"), `{}`, true},
	} {
		for survived := range 5 {
			t.Run(fmt.Sprint(name, survived), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.mustApply(tc.before)
				uid := w.get("v1", "Service", "a").GetUID()
				w.patch(w.get("v1", "Service", "a"), tc.patch)
				mortal := w.restart(func(s *setup) { s.config = dying(s.config, survived) })
				_, _ = mortal.engine.Apply(t.Context(), mortal.request(tc.after))
				heir := w.restart()
				heir.owner.Inventory = mortal.owner.Inventory
				heir.mustApply(tc.after)
				live := w.get("v1", "Service", "a")
				ports, _, _ := unstructured.NestedSlice(live.Object, "spec", "ports")
				if len(ports) != 1 || ports[0].(map[string]any)["port"] != int64(80) || (live.GetUID() != uid) != tc.recreated {
					t.Errorf("recreated: %t, ports %v", live.GetUID() != uid, ports)
				}
				heir.mustDelete()
			})
		}
	}
}
