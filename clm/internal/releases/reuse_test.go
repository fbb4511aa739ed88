// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/packs"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/testenv"
)

// forge replaces a chunk by one with another content, as a user can who may write Secrets.
func (w *world) forge(name string) {
	w.Helper()
	secret := &corev1.Secret{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, secret))
	w.lose(name)
	packed, err := chunks.Pack([]byte("something else"))
	w.must(err)
	secret.UID, secret.ResourceVersion, secret.Finalizers = "", "", nil
	for key := range secret.Data {
		secret.Data[key] = packed
	}
	w.must(w.client.Create(w.Context(), secret))
}

// TestDamagedChunkIsNotUsedAgain stores a content again, of which the record has a chunk that is damaged since.
func TestDamagedChunkIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		layout  packs.Layout
		between []Content
	}{
		{"a small content, stored by itself", packs.Standard, []Content{content(10, "b")}},
		{"a large content, which nothing can be the base of, because that is damaged", packs.Layout{Whole: 1, Small: 1, SmallPacks: 4, Chunk: 1 << 20}, nil},
		{"a content in several chunks", smallLayout, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			store := NewStore(Options{Client: w.client, layout: test.layout})
			release := w.newRelease("demo")
			w.must(store.Create(t.Context(), release, content(10, "a")))
			for _, between := range test.between {
				w.must(store.AddRevision(t.Context(), release, Revision{}, between))
			}
			names := release.stored.index.catalog().ChunksOf(1)
			forged := names[len(names)-1]
			w.forge(forged)
			release = w.get("demo")
			_, err := store.Content(t.Context(), release, 1)
			expectDamage(t, err, forged, "its content does not match its name")

			w.must(store.AddRevision(t.Context(), release, Revision{}, content(10, "a")))
			number := release.Current().Number
			if again := release.stored.index.catalog().ChunksOf(number); fmt.Sprint(again) != fmt.Sprint(names) {
				t.Fatalf("want the content to be in the same chunks again, %v, got %v", names, again)
			}
			w.expectContent(release, number, content(10, "a"))
			// That repairs the earlier revision as well.
			w.expectContent(w.get("demo"), 1, content(10, "a"))
			w.expectNoWaste(release)
		})
	}
}

// TestChunkOfOneselfIsNotReadAgain counts requests for what this process has written itself, and for what it uses again.
func TestChunkOfOneselfIsNotReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := NewStore(Options{Client: w.client})
	release := w.newRelease("demo")
	w.must(store.Create(t.Context(), release, content(10, "a")))
	reads := func() int {
		return w.requests.Count(func(request testenv.Request) bool {
			return !request.IsWrite() && strings.HasPrefix(request.Name, "clm-")
		})
	}
	for step, want := range []int{0, 1, 0} {
		if step == 1 {
			release = w.get("demo")
		}
		w.requests.Reset()
		w.must(store.AddRevision(t.Context(), release, Revision{}, content(10, "a")))
		if got := reads(); got != want {
			t.Errorf("step %d: want %d reads of chunks, got:\n%s", step, want, w.requests)
		}
	}
}

// TestFullIndex has revisions with long descriptions.
func TestFullIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.create("demo")
	for release.Current().Number < 4 {
		w.must(w.store.AddRevision(t.Context(), release, Revision{Description: strings.Repeat("x", 300_000)}, content(1, fmt.Sprint(release.Current().Number))))
	}
	before, writes := w.get("demo"), w.writes()
	err := w.store.AddRevision(t.Context(), release, Revision{Description: strings.Repeat("x", 300_000)}, content(1, "5"))
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "including 5 revisions; must be at most 1048576; to keep fewer revisions: --history-max") {
		t.Errorf("got %v", err)
	}
	if w.writes() != writes {
		t.Errorf("want nothing to be written, got:\n%s", w.requests)
	}
	w.equal("record", before, release)
}

// TestPruningOfManyRevisions has so many that time in proportion to the square of their number would be noticed by whoever runs this test.
func TestPruningOfManyRevisions(t *testing.T) {
	t.Parallel()
	const count = 100_000
	release := &Release{}
	for number := int64(1); number <= count; number++ {
		release.Revisions = append(release.Revisions, Revision{Number: number, State: RevisionSuperseded})
		frame := packs.Frame{Revision: number, Bytes: 1}
		if number > 1 {
			frame.Base = 1
		}
		release.stored.index.Packs = append(release.stored.index.Packs, packs.Pack{Chunks: []string{fmt.Sprint(number)}, Frames: []packs.Frame{frame}})
	}
	release.PruneBytes(11)
	// The base of all others stays.
	if got := len(release.Revisions); got != 10 || release.Revisions[0].Number != count-9 {
		t.Errorf("got %d revisions from %d on", got, release.Revisions[0].Number)
	}
}
