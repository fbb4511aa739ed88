// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestBack returns a release from clm to Helm, as page migrating.md describes it: no object is deleted or created
// again, and afterwards Helm removes what its chart no longer has.
func TestBack(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]helmTool{"Helm3": helm3{}, "Helm4": helm4{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			chart := p.chart("1.0.0", templates)
			p.must(tool.install(p, chart, values("red", 80), false))
			p.clm(0, "adopt", "web", "--from-helm", "--delete-helm-record", "-y")
			p.clm(0, "apply", "web", chart, "--set", "color=green,port=80")
			before := p.states()

			p.clm(0, "orphan", "web", "cm/app", "cm/kept", "service/web", "deployment/web", "-y")
			p.clm(0, "delete", "web", "-y")
			if err := tool.install(p, chart, values("blue", 80), false); err == nil || !strings.Contains(err.Error(), "ownership") {
				t.Errorf("want Helm to refuse objects that it does not own, got %v", err)
			}
			p.must(tool.install(p, chart, values("blue", 80), true))
			p.giveUpFields()

			after := p.states()
			for _, object := range []string{"ConfigMap app", "ConfigMap kept", "Service web", "Deployment web"} {
				if uid, _, _ := strings.Cut(before[object], " "); uid == "" || !strings.HasPrefix(after[object], uid) {
					t.Errorf("%s was deleted: %q has become %q", object, before[object], after[object])
				}
			}
			p.expectNone(fmt.Sprint(p.get("v1", "ConfigMap", "app")), "clm.cs.sap.com")
			less := p.chart("2.0.0", plain+"\n-- app.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {color: pink}}\n")
			p.must(tool.upgrade(p, less, values("pink", 80)))
			if diff := cmp.Diff(map[string]string{"color": "pink"}, p.data("app")); diff != "" {
				t.Errorf("unexpected data:\n%s", diff)
			}
			if p.get("v1", "Service", "web") != nil {
				t.Error("Helm has not deleted the Service that the chart no longer has")
			}
		})
	}
}

// giveUpFields ends the field ownership of clm, which server-side apply of Helm 4 respects, and removes its annotation.
func (p *place) giveUpFields() {
	p.Helper()
	for _, key := range [][3]string{{"v1", "ConfigMap", "app"}, {"v1", "ConfigMap", "kept"}, {"v1", "Service", "web"}, {"apps/v1", "Deployment", "web"}} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": key[0], "kind": key[1]}}
		object.SetNamespace(p.namespace)
		object.SetName(key[2])
		p.giveUp(object)
	}
}

// giveUp does with an object what kubectl apply --server-side does if no field is declared, and then what kubectl
// annotate does.
func (p *place) giveUp(object *unstructured.Unstructured) {
	p.Helper()
	p.must(p.client.Apply(p.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("clm.cs.sap.com")))
	unmark := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"clm.cs.sap.com/digest":null}}}`))
	p.must(p.client.Patch(p.Context(), object, unmark, client.FieldOwner("kubectl-annotate")))
}
