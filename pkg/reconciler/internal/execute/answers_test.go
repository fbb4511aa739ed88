// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/cluster"
)

// class is how the engine classifies an error.
type class struct {
	gone, noMatch, outdated, immutable, refusal bool
	awaited                                     string
}

func classify(err error) class {
	reason, _ := Awaitable(err)
	return class{gone: IsGone(err), noMatch: cluster.IsNoMatch(err), outdated: IsOutdated(err), immutable: IsImmutable(err), refusal: IsRefusal(err), awaited: reason}
}

// TestErrorsOfTheServer provokes the errors, because their texts are no contract.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	c, namespace := testenv.Client(t), testenv.Namespace(t)
	apply := func(text string, changes ...func(*unstructured.Unstructured)) error {
		object := testenv.Object(t, strings.ReplaceAll(text, "NS", namespace))
		for _, change := range changes {
			change(object)
		}
		return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner("us"))
	}
	version := func(rv string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { u.SetResourceVersion(rv) }
	}
	uid := func(value types.UID) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { u.SetUID(value) }
	}
	const another = types.UID("00000000-0000-0000-0000-000000000000")
	const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, immutable: true, data: {a: b}}"
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: NS}, spec: {selector: {matchLabels: {a: X}}, template: {metadata: {labels: {a: X}}, spec: {containers: [{name: c, image: i}]}}}}"
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: NS}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: X}]}}}}"
	const binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: NS}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: X}}"
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: NS}, spec: {storageClassName: X, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	x := func(text, value string) string { return strings.ReplaceAll(text, "X", value) }
	for _, object := range []string{configMap, x(deployment, "one"), x(job, "one"), x(binding, "one"), x(claim, "one")} {
		if err := apply(object); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		reason string
		err    error
		want   class
	}{
		{"create only, and it exists", apply(configMap, version("1")), class{outdated: true}},
		{"an outdated version", apply(configMap, version("2")), class{outdated: true}},
		{"another UID", apply(configMap, uid(another)), class{outdated: true, refusal: true}},
		{"a UID, and it is absent", apply(strings.Replace(configMap, "name: a", "name: b", 1), uid(another)), class{outdated: true}},
		{"an immutable ConfigMap", apply(strings.Replace(configMap, "a: b", "a: c", 1)), class{immutable: true, refusal: true}},
		{"the selector of a Deployment", apply(x(deployment, "two")), class{immutable: true, refusal: true}},
		{"the template of a Job", apply(x(job, "two")), class{immutable: true, refusal: true}},
		{"the role of a binding", apply(x(binding, "two")), class{immutable: true, refusal: true}},
		{"the class of a claim", apply(x(claim, "two")), class{immutable: true, refusal: true}},
		{"no such namespace", apply(strings.Replace(configMap, namespace, "x", 1), func(u *unstructured.Unstructured) { u.SetNamespace("none-" + namespace) }), class{gone: true, awaited: "namespace none-" + namespace + " does not exist"}},
		{"no such type", apply("{apiVersion: x.example.com/v1, kind: X, metadata: {name: a, namespace: NS}}"), class{gone: true, noMatch: true, awaited: "its type is not served"}},
		{"a bad value", apply(strings.Replace(x(deployment, "one"), "selector:", "replicas: many, selector:", 1)), class{refusal: true}},
		{"an unknown field", apply(strings.Replace(x(deployment, "one"), "selector:", "nonsense: 1, selector:", 1)), class{refusal: true}},
		{"a value that is refused by validation", apply(strings.Replace(x(deployment, "one"), "selector:", "replicas: -1, selector:", 1)), class{refusal: true}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if tc.err == nil {
				t.Fatal("expected an error")
			}
			if diff := cmp.Diff(tc.want, classify(tc.err), cmp.AllowUnexported(class{})); diff != "" {
				t.Errorf("class of %q (-want +got):\n%s", tc.err, diff)
			}
		})
	}
}
