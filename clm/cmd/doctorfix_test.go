// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
