// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

func TestAlterations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, kind, declared, stored string
		want                           []string
	}{
		{"another value", "{apiVersion: v1, kind: Service}", "{spec: {type: NodePort}}", "{spec: {type: ClusterIP}}", []string{"admission changed .spec.type"}},
		{
			"zero values of a typed object", "{apiVersion: v1, kind: Service}",
			`{spec: {type: "", sessionAffinity: "", ports: [{port: 80, targetPort: 0, nodePort: 0, protocol: ""}]}, status: {a: 0}}`,
			"{spec: {type: ClusterIP, sessionAffinity: None, ports: [{port: 80, targetPort: 80, nodePort: 30000, protocol: TCP}]}, status: {a: 1}}", nil,
		},
		{"a zero that is set", "{apiVersion: apps/v1, kind: Deployment}", "{spec: {replicas: 0, minReadySeconds: 0}}", "{spec: {replicas: 2, minReadySeconds: 5}}", []string{"admission changed .spec.replicas"}},
		{
			"a zero in an inlined structure", "{apiVersion: v1, kind: Pod}", "{spec: {containers: [{livenessProbe: {periodSeconds: 0, httpGet: {port: 0}}}]}}",
			"{spec: {containers: [{livenessProbe: {periodSeconds: 10, httpGet: {port: 80}}}]}}", nil,
		},
		{"the user 0, and false", "{apiVersion: v1, kind: Pod}", "{spec: {hostNetwork: false, securityContext: {runAsUser: 0}}}", "{spec: {hostNetwork: true, securityContext: {runAsUser: 1}}}", []string{"admission changed .spec.hostNetwork", "admission changed .spec.securityContext.runAsUser"}},
		{"an empty entry of a map, and of a list", "{apiVersion: v1, kind: Pod}", `{spec: {nodeSelector: {a: ""}, containers: [{args: [""]}]}}`, "{spec: {nodeSelector: {a: b}, containers: [{args: [a]}]}}", []string{"admission changed .spec.containers[0].args[0]", "admission changed .spec.nodeSelector.a"}},
		{"an unknown type", "{apiVersion: example.com/v1, kind: Widget}", "{spec: {size: 0}}", "{spec: {size: 1}}", []string{"admission changed .spec.size"}},
		{"what is equal, empty or null", "{apiVersion: v1, kind: Pod}", "{spec: {a: null, b: {}, c: 1.0, d: 1000m, e: [1], f: x}}", "{spec: {a: 1, b: {c: 1}, c: 1, d: 1, e: [1, 2]}}", nil},
	} {
		declared, stored := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		for _, text := range []string{tc.kind, tc.declared} {
			if err := yaml.Unmarshal([]byte(text), &declared.Object); err != nil {
				t.Fatal(err)
			}
		}
		if err := yaml.Unmarshal([]byte(tc.stored), &stored.Object); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, Alterations(declared, stored, clientgoscheme.Scheme), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
		}
	}
}
