// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRevisionsTakeOneSecretEach counts Secrets and writes while revisions are added, used again and removed.
func TestRevisionsTakeOneSecretEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.create("demo")
	for number, state := range []string{2: "b", 3: "c", 4: "a"} {
		if state == "" {
			continue
		}
		w.requests.Reset()
		w.must(w.store.AddRevision(t.Context(), release, Revision{}, content(10, state)))
		if secrets, writes := len(w.secrets("clm.demo")), w.writes(); secrets != min(number, 3) || number < 4 && writes != 2 {
			t.Errorf("revision %d: got %d Secrets beside the index, and these writes:\n%s", number, secrets, w.requests)
		}
	}
	release.Current().State = RevisionReady
	release.Prune(2, 0)
	w.must(w.store.Save(t.Context(), release))
	w.expectNoWaste(release)
	found := w.get("demo")
	w.expectContent(found, 3, content(10, "c"))
	// The first revision had the same content, and the same Secret.
	w.expectContent(found, 4, content(10, "a"))
}

// TestLargeContents have an object and values that do not fit into one Secret.
func TestLargeContents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release, large := w.newRelease("demo"), content(3, "a")
	large.Values["large"] = noise(1_600_000)
	large.Manifest[1].Object["data"] = map[string]any{"large": noise(1_600_000)}
	w.must(w.store.AddRevision(t.Context(), release, firstRevision(), large))
	list := &corev1.SecretList{}
	w.must(w.client.List(t.Context(), list, client.InNamespace(w.namespace)))
	for _, secret := range list.Items {
		if size := len(secret.Data["content"]); size > 900<<10 {
			t.Errorf("Secret %s has %d bytes", secret.Name, size)
		}
	}
	if count := len(list.Items); count < 3 || count > 5 {
		t.Errorf("got %d Secrets", count)
	}
	w.expectContent(w.get("demo"), 1, large)
	w.expectNoWaste(w.get("demo"))
}

// TestPrune forgets revisions until no more than a number of them are left, or no more than a number of bytes: the
// contents have 100, 200, 300 bytes, and so on.
func TestPrune(t *testing.T) {
	t.Parallel()
	byNumber := func(limit int) func(*Release) { return func(release *Release) { release.Prune(limit, 0) } }
	byBytes := func(limit int64) func(*Release) { return func(release *Release) { release.Prune(0, limit) } }
	for _, test := range []struct {
		reason string
		states string
		prune  func(*Release)
		want   string
	}{
		{"few enough", "SR", byNumber(2), "[1 2]"},
		{"the oldest go", "SSSR", byNumber(2), "[3 4]"},
		{"the newest that was ready stays", "SSFFA", byNumber(2), "[2 4 5]"},
		{"none was ready", "FFFA", byNumber(2), "[3 4]"},
		{"the current one stays", "SR", byNumber(1), "[2]"},
		{"there is no limit", "SR", byNumber(0), "[1 2]"},
		{"little enough", "SSSSR", byBytes(1500), "[1 2 3 4 5]"},
		{"the oldest go first", "SSSSR", byBytes(1499), "[2 3 4 5]"},
		{"the current one stays, however large it is", "SSSSR", byBytes(1), "[5]"},
		{"the newest that was ready stays, however large it is", "SSFFF", byBytes(1), "[2 5]"},
		{"the newest that was ready is not forgotten before the others", "RFFFF", byBytes(1100), "[1 4 5]"},
	} {
		release := &Release{}
		for i, state := range test.states {
			revision := Revision{
				Number: int64(i + 1), Bytes: int64(100 * (i + 1)),
				State: map[rune]RevisionState{'S': RevisionSuperseded, 'R': RevisionReady, 'F': RevisionFailed, 'A': RevisionApplying}[state],
			}
			release.Revisions = append(release.Revisions, revision)
		}
		test.prune(release)
		var got []int64
		for _, revision := range release.Revisions {
			got = append(got, revision.Number)
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: want %s, got %v", test.reason, test.want, got)
		}
	}
}
