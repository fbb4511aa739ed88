// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
)

const finalizer = "chunks.example.io/finalizer"

func items(count int, length int) []chunks.Item {
	list := make([]chunks.Item, count)
	for i := range list {
		value, _ := json.Marshal(fmt.Sprintf("%d%s", i, strings.Repeat("x", length)))
		list[i] = chunks.Item{Key: fmt.Sprintf("item-%d", i), Value: value}
	}
	return list
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		items  []chunks.Item
		before int
		want   int
	}{
		{"little goes into one", items(4, 100), 0, 1},
		{"as many as needed, rounded up to a power of two", items(100, 100), 0, 16},
		{"the number stays as long as contents are not too small", items(60, 100), 16, 16},
		{"it is halved as often as necessary", items(20, 100), 16, 8},
		{"and doubled", items(200, 100), 16, 32},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			contents := chunks.Spread(test.items, test.before, 1000)
			if len(contents) != test.want {
				t.Errorf("want %d contents, got %d", test.want, len(contents))
			}
			values := 0
			for _, content := range contents {
				var decoded []string
				if err := json.Unmarshal(content, &decoded); err != nil {
					t.Fatal(err)
				}
				values += len(decoded)
				if len(content) > 2000 {
					t.Errorf("a content has %d bytes", len(content))
				}
			}
			if values != len(test.items) {
				t.Errorf("want %d values, got %d", len(test.items), values)
			}
		})
	}
}

func TestSpreadChangesOneContentPerItem(t *testing.T) {
	t.Parallel()
	before := chunks.Spread(items(100, 100), 0, 1000)
	changed := items(100, 100)
	slices.Reverse(changed)
	changed[50].Value = json.RawMessage(`"changed"`)
	after := chunks.Spread(changed, len(before), 1000)
	different := 0
	for i := range before {
		if string(before[i]) != string(after[i]) {
			different++
		}
	}
	if different != 1 || len(before) != len(after) {
		t.Errorf("want one of %d contents to change, got %d of %d", len(before), different, len(after))
	}
	if chunks.Checksum(before) == chunks.Checksum(after) {
		t.Error("want another checksum")
	}
}

// TestSpreadEndsWithALargeItem is about an item that no number of contents makes smaller.
func TestSpreadEndsWithALargeItem(t *testing.T) {
	t.Parallel()
	contents := chunks.Spread(append(items(10, 100), items(1, 5000)...), 0, 1000)
	again := chunks.Spread(append(items(10, 100), items(1, 5000)...), len(contents), 1000)
	if len(contents) > 64 || len(again) > 64 {
		t.Errorf("got %d and %d contents", len(contents), len(again))
	}
}

func newStore(t *testing.T, change func(*chunks.Options)) (*chunks.Store, client.Client, chunks.Options) {
	t.Helper()
	c := testenv.Client(t)
	options := chunks.Options{
		Kind: chunks.ConfigMap, Client: c, Reader: c, Namespace: testenv.Namespace(t), Prefix: "list-a", Labels: map[string]string{"chunks.example.io/owner": "a"},
		Annotations: map[string]string{"chunks.example.io/owner": "the owner a"}, ClaimKey: "chunks.example.io/claimed", Finalizer: finalizer, FieldOwner: "test",
	}
	if change != nil {
		change(&options)
	}
	return chunks.NewStore(options), c, options
}

func contents(texts ...string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = []byte(text)
	}
	return list
}

func mustWrite(t *testing.T, store *chunks.Store, list [][]byte, known chunks.Handles) chunks.Written {
	t.Helper()
	written, err := store.Write(t.Context(), list, known)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, kind := range []chunks.Kind{chunks.ConfigMap, chunks.Secret} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			store, c, options := newStore(t, func(o *chunks.Options) { o.Kind = kind })
			want := contents("[1]", "[2,3]", "[4]")
			first := mustWrite(t, store, want, nil)
			if len(first.Created) != 3 {
				t.Errorf("want 3 chunks to be created, got %v", first.Created)
			}
			found, err := store.Read(t.Context(), first.Names)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, found.Contents); diff != "" || len(found.Damage) > 0 {
				t.Errorf("contents (-want +got):\n%s\ndamage: %v", diff, found.Damage)
			}
			// One content changes; the chunks of the others are not looked at.
			second := mustWrite(t, store, contents("[1]", "[2,3,3]", "[4]"), found.Intact)
			if len(second.Created) != 1 {
				t.Errorf("want one chunk to be created, got %v", second.Created)
			}
			stale := maps.Clone(first.All)
			maps.DeleteFunc(stale, func(name string, _ chunks.Handle) bool { return slices.Contains(second.Names, name) })
			if complete, err := store.Remove(t.Context(), stale); !complete || err != nil {
				t.Errorf("want the old chunk to go, got %v, %v", complete, err)
			}
			listed, err := store.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(second.Names)), slices.Sorted(maps.Keys(listed))); diff != "" {
				t.Errorf("chunks (-want +got):\n%s", diff)
			}
			for name := range listed {
				object := &corev1.ConfigMap{}
				if kind == chunks.Secret {
					break
				}
				if err := c.Get(t.Context(), client.ObjectKey{Namespace: options.Namespace, Name: name}, object); err != nil {
					t.Fatal(err)
				}
				if object.Immutable == nil || !*object.Immutable || !controllerutil.ContainsFinalizer(object, finalizer) || len(object.OwnerReferences) > 0 {
					t.Errorf("want %s to be immutable, with a finalizer and without owner, got %+v", name, object.ObjectMeta)
				}
			}
			if complete, err := store.Remove(t.Context(), listed); !complete || err != nil {
				t.Errorf("want all chunks to go, got %v, %v", complete, err)
			}
		})
	}
}

// TestRemovalIsSpoiled is about two processes, one of which refers again to what the other is about to remove.
func TestRemovalIsSpoiled(t *testing.T) {
	t.Parallel()
	store, _, _ := newStore(t, nil)
	seen := mustWrite(t, store, contents("[1]"), nil)
	claimed := mustWrite(t, store, contents("[1]"), nil)
	if len(claimed.Created) > 0 {
		t.Error("want the chunk to be found")
	}
	if complete, err := store.Remove(t.Context(), seen.All); complete || err != nil {
		t.Errorf("want the removal to fail, got %v, %v", complete, err)
	}
	if found, err := store.Read(t.Context(), claimed.Names); err != nil || len(found.Damage) > 0 {
		t.Errorf("want the chunk to be there, got %v, %v", found, err)
	}
}

// TestAChunkIsClaimedBetweenReleaseAndDeletion is the last moment in which a removal can be spoiled: the finalizer is
// off already.
func TestAChunkIsClaimedBetweenReleaseAndDeletion(t *testing.T) {
	t.Parallel()
	other, c, options := newStore(t, nil)
	written := mustWrite(t, other, contents("[1]"), nil)
	options.Client = meddling{Client: c, beforeDelete: func() { mustWrite(t, other, contents("[1]"), nil) }}
	if complete, err := chunks.NewStore(options).Remove(t.Context(), written.All); complete || err != nil {
		t.Errorf("want the removal to fail, got %v, %v", complete, err)
	}
	chunk := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: options.Namespace, Name: written.Names[0]}, chunk); err != nil {
		t.Fatal(err)
	}
	if chunk.DeletionTimestamp != nil || !controllerutil.ContainsFinalizer(chunk, finalizer) {
		t.Errorf("want the chunk to stay, protected by its finalizer, got %+v", chunk.ObjectMeta)
	}
}

// meddling lets another client act right before a deletion.
type meddling struct {
	client.Client
	beforeDelete func()
}

func (m meddling) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	m.beforeDelete()
	return m.Client.Delete(ctx, object, options...)
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// damage changes the chunk as another client.
		damage func(t *testing.T, c client.Client, chunk *corev1.ConfigMap)
		want   string
	}{
		{
			reason: "it is missing",
			damage: func(t *testing.T, c client.Client, chunk *corev1.ConfigMap) { t.Helper(); force(t, c, chunk) },
			want:   "it does not exist",
		}, {
			reason: "it has another content",
			damage: func(t *testing.T, c client.Client, chunk *corev1.ConfigMap) {
				t.Helper()
				var other bytes.Buffer
				writer := gzip.NewWriter(&other)
				_, _ = writer.Write([]byte("[9]"))
				_ = writer.Close()
				replace(t, c, chunk, map[string][]byte{"content": other.Bytes()})
			},
			want: "its content does not match its name",
		}, {
			reason: "it has no content",
			damage: func(t *testing.T, c client.Client, chunk *corev1.ConfigMap) { t.Helper(); replace(t, c, chunk, nil) },
			want:   "decompressing its content: EOF",
		}, {
			reason: "it is not compressed",
			damage: func(t *testing.T, c client.Client, chunk *corev1.ConfigMap) {
				t.Helper()
				replace(t, c, chunk, map[string][]byte{"content": []byte("nonsense, and long enough")})
			},
			want: "decompressing its content: gzip: invalid header",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			store, c, options := newStore(t, nil)
			written := mustWrite(t, store, contents("[1]", "[2]"), nil)
			test.damage(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: written.Names[0]}})
			found, err := store.Read(t.Context(), written.Names)
			if err != nil {
				t.Fatal(err)
			}
			want := chunks.Found{Contents: contents("[2]"), Damage: []string{"ConfigMap " + options.Namespace + "/" + written.Names[0] + ": " + test.want}}
			if diff := cmp.Diff(want, chunks.Found{Contents: found.Contents, Damage: found.Damage}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Writing the same content again replaces it.
			mustWrite(t, store, contents("[1]", "[2]"), found.Intact)
			if found, err = store.Read(t.Context(), written.Names); err != nil || len(found.Damage) > 0 {
				t.Errorf("want the damage to be repaired, got %v, %v", found.Damage, err)
			}
		})
	}
}

// force deletes a chunk although it has a finalizer.
func force(t *testing.T, c client.Client, chunk *corev1.ConfigMap) {
	t.Helper()
	if err := c.Patch(t.Context(), chunk, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), chunk); err != nil {
		t.Fatal(err)
	}
}

// replace puts another object in the place of a chunk.
func replace(t *testing.T, c client.Client, chunk *corev1.ConfigMap, data map[string][]byte) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(chunk), chunk); err != nil {
		t.Fatal(err)
	}
	force(t, c, chunk)
	chunk.ResourceVersion, chunk.UID, chunk.BinaryData = "", "", data
	if err := c.Create(t.Context(), chunk); err != nil {
		t.Fatal(err)
	}
}

func TestAChunkThatIsBeingDeletedIsReplaced(t *testing.T) {
	t.Parallel()
	store, c, options := newStore(t, nil)
	written := mustWrite(t, store, contents("[1]"), nil)
	if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: written.Names[0]}}); err != nil {
		t.Fatal(err)
	}
	if found, err := store.Read(t.Context(), written.Names); err != nil || len(found.Contents) != 1 {
		t.Errorf("want the finalizer to hold the chunk, got %v, %v", found, err)
	}
	again := mustWrite(t, store, contents("[1]"), nil)
	if again.All[again.Names[0]].UID == written.All[written.Names[0]].UID {
		t.Error("want another object")
	}
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	t.Parallel()
	store, c, options := newStore(t, nil)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: store.Name([]byte("[1]"))}}
	if err := c.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	_, err := store.Write(t.Context(), contents("[1]"), nil)
	if err == nil || !strings.Contains(err.Error(), "already exists, and belongs to something else: label chunks.example.io/owner") {
		t.Errorf("want the write to be refused, got %v", err)
	}
	if listed, err := store.List(t.Context()); err != nil || len(listed) > 0 {
		t.Errorf("want it not to be listed, got %v, %v", listed, err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	store, _, _ := newStore(t, nil)
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(rand.IntN(256)) //nolint:gosec // no secret
	}
	if _, err := store.Write(t.Context(), [][]byte{[]byte("[1]"), random}, nil); !errors.Is(err, chunks.ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got %v", err)
	}
	if _, _, err := chunks.Divide(make([]byte, 64<<20+1)); !errors.Is(err, chunks.ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got %v", err)
	}
	if listed, err := store.List(t.Context()); err != nil || len(listed) > 0 {
		t.Errorf("want nothing to be written, got %v, %v", listed, err)
	}
}

// TestOtherFailuresAreNoDamage plays a server that does not answer as it should.
func TestOtherFailuresAreNoDamage(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		apierrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New("no")),
		apierrors.NewServiceUnavailable("later"), context.DeadlineExceeded,
	} {
		store, _, _ := newStore(t, func(o *chunks.Options) { o.Reader = failing{o.Reader, err} })
		if _, got := store.Read(t.Context(), []string{store.Name([]byte("[1]"))}); !errors.Is(got, err) {
			t.Errorf("want %v, got %v", err, got)
		}
	}
}

type failing struct {
	client.Reader
	err error
}

func (f failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}
