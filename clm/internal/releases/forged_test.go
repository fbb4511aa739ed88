// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memory returns how many bytes a function allocates, and how many of them are in use afterwards. Tests that call it
// are not parallel.
func memory(f func() any) (allocated, kept int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(result)
	return int64(after.TotalAlloc - before.TotalAlloc), int64(after.HeapAlloc) - int64(before.HeapAlloc) //nolint:gosec // they are far below the limit
}

// list is a JSON list of equal values that fills what a Secret may hold.
func list(value string) string {
	const size = maxIndex - 1000
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", size/(len(value)+1)), ",") + "]"
}

func indexSecret(namespace, name, data string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: prefix + name, Labels: map[string]string{recordLabel: recordRelease}}, Type: SecretType,
		Data: map[string][]byte{dataKey: []byte(data)},
	}
}

// TestForgedIndexes are Secrets that a user has written who wants the clm of somebody else to run out of memory.
//
//nolint:paralleltest // it measures the memory of the process
func TestForgedIndexes(t *testing.T) {
	for _, test := range []struct{ reason, data, want string }{
		{"revisions that are none", `{"version":1,"revisions":` + list(`{}`) + `}`, "values; must be at most 131072"},
		{"one that is none", `{"version":1,"revisions":[{"number":1},{"number":-1}]}`, "revisions[1] has number -1; must be at least 1"},
		{"a long time", `{"version":1,"created":"` + strings.Repeat("x", maxIndex-1000) + `"}`, "decoding its data: "},
	} {
		t.Run(test.reason, func(t *testing.T) {
			var release *Release
			allocated, kept := memory(func() any {
				release = listed(indexSecret("default", "demo", test.data))
				return release
			})
			if release.String() != "default/demo" || !strings.Contains(release.Problem, test.want) || len(release.Problem) > 1000 {
				t.Errorf("want %q, got %s: %.200s (%d bytes)", test.want, release, release.Problem, len(release.Problem))
			}
			if allocated > 150<<20 || kept > 1<<20 {
				t.Errorf("%d bytes of memory were allocated, %d are kept", allocated, kept)
			}
		})
	}
}

// TestListBesideForgedIndexes has 40 Secrets of almost 1 MiB each, half of which would be fine.
//
//nolint:paralleltest // it measures the memory of the process
func TestListBesideForgedIndexes(t *testing.T) {
	w := newWorld(t)
	w.create("demo")
	large := `{"version":1,"state":"Ready","message":"` + strings.Repeat("x", 10_000) + `","revisions":[` + strings.TrimSuffix(strings.Repeat(`{"number":1,"description":"`+strings.Repeat("y", 60)+`"},`, 9_000), ",") +
		`],"inventory":{"items":7,"checksum":"a"}}`
	for i := range 40 {
		data := large
		if i%2 == 1 {
			data = `{"version":1,"revisions":` + list(`{}`) + `}`
		}
		w.must(w.client.Create(t.Context(), indexSecret(w.namespace, fmt.Sprintf("forged-%02d", i), data)))
	}
	var found []*Release
	allocated, kept := memory(func() any {
		var err error
		found, err = w.store.List(t.Context(), w.namespace, nil)
		w.must(err)
		return found
	})
	if len(found) != 41 || found[0].Name != "demo" || found[0].Problem != "" || found[0].Current().Objects != 10 {
		t.Fatalf("want the good release, and 40 forged ones, got %d", len(found))
	}
	for i, release := range found[1:] {
		good := i%2 == 0
		if good != (release.Problem == "") || good && (release.Items() != 7 || release.Current().Number != 1 || len(release.Message) > maxMessage) {
			t.Errorf("%s: got problem %q, %d items", release, release.Problem, release.Items())
		}
	}
	if allocated > 2<<30 || kept > 4<<20 {
		t.Errorf("%d bytes of memory were allocated, %d are kept", allocated, kept)
	}
}

// TestChunksOfOthers has a record that names Secrets of its namespace which are no chunks of the release.
func TestChunksOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createWith(items(60, "a"))
	other := w.create("other")
	w.must(w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "password"}}))
	foreign := other.stored.index.chunksOf(1)[0]
	release := w.get("demo")
	for _, name := range []string{"password", foreign} {
		w.edit(release.stored.index.Inventory.Chunks[0], name)
		w.requests.Reset()
		broken, err := w.store.Get(t.Context(), w.namespace, "demo")
		expectDamage(t, err, "Secret "+w.namespace+"/"+name+": it is not a chunk of this list")
		broken.State, broken.Inventory = StateApplying, items(60, "a")
		w.must(w.store.Save(t.Context(), broken))
		if strings.Contains(fmt.Sprint(w.requests), "/"+name) {
			t.Errorf("want no request for %s, got\n%s", name, w.requests)
		}
		release = w.get("demo")
	}
	w.expectNoWaste(release)
	w.expectContent(w.get("other"), 1, content(10, "a"))
}

// FuzzIndex decodes what anybody may have written into the Secret of a release, and into its chunks.
func FuzzIndex(f *testing.F) {
	for _, text := range []string{
		``, `null`, `{}`, `{"version":3}`, `{"version":1,"revisions":[{"number":1}]}`, `{"version":1,"revisions":[{"number":1},{}]}`, `{"created":"x"}`,
		`{"values":{},"manifest":[{"apiVersion":"v1","kind":"A"},null]}`, `{"values":null}`, `{"values":{"a":1e999}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		release := listed(indexSecret("default", "demo", text))
		if len(release.Problem) > 2*maxDamage {
			t.Errorf("a text of %d bytes", len(release.Problem))
		}
		if decoded, err := decodeIndex([]byte(text)); err == nil {
			for _, revision := range decoded.Revisions {
				_ = decoded.chunksOf(revision.Number)
			}
			decoded.release("default", "demo").Prune(0, 1)
		}
		_, _ = decodeContent([]byte(text))
	})
}
