// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
)

// forge makes a ConfigMap look as if a release of another namespace had written it, which any user with write access
// there can do.
func (p *place) forge(name, release string) {
	p.Helper()
	owner := "clm.cs.sap.com/" + release
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetNamespace(p.namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{"clm.cs.sap.com/owner-id": manifest.OwnerLabel(owner)})
	object.SetAnnotations(map[string]string{"clm.cs.sap.com/owner-id": owner})
	if err := p.client.Apply(p.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("clm.cs.sap.com")); err != nil {
		p.Fatal(err)
	}
}

// TestDoctorBelievesNoMarksElsewhere has a user with write access to one namespace mark objects there as those of other
// releases.
func TestDoctorBelievesNoMarksElsewhere(t *testing.T) {
	t.Parallel()
	prod, team := newPlace(t), newPlace(t)
	prod.must("apply", "shop", prod.file("app.yaml", manifestOf("one")))
	team.forge("trap", prod.namespace+"/shop")
	team.forge("ghost", prod.namespace+"/ghost")
	const proves = "proves nothing, because any user with write access there can set"
	got := prod.clm("doctor", "--fix", "-y")
	prod.expect(got, exitChanges, "Unrecorded  ConfigMap "+team.namespace+"/trap", "LostRecord", proves, "--trust-namespace "+team.namespace)
	if strings.Contains(got.stdout+got.stderr, "with --fix") || strings.Contains(got.stderr, "repaired") {
		t.Errorf("there is nothing to be repaired: %s%s", got.stdout, got.stderr)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: prod.namespace, Name: "clm.ghost"}}
	if err := prod.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a record was written for whoever wants it: %v", err)
	}
	if dependents := prod.must("ls", "-o", `jsonpath={.items[?(@.metadata.name=="shop")].status.dependents}`).stdout; dependents != "1" {
		t.Errorf("want 1 dependent, got %q", dependents)
	}

	// A repair that is due takes nothing with it that does not count.
	prod.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
	prod.as("somebody", configMapKind, "extra", prod.mark("shop"))
	prod.expect(prod.clm("doctor", "shop", "--fix", "-y"), exitChanges, "repaired: release PLACE/shop, Unrecorded: ConfigMap PLACE/extra")
	prod.expectFindings([]string{"Unrecorded trap"}, "shop")

	// The user trusts the namespace by a flag.
	prod.must("doctor", "shop", "--fix", "-y", "--trust-namespace", team.namespace)
	prod.expectFindings(nil, "shop")
	prod.must("delete", "shop")
	if owner := team.owner("trap"); owner != "none" {
		t.Errorf("want what is recorded by now to go, got owner %q", owner)
	}
}

// TestDoctorBelievesMarksWhereTheReleaseIs is about namespaces in which a release has other objects, or is to have
// some.
func TestDoctorBelievesMarksWhereTheReleaseIs(t *testing.T) {
	t.Parallel()
	prod, other := newPlace(t), newPlace(t)
	elsewhere := strings.Replace(configMap("there", "1"), "name: there", "name: there, namespace: "+other.namespace, 1)
	prod.must("apply", "shop", prod.file("app.yaml", configMap("one", "1")+elsewhere))
	other.forge("more", prod.namespace+"/shop")
	prod.expect(prod.clm("doctor", "shop", "--fix", "-y"), 0, "repaired: release PLACE/shop, Unrecorded: ConfigMap "+other.namespace+"/more")

	prod.must("delete", "shop")
	if owner := other.owner("more"); owner != "none" {
		t.Errorf("unexpected owner %q", owner)
	}
}
