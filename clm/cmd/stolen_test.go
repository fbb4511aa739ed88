// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestStolenDependents is about a release whose objects exist and are ready, but belong to another owner.
func TestStolenDependents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", manifestOf("marked", "unmarked", "taken", "own"))
	p.must("apply", "a", source)
	p.must("status", "a")
	p.must("wait", "a")
	p.must("apply", "b", p.file("b.yaml", manifestOf("taken")), "--adopt", "always")
	p.as("somebody", configMapKind, "marked", `{"metadata":{"labels":{"clm.cs.sap.com/owner-id":"x"}}}`)
	p.as("somebody", configMapKind, "unmarked", `{"metadata":{"labels":{"clm.cs.sap.com/owner-id":null}}}`)

	got := p.clm("status", "a")
	if got.code != exitNotReady || !strings.Contains(got.stdout, "Degraded: not all dependents are ready, although the release became ready ") || !strings.Contains(got.stdout, "✓ 1 ready  ▸ 3 not ready") {
		t.Errorf("expected that the release is not ready, got exit code %d: %s", got.code, got.stdout)
	}
	var problems []string
	status := unstructured.Unstructured{}
	if err := status.UnmarshalJSON([]byte(p.clm("status", "a", "-o", "json").stdout)); err != nil {
		t.Fatal(err)
	}
	unready, _, _ := unstructured.NestedSlice(status.Object, "status", "unready")
	for _, problem := range unready {
		content := unstructured.Unstructured{Object: problem.(map[string]any)}
		problems = append(problems, p.stable(p.text(content, "object", "name")+" "+p.text(content, "status")+": "+p.text(content, "message")))
	}
	slices.Sort(problems)
	want := []string{
		"marked NotOwned: another client has changed its label, so it does not belong to the release",
		"taken NotOwned: belongs to release PLACE/b",
		"unmarked NotOwned: another client has removed its label; it is still a dependent, and will be deleted when the release no longer renders it",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("each object must be told (-want +got):\n%s", diff)
	}
	p.expect(p.timesOut("taken: waiting", "wait", "a", "--timeout", "10m"), exitNotReady, "▸ ConfigMap PLACE/taken: waiting for ", ": belongs to release PLACE/b\n")
	if tree := p.must("tree", "a").stdout; strings.Count(tree, "NotOwned") != 3 {
		t.Errorf("expected that three were stolen, got %s", tree)
	}
	p.must("status", "b")

	p.must("adopt", "a", "cm/marked", "cm/unmarked", "cm/taken")
	p.must("status", "a")
	p.must("wait", "a")
	p.must("delete", "a")
	p.must("delete", "b")
}
