// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
)

// mark is a patch that makes an object look as if it belonged to a release.
func (p *place) mark(release string) string {
	owner := "clm.cs.sap.com/" + p.namespace + "/" + release
	return `{"metadata":{"labels":{"clm.cs.sap.com/owner-id":"` + manifest.OwnerLabel(owner) + `"},"annotations":{"clm.cs.sap.com/owner-id":"` + owner + `"}}}`
}

func (p *place) create(object client.Object) {
	p.Helper()
	object.SetNamespace(p.namespace)
	if err := p.client.Create(p.Context(), object); err != nil {
		p.Fatal(err)
	}
}

// findings are the kinds of what the doctor finds, with the objects.
func (p *place) findings(args ...string) []string {
	p.Helper()
	got := p.clm(append([]string{"doctor", "-o", "json"}, args...)...)
	if got.code == 1 {
		p.Fatal(got.stderr)
	}
	var findings []string
	for _, item := range p.items(got.stdout) {
		findings = append(findings, strings.TrimSpace(p.text(item, "status", "kind")+" "+p.text(item, "status", "object", "name")))
	}
	if (len(findings) > 0) != (got.code == exitChanges) {
		p.Errorf("exit code %d with %d findings", got.code, len(findings))
	}
	return findings
}

func (p *place) expectFindings(want []string, args ...string) {
	p.Helper()
	if diff := cmp.Diff(want, p.findings(args...)); diff != "" {
		p.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestDoctorFindsObjects(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", manifestOf("fine", "gone", "stolen", "unmarked")))
	p.must("apply", "other", p.file("other.yaml", manifestOf("theirs")))
	p.expectFindings(nil)
	p.remove(configMapKind, "gone")
	p.as("thief", configMapKind, "stolen", p.mark("other"))
	p.as("somebody", configMapKind, "unmarked", `{"metadata":{"labels":{"clm.cs.sap.com/owner-id":null}}}`)
	p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
	p.as("somebody", configMapKind, "extra", p.mark("web"))
	// A copy of an object of the release, marks included, does not belong to it.
	copied := &corev1.ConfigMap{Data: map[string]string{"value": "x"}}
	if err := json.Unmarshal([]byte(p.mark("web")), copied); err != nil {
		t.Fatal(err)
	}
	copied.Name = "copy"
	p.create(copied)

	got := p.clm("doctor")
	if got.code != exitChanges {
		t.Errorf("expected exit code %d, got %d: %s", exitChanges, got.code, got.stderr)
	}
	expectGolden(t, "doctor.txt", p.stable(got.stdout))
	expectGolden(t, "doctor.json", p.stable(p.clm("doctor", "-o", "json").stdout))
	p.expectFindings([]string{"Missing gone", "NotOwned stolen", "NotOwned unmarked", "Unrecorded extra"}, "web")

	if got := p.clm("doctor", "--fix", "-y"); got.code != exitChanges || !strings.Contains(got.stderr, "repaired: release "+p.namespace+"/web, Unrecorded") {
		t.Errorf("expected that only a part can be repaired, got exit code %d: %s", got.code, got.stderr)
	}
	p.expectFindings([]string{"Missing gone", "NotOwned stolen", "NotOwned unmarked"}, "web")
	if p.configMap("extra") != nil {
		t.Error("expected extra to be there, without data")
	}
	if p.owner("extra") != "web" {
		t.Error("what was recorded must not be touched")
	}
	p.must("adopt", "web", "cm/stolen")
	// The other release has recorded meanwhile what it does not own any more.
	p.expectFindings([]string{"NotOwned stolen"})
	p.must("apply", "other", p.file("other.yaml", manifestOf("theirs", "more")))
	p.expectFindings(nil)
	if owners := p.owner("gone") + p.owner("stolen") + p.owner("unmarked"); owners != "webwebweb" {
		t.Errorf("unexpected owners: %s", owners)
	}
	if p.owner("extra") != "none" {
		t.Error("what the release does not render goes with its next change")
	}
	p.must("delete", "web")
	p.must("delete", "other")
}

func TestDoctorFindsRecords(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", manifestOf("one", "two"))
	p.must("apply", "damaged", p.file("damaged.yaml", manifestOf("one", "two")))
	p.must("apply", "lost", p.file("lost.yaml", manifestOf("three")))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "clm.lost"}}
	p.as("somebody", secretKind, "clm.lost", `{"metadata":{"finalizers":null}}`)
	if err := p.client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	p.as("somebody", secretKind, "clm.damaged", `{"data":{"release":"Z2FyYmFnZQ=="}}`)
	if got := p.clm("apply", "damaged", source); got.code != 1 || !strings.Contains(got.stderr, "clm doctor") {
		t.Errorf("expected to be sent to the doctor, got exit code %d: %s", got.code, got.stderr)
	}
	p.expectFindings([]string{"DamagedRecord", "LostRecord"})
	got := p.must("doctor", "--fix", "-y")
	expectGolden(t, "doctor-records.txt", p.stable(got.stdout+got.stderr))
	p.expectFindings(nil)
	p.must("apply", "damaged", p.file("one.yaml", manifestOf("one")))
	if owners := p.owner("one") + " " + p.owner("two"); owners != "damaged none" {
		t.Errorf("what the release does not render any more must go, got %s", owners)
	}
	p.must("delete", "lost")
	if owner := p.owner("three"); owner != "none" {
		t.Errorf("expected that three is deleted with its release, got %s", owner)
	}
	p.must("delete", "damaged")
}

// TestDoctorFixWritesRecordsOnly is about a release that has something left to do, which its record says: whoever may
// write Secrets in one namespace must not have the doctor, who may have all rights, create or delete anything.
func TestDoctorFixWritesRecordsOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "b", p.file("b.yaml", manifestOf("gone", "changed", "precious")))
	// Not having waited, it has not deleted what it does not want any more.
	pod := "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: pod}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: example.com/none}]}}"
	p.must("apply", "b", p.file("b.yaml", manifestOf("gone", "changed")+pod), "--no-wait")
	p.remove(configMapKind, "gone")
	p.change("changed", "by others")
	p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}})
	p.as("somebody", configMapKind, "extra", p.mark("b"))
	p.expectFindings([]string{"Missing gone", "Unrecorded extra"})

	x := newProxy(t, nil)
	got := p.through(x).clm("doctor", "--fix", "-y")
	p.expect(got, exitChanges, "repaired: release PLACE/b, Unrecorded: ConfigMap PLACE/extra")
	for _, request := range x.requests.All() {
		record := (request.Resource == "secrets" || request.Resource == "leases") && (request.Name == "" || strings.HasPrefix(request.Name, "clm"))
		if request.IsWrite() && !record {
			t.Errorf("written: %s %s", request.Method, request.Path)
		}
	}
	if owners := p.owner("extra") + p.owner("precious") + p.owner("gone"); owners != "bbnone" {
		t.Errorf("unexpected owners: %s", owners)
	}
	if diff := cmp.Diff(map[string]string{"value": "by others"}, p.configMap("changed")); diff != "" {
		t.Error(diff)
	}
	p.expectFindings([]string{"Missing gone"})

	// What the release had left to do is done, and shown, by the next operation.
	p.expect(p.clm("drift", "b", "--correct", "-y"), 0, "ConfigMap PLACE/gone: restored", "ConfigMap PLACE/precious: deleted", "ConfigMap PLACE/extra: deleted")
	p.must("delete", "b")
}

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
