// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// TestBadInput has a condition name what the schema cannot tell, and nothing is written.
func TestBadInput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.create(newUnstructured(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+r.namespace+"}"))
	const refused, collision = "False/PreflightError", "False/CollisionDetected"
	for name, tc := range map[string]struct{ spec, reason, text string }{
		"twice": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}, {name: b, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}]}`,
			refused, `Phase "b": objects[0]: ConfigMap NS/x is also in phase "a": objects[0]; must occur only once`,
		},
		"elsewhere": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default}}}]}]}`,
			refused, `Phase "a": objects[0]: ConfigMap default/x: metadata.namespace: invalid value "default"; in an ObjectSet without serviceAccountName, it must be NS`,
		},
		"cluster-scoped": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: Namespace, metadata: {name: x}}}]}]}`,
			refused, `Phase "a": objects[0]: Namespace x is cluster-scoped; in an ObjectSet without serviceAccountName, all objects must be in namespace NS`,
		},
		"owned": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: x}]}}}]}]}`,
			refused, `Phase "a": objects[0]: ConfigMap x: metadata.ownerReferences is not allowed`,
		},
		"labelled": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: 1}}}}]}]}`,
			refused, `Phase "a": objects[0]: ConfigMap x: metadata.labels: invalid value; must be a map of strings`,
		},
		"annotated": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: [a]}}}]}]}`,
			refused, `Phase "a": objects[0]: ConfigMap x: metadata.annotations: invalid value; must be a map of strings`,
		},
		"nowhere": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: 1}}}]}]}`,
			refused, `Phase "a": objects[0]: ConfigMap x: metadata.namespace: invalid value 1; must be the name of a namespace`,
		},
		"unversioned": {
			`{phases: [{name: a, objects: [{object: {apiVersion: "", kind: ConfigMap, metadata: {name: x}}}]}]}`,
			refused, `Phase "a": objects[0]: apiVersion: invalid value ""; must be a group and version, such as apps/v1`,
		},
		"kindless": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: "", metadata: {name: x}}}]}]}`,
			refused, `Phase "a": objects[0]: kind: invalid value ""; must be a kind, such as ConfigMap`,
		},
		"nameless": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap}}]}]}`,
			refused, `Phase "a": objects[0]: metadata.name is required`,
		},
		"misversioned": {
			`{phases: [{name: a, objects: [{object: {apiVersion: a/b/c, kind: ConfigMap, metadata: {name: x}}}]}]}`,
			refused, `Phase "a": objects[0]: apiVersion: invalid value "a/b/c"; must be a group and version, such as apps/v1`,
		},
		"mislabelled": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}, {name: b, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: z, labels: {a b: c}}}}]}]}`,
			refused, `Phase "b": objects[0]: ConfigMap z: metadata.labels: Invalid value: `,
		},
		"misnamed": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x/y}}}]}]}`,
			refused, `Phase "a": objects[0]: ConfigMap x/y: metadata.name: Invalid value: `,
		},
		"ordered": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {` + r.name + `.objectset.core.component-operator.dev/apply-order: "1"}}}}]}]}`,
			refused, `/apply-order is not allowed; the phase decides`,
		},
		"not-awaited": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {` + r.name + `.objectset.core.component-operator.dev/await: never}}}}]}]}`,
			refused, `/await is not allowed; availabilityProbes decide`,
		},
		"itself": {
			`{collisionProtection: None, phases: [{name: a, objects: [{object: {apiVersion: core.component-operator.dev/v1alpha1, kind: ObjectSet, metadata: {name: itself}}}]}]}`,
			refused, `it is the set itself`,
		},
		"expression": {
			`{phases: [{name: a}], availabilityProbes: [{probes: [{condition: {type: A}}, {cel: {rule: "self."}}]}]}`,
			refused, `spec.availabilityProbes[0].probes[1].cel.rule: `,
		},
		"no-bool": {
			`{phases: [{name: a}], availabilityProbes: [{probes: [{cel: {rule: "self.metadata.name"}}]}]}`,
			refused, `spec.availabilityProbes[0].probes[0].cel.rule: `,
		},
		"path": {
			`{phases: [{name: a}], availabilityProbes: [{probes: [{fieldValue: {field: ".a[", value: 1}}]}]}`,
			refused, `spec.availabilityProbes[0].probes[0].fieldValue.field: invalid value ".a["`,
		},
		"taken": {
			`{phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}}]}]}`,
			collision, `ConfigMap NS/theirs: already exists and has no owner, but its adoption policy is never`,
		},
	} {
		set := r.set("metadata: {name: " + name + "}\nspec: " + tc.spec)
		r.create(set)
		r.awaitCondition(set, available, tc.reason, tc.text)
		r.awaitCondition(set, progressing, tc.reason)
		if r.get("v1", "ConfigMap", "x") != nil {
			t.Errorf("%s: something was written", name)
		}
		r.delete(set)
		r.awaitGone(set)
	}
}

// TestIdleFields do not count: empty ones of the metadata, which templates leave behind, and those that the API server
// sets, which exported objects have.
func TestIdleFields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	set := r.set("metadata: {name: empty}\nspec: {phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: " +
		"{name: x, namespace: null, labels: {}, annotations: null, ownerReferences: [], generateName: \"\", creationTimestamp: null}}}," +
		"{object: {apiVersion: v1, kind: Service, metadata: {name: exported, uid: 0-0, resourceVersion: '7', generation: 7, creationTimestamp: '2020-01-01T00:00:00Z', selfLink: /exported, " +
		"deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 30, managedFields: [{manager: kubectl, operation: Update}]}, " +
		"spec: {ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}}]}]}")
	r.create(set)
	r.awaitCondition(set, available, "True/Available")
	if object := r.get("v1", "Service", "exported"); object.GetUID() == "0-0" || strings.Contains(fmt.Sprint(object.Object["status"]), "192.0.2.1") {
		t.Errorf("got %v", object.Object)
	}
}

// TestCollisionProtection: Prevent adopts nothing, IfNoController what has no owner, None anything; an object may
// differ from its set.
func TestCollisionProtection(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	controller := newUnstructured(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: controller, namespace: "+r.namespace+"}")
	r.create(controller)
	unowned := "metadata: {name: theirs, namespace: " + r.namespace + "}"
	controlled := strings.TrimSuffix(unowned, "}") + ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: controller, uid: " + string(controller.GetUID()) + ", controller: true}]}"
	for _, tc := range []struct{ ofSet, ofObject, theirs, want string }{
		{"Prevent", "", unowned, "False/CollisionDetected"},
		{"IfNoController", "", unowned, "True/Available"},
		{"IfNoController", "", controlled, "False/CollisionDetected"},
		{"None", "", controlled, "True/Available"},
		{"None", "Prevent", unowned, "False/CollisionDetected"},
		{"Prevent", "None", controlled, "True/Available"},
	} {
		object := newUnstructured(t, "apiVersion: v1\nkind: ConfigMap\n"+tc.theirs)
		r.create(object)
		protection := ""
		if tc.ofObject != "" {
			protection = ", collisionProtection: " + tc.ofObject
		}
		set := r.set("metadata: {name: demo}\nspec: {collisionProtection: " + tc.ofSet +
			", phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}" + protection + "}]}]}")
		r.create(set)
		r.awaitCondition(set, v1alpha1.ConditionTypeAvailable, tc.want)
		r.delete(set)
		r.awaitGone(set)
		if left := r.get("v1", "ConfigMap", "theirs"); left != nil {
			r.delete(left)
		} else if tc.want != "True/Available" {
			t.Errorf("%+v: an object that was not adopted is gone", tc)
		}
	}
}

// TestMissingType: a type that is not served holds back its phase and later ones, not earlier ones, which may bring it.
// A set without a service account gets nothing outside of its namespace, whatever the scope of the type turns out to
// be.
func TestMissingType(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	group := r.name + ".example.com"
	content := func(name, kind, annotations string) string {
		return replace("phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: SET-a, namespace: NS}}}]}, "+
			"{name: b, objects: [{object: {apiVersion: GROUP/v1, kind: KIND, metadata: {name: SET, namespace: NS, annotations: {ANNOTATIONS}}}}]}, "+
			"{name: c, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: SET-c, namespace: NS}}}]}]",
			"SET", name, "KIND", kind, "GROUP", group, "NS", r.namespace, "ANNOTATIONS", annotations)
	}
	set := func(name, kind, annotations string) v1alpha1.Set {
		return r.set("metadata: {name: " + name + "}\nspec: {" + content(name, kind, annotations) + "}")
	}
	clustered := &v1alpha1.ClusterObjectSet{}
	r.decode("metadata: {name: "+r.name+", labels: {"+labelRig+": "+r.name+"}}\nspec: {"+content(r.name, "Widget", "")+"}", clustered)
	good := []v1alpha1.Set{set("plain", "Widget", ""), set("declared", "Widget", r.name+".objectset.core.component-operator.dev/missing-type-policy: wait"), clustered}
	wide := set("wide", "Globe", "")
	for _, s := range append(good, wide) {
		r.create(s)
		r.awaitCondition(s, available, "False/PreflightError", `Phase "b": `, "its type "+group+"/v1 ", " is not served")
		r.awaitCondition(s, progressing, "True/RollingOut")
		r.expectPhases(s, "a 1 1 1 0", "b 1 0 0 0", "c 1 0 0 0")
	}
	refusing := set("refusing", "Widget", r.name+".objectset.core.component-operator.dev/missing-type-policy: refuse")
	r.create(refusing)
	r.awaitCondition(refusing, available, "False/PreflightError", "type "+group+"/v1 Widget is unknown to the cluster")
	r.expectPhases(refusing, "a 1 0 0 0", "b 1 0 0 0", "c 1 0 0 0")
	for kind, scope := range map[string]string{"Widget": "Namespaced", "Globe": "Cluster"} {
		definition := newUnstructured(t, replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.GROUP}
spec:
  group: GROUP
  scope: SCOPE
  names: {kind: KIND, plural: PLURAL}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "PLURAL", strings.ToLower(kind)+"s", "GROUP", group, "SCOPE", scope, "KIND", kind))
		r.create(definition)
		t.Cleanup(func() {
			if err := r.client.Delete(context.WithoutCancel(t.Context()), definition); err != nil {
				t.Error(err)
			}
		})
	}
	for _, s := range append(good, refusing) {
		r.awaitCondition(s, available, "True/Available")
	}
	r.awaitCondition(wide, available, "False/PreflightError", `Phase "b": objects[0]: Globe.`+group+" NS/wide is cluster-scoped")
	if r.get(group+"/v1", "Globe", "wide") != nil {
		t.Error("a set without a service account has written outside of its namespace")
	}
	for _, s := range append(good, refusing, wide) {
		r.delete(s)
		r.awaitGone(s)
	}
}
