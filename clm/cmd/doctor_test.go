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
