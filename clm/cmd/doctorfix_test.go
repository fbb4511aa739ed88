// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDoctorFixWritesRecordsOnly is about a release that has something left to do, which its record says: whoever may write
// Secrets in one namespace must not have the doctor, who may have all rights, create or delete anything.
func TestDoctorFixWritesRecordsOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "a", p.file("a.yaml", manifestOf("shared", "own", "also")))
	p.must("apply", "b", p.file("b.yaml", manifestOf("shared", "gone", "changed", "precious")), "--adopt", "always")
	// Not having waited, it has not deleted what it does not want any more.
	pod := "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: pod}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: example.com/none}]}}"
	p.must("apply", "b", p.file("b.yaml", manifestOf("shared", "gone", "changed")+pod), "--adopt", "always", "--no-wait")
	p.remove(configMapKind, "gone")
	p.change("changed", "by others")
	p.expectFindings([]string{"NotOwned shared", "Missing gone"})

	x := newProxy(t, nil)
	got := p.through(x).clm("doctor", "--fix", "-y")
	p.expect(got, exitChanges, "repaired: release PLACE/a, NotOwned: ConfigMap PLACE/shared")
	for _, request := range x.requests.All() {
		record := (request.Resource == "secrets" || request.Resource == "leases") && (request.Name == "" || strings.HasPrefix(request.Name, "clm"))
		if request.IsWrite() && !record {
			t.Errorf("written: %s %s", request.Method, request.Path)
		}
	}
	if owners := p.owner("shared") + p.owner("own") + p.owner("also") + p.owner("precious") + p.owner("gone"); owners != "baabnone" {
		t.Errorf("unexpected owners: %s", owners)
	}
	if diff := cmp.Diff(map[string]string{"value": "by others"}, p.configMap("changed")); diff != "" {
		t.Error(diff)
	}
	p.expectFindings([]string{"Missing gone"})
	want := []string{"Superseded: applied", "Ready: moved to release PLACE/b: ConfigMap PLACE/shared"}
	if diff := cmp.Diff(want, p.descriptions("a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.must("status", "a")
	p.must("drift", "a", "--exit-code")

	// What release b had left to do is done, and shown, by the next apply.
	p.expect(p.clm("drift", "b", "--correct", "-y"), 0, "ConfigMap PLACE/gone: restored", "ConfigMap PLACE/precious: deleted")
	p.must("delete", "a")
	if owners := p.owner("shared") + p.owner("own"); owners != "bnone" {
		t.Errorf("unexpected owners: %s", owners)
	}
	p.must("delete", "b")
}
