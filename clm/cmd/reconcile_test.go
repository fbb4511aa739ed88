// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestReconcile has a component annotated, and no other object.
func TestReconcile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	group := p.namespace + ".example.com"
	p.must("apply", "types", p.file("types.yaml", strings.Replace(thingDefinition, "{type: object}", "{type: object, x-kubernetes-preserve-unknown-fields: true}", 1)))
	for name, state := range map[string]string{"web": "Error", "new": ""} {
		p.create(testenv.Object(t, "{apiVersion: "+group+"/v1, kind: Thing, metadata: {name: "+name+"}, status: {state: "+state+"}}"))
	}
	got := p.clm("reconcile", "things."+group+"/web", "thing."+group+"/new", "thing."+group+"/none")
	p.expect(got, exitRefused, "Thing.PLACE.example.com PLACE/new is no component: no operator has reported its status.state", `"none" not found`)
	if want := "Thing." + group + " " + p.namespace + "/web: reconciliation requested\n"; got.stdout != want {
		t.Errorf("got %q, want %q", got.stdout, want)
	}
	for name, want := range map[string]bool{"web": true, "new": false} {
		thing := testenv.Object(t, "{apiVersion: "+group+"/v1, kind: Thing}")
		if err := p.client.Get(t.Context(), apitypes.NamespacedName{Namespace: p.namespace, Name: name}, thing); err != nil {
			t.Fatal(err)
		}
		if got := thing.GetAnnotations()["clm.cs.sap.com/reconcile-at"] != ""; got != want {
			t.Errorf("%s: annotated: %v", name, got)
		}
		if err := p.client.Delete(t.Context(), thing); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	p.must("delete", "types")
}
