// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestAmbiguousNames has objects of the same kind and name in two namespaces. No command chooses one of them, or takes both.
func TestAmbiguousNames(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := testenv.Namespace(t)
	object := func(namespace string) string {
		return fmt.Sprintf("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: same, namespace: %s}}\n", namespace)
	}
	p.must("apply", "web", p.file("web.yaml", object(p.namespace)+object(other)))
	p.must("apply", "rest", p.file("rest.yaml", configMap("rest", "1")))
	for _, args := range [][]string{
		{"logs", "web", "cm/same"},
		{"logs", "web", "ConfigMap/same"},
		{"orphan", "web", "cm/same"},
		{"adopt", "web", "cm/same"},
		{"move", "configmap/same", "--from", "web", "--to", "rest"},
	} {
		for _, namespace := range []string{p.namespace, other} {
			p.expect(p.clm(args...), exitRefused, "same matches several objects in ", "ConfigMap "+namespace+"/same", "specify the group or the namespace")
		}
	}
	p.expect(p.clm("logs", "web", "cm/"+other+"/same"), 0)
	p.must("move", "configmap/"+other+"/same", "--from", "web", "--to", "rest")
	p.expect(p.clm("logs", "web", "cm/same"), 0)
	p.must("delete", "web")
	p.must("delete", "rest")
}
