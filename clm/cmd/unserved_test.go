// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestVersionThatIsNotServedAnyMore is about a release whose objects were applied with a version of their type that has
// gone, as with a new version of the operator to which the type belongs.
func TestVersionThatIsNotServedAnyMore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	group := p.namespace + ".example.com"
	crd := p.serve(group, map[string]bool{"v1alpha1": true, "v1": true})
	t.Cleanup(func() {
		if err := p.client.Delete(context.WithoutCancel(t.Context()), crd); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	source := func(version string) string {
		return p.file("app.yaml", manifestOf("one", "two")+"\n---\n{apiVersion: "+group+"/"+version+", kind: Thing, metadata: {name: t}, spec: {a: 1}}")
	}
	p.must("apply", "web", source("v1alpha1"))
	p.must("apply", "other", p.file("other.yaml", manifestOf("three")))
	p.serve(group, map[string]bool{"v1alpha1": false, "v1": true})
	testenv.Eventually(t, func() (bool, string) {
		got := p.clm("apply", "web", source("v1alpha1"), "--dry-run=client")
		return got.code != 0, got.stdout + got.stderr
	})
	message := "Thing." + group + " t: apiVersion " + group + "/v1alpha1 of kind Thing is not served by the cluster; it serves " + group + "/v1"
	p.expect(p.clm("apply", "web", source("v1alpha1")), 1, message)
	for _, args := range [][]string{
		{"drift", "web"}, {"drift", "web", "--correct"}, {"orphan", "web", "cm/one"}, {"adopt", "web", "cm/one"}, {"rollback", "web", "1"}, {"move", "cm/one", "--from", "web", "--to", "other"},
	} {
		got := p.clm(args...)
		p.expect(got, 1, message, "a recorded revision of release PLACE/web is no longer accepted", "clm apply web SOURCE... -n PLACE")
	}
	p.must("status", "web")
	p.must("apply", "web", source("v1"))
	p.expect(p.clm("rollback", "web", "1"), 1, message)
	p.must("drift", "web", "--exit-code")
	p.must("delete", "web")
	if names := strings.Join(p.names(group+"/v1", "Thing"), " "); names != "" {
		t.Errorf("left behind: %s", names)
	}
	p.must("apply", "web", source("v1"))
	if err := p.client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		got := p.clm("doctor", "web")
		return got.code == exitChanges && strings.Contains(got.stdout, "does not exist, because its type is not served") &&
			strings.Contains(got.stdout, "when the type is served again, to restore it: clm drift web --correct -n "+p.namespace), got.stdout + got.stderr
	})
	p.must("delete", "web")
	p.must("delete", "other")
}

// serve makes a type Thing of the group, whose versions are served or not.
func (p *place) serve(group string, versions map[string]bool) *apiextensionsv1.CustomResourceDefinition {
	p.Helper()
	preserve := true
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things." + group}}
	change := func() {
		crd.Spec.Group, crd.Spec.Scope = group, apiextensionsv1.NamespaceScoped
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", ListKind: "ThingList", Plural: "things", Singular: "thing"}
		crd.Spec.Versions = nil
		for version, served := range versions {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
				Name: version, Served: served, Storage: version == "v1",
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}},
			})
		}
	}
	change()
	err := p.client.Create(p.Context(), crd)
	if client.IgnoreAlreadyExists(err) != nil {
		p.Fatal(err)
	}
	testenv.Eventually(p.T, func() (bool, string) {
		if err := p.client.Get(p.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err.Error()
		}
		change()
		err := p.client.Update(p.Context(), crd)
		established := false
		for _, condition := range crd.Status.Conditions {
			established = established || condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
		}
		return err == nil && established, "it is not established"
	})
	return crd
}
