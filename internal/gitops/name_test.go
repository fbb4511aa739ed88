// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestGeneratedName: whatever may make a hook run again makes another name, and nothing else does.
func TestGeneratedName(t *testing.T) {
	t.Parallel()
	hook := func(base, image string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"generateName": base}, "spec": map[string]any{"image": image},
		}}
	}
	name := func(base, image string, phase Phase, revision string) string {
		got, err := GeneratedName(hook(base, image), base, phase, "default/shop", revision)
		if err != nil {
			t.Fatal(err)
		}
		if problems := validation.IsDNS1123Label(got); len(problems) > 0 || !strings.HasPrefix(got, base[:min(len(base), 53)]) {
			t.Errorf("name %q: %v", got, problems)
		}
		return got
	}
	first := name("migrate-", "a", PreSync, "1")
	if again := name("migrate-", "a", PreSync, "1"); again != first {
		t.Errorf("got %s, and then %s", first, again)
	}
	for reason, other := range map[string]string{
		"another phase":    name("migrate-", "a", PostSync, "1"),
		"another revision": name("migrate-", "a", PreSync, "2"),
		"another manifest": name("migrate-", "b", PreSync, "1"),
		"a long name":      name(strings.Repeat("long", 30), "a", PreSync, "1"),
	} {
		if other == first {
			t.Errorf("%s has the same name", reason)
		}
	}
}

// TestPhaseName: names that would be too long are cut, and differ all the same.
func TestPhaseName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 14)
	seen := map[string]string{}
	for _, name := range []string{"a", long, long + "a", long + "ab", long + "abcdef", long + "abcdeg"} {
		got, err := PhaseName(name, PostSync)
		if err != nil || len(validation.IsDNS1123Label(got)) > 0 || !strings.HasSuffix(got, "-postsync") || seen[got] != "" {
			t.Errorf("%s: got %q, %v; other: %q", name, got, err, seen[got])
		}
		seen[got] = name
	}
	if got, _ := PhaseName("migrate", SyncFail); got != "migrate-syncfail" {
		t.Errorf("got %q", got)
	}
}
