// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
)

// lose removes a Secret in spite of its finalizer.
func (w *world) lose(name string) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	w.must(w.client.Patch(w.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	w.must(client.IgnoreNotFound(w.client.Delete(w.Context(), secret)))
}

func expectDamage(t *testing.T, err error, texts ...string) {
	t.Helper()
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		t.Fatalf("want a DamagedError, got %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("want %q, got %q", text, err)
		}
	}
}

// TestLostChunkOfARevision must not prevent work on the release.
func TestLostChunkOfARevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.create("demo")
	w.must(w.store.AddRevision(t.Context(), release, Revision{}, content(10, "b")))
	lost := release.stored.index.chunksOf(1)[0]
	w.lose(lost)
	release = w.get("demo")
	_, err := w.store.Content(t.Context(), release, 1)
	expectDamage(t, err, "revision 1 of release "+w.namespace+"/demo is damaged", lost, "it does not exist", "the rest of the release is not affected")
	w.expectContent(release, 2, content(10, "b"))
	w.must(w.store.AddRevision(t.Context(), release, Revision{}, content(10, "c")))
	w.expectContent(release, 3, content(10, "c"))
	if _, err := w.store.Content(t.Context(), release, 7); err == nil || !strings.HasSuffix(err.Error(), "its content is no longer available; available revisions: 1, 2, 3") {
		t.Errorf("got %v", err)
	}
}

// TestLostInventoryCanBeReplaced plays a repair that finds the dependents by other means.
func TestLostInventoryCanBeReplaced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		damage func(w *world, release *Release)
		want   []string
		keeps  bool
	}{
		{
			reason: "a chunk is lost",
			damage: func(w *world, release *Release) { w.lose(release.stored.index.Inventory.Chunks[0]) },
			want:   []string{"the inventory of release", "it does not exist"}, keeps: true,
		}, {
			reason: "an item is missing",
			damage: func(w *world, _ *Release) { w.edit(`"items":60`, `"items":61`) },
			want:   []string{"the inventory of release", "there are 60 items; the record lists 61"}, keeps: true,
		}, {
			reason: "the index is nonsense",
			damage: func(w *world, _ *Release) { w.edit(`{"version"`, `"version"`) },
			want:   []string{"the record of release", "clm.demo: decoding its data"},
		}, {
			reason: "the index is empty",
			damage: func(w *world, release *Release) { w.edit(string(release.stored.raw), "") },
			want:   []string{"the record of release", "it has no data"},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.createWith(items(60, "a"))
			test.damage(w, w.get("demo"))
			release, err := w.store.Get(t.Context(), w.namespace, "demo")
			expectDamage(t, err, append(test.want, w.namespace+"/demo", "clm doctor")...)
			if len(release.Inventory) > 0 || (len(release.Revisions) == 1) != test.keeps {
				t.Errorf("got %+v", release)
			}
			list, err := w.store.List(t.Context(), w.namespace, nil)
			w.must(err)
			if len(list) != 1 || list[0].Name != "demo" || (list[0].Problem == "") != test.keeps {
				t.Errorf("got %+v", list)
			}
			release.State, release.Inventory = StateApplying, items(60, "a")
			w.must(w.store.Save(t.Context(), release))
			w.equal("after the repair", release, w.get("demo"))
			w.expectNoWaste(release)
		})
	}
}

// edit replaces a part of the index.
func (w *world) edit(before, after string) {
	w.Helper()
	secret := &corev1.Secret{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "clm.demo"}, secret))
	raw := string(secret.Data[dataKey])
	if !strings.Contains(raw, before) {
		w.Fatalf("%q is not in %s", before, raw)
	}
	secret.Data[dataKey] = []byte(strings.Replace(raw, before, after, 1))
	w.must(w.client.Update(w.Context(), secret))
}

func TestForeignSecretOfThatName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "clm.demo"}}))
	if _, err := w.store.Get(t.Context(), w.namespace, "demo"); err == nil || !strings.HasSuffix(err.Error(), `its type is "Opaque"; must be "clm.cs.sap.com/release"`) {
		t.Errorf("got %v", err)
	}
	if err := w.store.AddRevision(t.Context(), w.newRelease("demo"), firstRevision(), content(1, "a")); !errors.Is(err, ErrOutdated) {
		t.Errorf("got %v", err)
	}
}

// TestNamespaceThatIsBeingDeleted has a release that must still be found, worked on and removed.
func TestNamespaceThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createWith(items(60, "a"))
	w.must(w.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	testenv.Eventually(t, func() (bool, string) {
		secret := &corev1.Secret{}
		w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "clm.demo"}, secret))
		return secret.DeletionTimestamp != nil, "the index is not being deleted"
	})
	lock := w.lock(w.store, w.lockOptions("first@host/1"))
	w.must(lock.Fence(t.Context()))
	release := w.get("demo")
	for _, step := range []struct{ left, recorded int }{
		{58, 60}, // that needs chunks, which cannot be created
		{5, 5},   // that fits into the index
		{0, 0},
	} {
		release.State, release.Inventory = StateDeleting, items(step.left, "b")
		w.must(w.store.Save(t.Context(), release))
		if release = w.get("demo"); len(release.Inventory) != step.recorded {
			t.Errorf("want %d items to be recorded when %d are left, got %d", step.recorded, step.left, len(release.Inventory))
		}
	}
	w.must(w.store.Remove(t.Context(), release))
	testenv.Eventually(t, func() (bool, string) {
		err := w.client.Get(t.Context(), client.ObjectKey{Name: w.namespace}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), fmt.Sprint("the namespace is still there: ", err)
	})
}

// TestInventoryIsWrittenWhileItIsRead has another process write the record after its index was read: then chunks that
// the index names are gone.
func TestInventoryIsWrittenWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.create("demo")
	release.Inventory = items(100, "a")
	w.must(w.store.Save(t.Context(), release))
	var once sync.Once
	config := testenv.Intercept(testenv.Config(t), func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/secrets/clm.demo") {
			once.Do(func() {
				release.Inventory = items(100, "b")
				w.must(w.store.Save(t.Context(), release))
			})
		}
		return response, err
	})
	got, err := smallStore(newClient(t, config)).Get(t.Context(), w.namespace, "demo")
	w.must(err)
	w.equal("the release as it was written last", release, got)
}

// TestRecordsThatCannotBeOurs were forged by a user who may write Secrets.
func TestRecordsThatCannotBeOurs(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`[null]`: "item 0 does not name an object",
		`[{}]`:   "item 0 does not name an object",
		`[{"version":"v1","kind":"ConfigMap","namespace":"a","name":"a"},{"version":"v1","kind":"ConfigMap"}]`: "item 1 does not name an object",
	} {
		packed, err := chunks.Pack([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		count := 1 + strings.Count(content, "},{")
		if _, _, damage, err := readInventory(t.Context(), nil, &chunks.List{Items: count, Checksum: chunks.Checksum([][]byte{[]byte(content)}), Packed: packed}); err != nil || damage != want {
			t.Errorf("%s: got %q and error %v, want %q", content, damage, err, want)
		}
	}
}
