// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
			"0 and the empty text may mean that nothing is set", "{apiVersion: v1, kind: Service}",
			`{spec: {type: "", ports: [{port: 80, nodePort: 0}]}, status: {a: 0}}`, "{spec: {type: ClusterIP, ports: [{port: 80, nodePort: 30000}]}, status: {a: 1}}", nil,
		},
		{"false, and an entry of a list", "{apiVersion: v1, kind: Pod}", "{spec: {hostNetwork: false, args: [a]}}", "{spec: {hostNetwork: true, args: [b]}}", []string{"admission changed .spec.args[0]", "admission changed .spec.hostNetwork"}},
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
		if diff := cmp.Diff(tc.want, Alterations(declared, stored), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
		}
	}
}
