// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/deltas"
	"github.com/component-operator/runtime/clm/internal/packs"
)

// stored returns the number of Secrets in the namespace, and how many bytes these have. None has more than the server allows.
func (w *world) stored() (count, bytes int) {
	w.Helper()
	list := &corev1.SecretList{}
	w.must(w.client.List(w.Context(), list, client.InNamespace(w.namespace)))
	for _, secret := range list.Items {
		size := 0
		for _, data := range secret.Data {
			size += len(data)
		}
		if size > corev1.MaxSecretSize {
			w.Errorf("Secret %s has %d bytes", secret.Name, size)
		}
		bytes += size
	}
	return len(list.Items), bytes
}

// TestLargeReleaseNeedsFewSecrets has ten revisions of a release with 123 objects, some of them definitions of types with up to 500 kB.
func TestLargeReleaseNeedsFewSecrets(t *testing.T) {
	t.Parallel()
	for reason, version := range map[string]func(revision int) string{
		"three objects change":  func(int) string { return "1.0.0" },
		"all objects do change": func(revision int) string { return fmt.Sprintf("1.%d.0", revision) },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			store, release := NewStore(Options{Client: w.client}), w.newRelease("demo")
			first := stack(0, version(1))
			raw, err := encodeContent(first)
			w.must(err)
			whole, err := deltas.Encode(raw, nil)
			w.must(err)
			most := 1 + (len(whole)+packs.Standard.Chunk-1)/packs.Standard.Chunk + packs.Standard.SmallPacks
			w.must(store.Create(t.Context(), release, first))
			w.requests.Reset()
			written := [][]byte{raw}
			for number := 2; number <= 10; number++ {
				content := stack(number, version(number))
				w.must(store.AddRevision(t.Context(), release, Revision{}, content))
				raw, err := encodeContent(content)
				w.must(err)
				written = append(written, raw)
				count, size := w.stored()
				t.Logf("%d revisions: %d Secrets, %d bytes; a whole content has %d, which are %d in JSON", number, count, size, len(whole), len(raw))
				if number == 3 && (count > 4 || size > len(whole)*11/10) || count > most || size > len(whole)*13/10 {
					t.Errorf("%d revisions take %d Secrets with %d bytes", number, count, size)
				}
			}
			// A chunk and the index are written for each revision, and removed are the chunks that others have replaced.
			if writes := w.writes(); writes > 9*2+8 {
				t.Errorf("got %d writes for nine revisions:\n%s", writes, w.requests)
			}
			found := w.get("demo")
			for i, want := range written {
				content, err := store.Content(t.Context(), found, int64(i+1))
				w.must(err)
				if got, err := encodeContent(content); err != nil || !bytes.Equal(want, got) {
					t.Errorf("revision %d has another content: %d bytes instead of %d, error %v", i+1, len(got), len(want), err)
				}
			}
			w.expectNoWaste(found)
		})
	}
}

// TestASmallContentKeepsNoLargeOne: after a release has become much smaller, its large content goes with the revision that had it.
func TestASmallContentKeepsNoLargeOne(t *testing.T) {
	t.Parallel()
	for _, digits := range []int{2_000, 20_000} {
		w := newWorld(t)
		store, release := NewStore(Options{Client: w.client}), w.newRelease("demo")
		w.must(store.Create(t.Context(), release, stack(0, "1.0.0")))
		_, large := w.stored()
		random := rand.New(rand.NewPCG(1, 0))
		small := Content{Values: map[string]any{}}
		for i := range digits {
			small.Values[fmt.Sprint(i)] = fmt.Sprint(random.Uint64())
		}
		w.must(store.AddRevision(t.Context(), release, Revision{}, small))
		release.Current().State = RevisionReady
		release.Prune(1)
		w.must(store.Save(t.Context(), release))
		w.expectContent(release, 2, small)
		raw, err := encodeContent(small)
		w.must(err)
		if _, left := w.stored(); left > len(raw) {
			t.Errorf("a content of %d bytes takes %d bytes, after one that took %d", len(raw), left, large)
		}
	}
}

// TestHistoriesOfAllKinds adds and forgets revisions of contents that resemble each other or do not. After each step, all contents can be read that are kept.
func TestHistoriesOfAllKinds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			random := rand.New(rand.NewPCG(seed, 0))
			release := w.create("demo")
			contents := map[int64]Content{1: content(10, "a")}
			for range 30 {
				number := release.Current().Number + 1
				made := content(1+random.IntN(20), []string{"a", "b"}[random.IntN(2)])
				switch random.IntN(4) {
				case 0:
					made.Values["noise"] = fmt.Sprint(random.Uint64(), random.Uint64(), strings.Repeat(fmt.Sprint(random.Uint64()), 3))
				case 1:
					made = contents[max(1, number-3)]
				}
				contents[number] = made
				w.must(w.store.AddRevision(t.Context(), release, Revision{}, made))
				w.expectFewSmallPacks(release)
				if release.Current().State = []RevisionState{RevisionReady, RevisionFailed}[random.IntN(2)]; random.IntN(2) == 0 {
					release.Prune(2 + random.IntN(6))
				} else {
					release.PruneBytes(int64(300 + random.IntN(2000)))
				}
				w.must(w.store.Save(t.Context(), release))
				if random.IntN(3) == 0 {
					release = w.get("demo")
				}
				for _, revision := range release.Revisions {
					w.expectContent(release, revision.Number, contents[revision.Number])
				}
				w.expectNoWaste(release)
				if t.Failed() {
					t.Fatalf("after revision %d", number)
				}
			}
		})
	}
}

// packOf returns the pack that has the content of a revision.
func packOf(release *Release, number int64) packs.Pack {
	for _, pack := range release.stored.index.Packs {
		if slices.ContainsFunc(pack.Frames, func(frame packs.Frame) bool { return frame.Revision == number }) {
			return pack
		}
	}
	return packs.Pack{}
}

// expectFewSmallPacks checks what limits the number of chunks.
func (w *world) expectFewSmallPacks(release *Release) {
	w.Helper()
	needed := map[int64]bool{}
	for _, revision := range release.Revisions {
		for _, frame := range packOf(release, revision.Number).Frames {
			if frame.Revision == revision.Number {
				needed[frame.Revision], needed[frame.Base] = true, true
			}
		}
	}
	small := 0
	for _, pack := range release.stored.index.Packs {
		bytes := 0
		for _, frame := range pack.Frames {
			if needed[frame.Revision] {
				bytes += frame.Bytes
			}
		}
		if bytes < smallLayout.Small {
			small++
		}
	}
	if small > smallLayout.SmallPacks {
		w.Errorf("want at most %d small packs, got %d: %+v", smallLayout.SmallPacks, small, release.stored.index.Packs)
	}
}

// TestSmallPacksAreMerged counts Secrets and requests.
func TestSmallPacksAreMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store, release := NewStore(Options{Client: w.client}), w.newRelease("demo")
	w.must(store.Create(t.Context(), release, content(10, "1")))
	var secrets, writes []int
	for number := 2; number <= 9; number++ {
		w.requests.Reset()
		w.must(store.AddRevision(t.Context(), release, Revision{}, content(10, fmt.Sprint(number))))
		secrets, writes = append(secrets, len(w.secrets("clm.demo"))), append(writes, w.writes())
	}
	if diff := cmp.Diff([]int{2, 3, 4, 1, 2, 3, 4, 1}, secrets); diff != "" {
		t.Errorf("Secrets beside the index (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 2, 2, 6, 2, 2, 2, 6}, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	for number := 1; number <= 9; number++ {
		w.expectContent(release, int64(number), content(10, fmt.Sprint(number)))
	}
}

// TestContentIsMovedWhileItIsRead has another process merge packs after the index was read, so that chunks are gone that the index named.
func TestContentIsMovedWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := NewStore(Options{Client: w.client})
	release := w.newRelease("demo")
	w.must(store.Create(t.Context(), release, content(10, "1")))
	seen := w.get("demo")
	for number := 2; number <= 5; number++ {
		w.must(store.AddRevision(t.Context(), release, Revision{}, content(10, fmt.Sprint(number))))
	}
	w.expectContent(seen, 1, content(10, "1"))
	release.Current().State = RevisionReady
	release.Prune(1)
	w.must(store.Save(t.Context(), release))
	w.must(store.AddRevision(t.Context(), release, Revision{}, content(3, "6")))
	for range packs.Standard.SmallPacks {
		w.must(store.AddRevision(t.Context(), release, Revision{}, content(3, "7")))
	}
	if _, err := store.Content(t.Context(), seen, 1); !errors.Is(err, ErrOutdated) {
		t.Errorf("want ErrOutdated for a revision that was removed since, got %v", err)
	}
	w.must(store.Remove(t.Context(), w.get("demo")))
	_, err := store.Content(t.Context(), seen, 1)
	expectDamage(t, err, "revision 1 of release", "it does not exist")
	w.create("demo")
	if _, err := store.Content(t.Context(), seen, 1); !errors.Is(err, ErrOutdated) {
		t.Errorf("want ErrOutdated for a revision of another release of that name, got %v", err)
	}
}

// TestBaseIsGoneWhileARevisionIsAdded has another process write the record meanwhile: that is noticed, and nothing is lost.
func TestBaseIsGoneWhileARevisionIsAdded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.create("demo")
	config := w.client.Config()
	var once sync.Once
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/secrets/clm-") {
				once.Do(func() {
					w.must(w.store.AddRevision(t.Context(), other, Revision{}, content(3, "z")))
					other.Current().State = RevisionReady
					other.Prune(1)
					w.must(w.store.Save(t.Context(), other))
				})
			}
			return next.RoundTrip(request)
		})
	})
	store := smallStore(newClient(t, config))
	release := w.get("demo")
	if err := store.AddRevision(t.Context(), release, Revision{}, content(10, "b")); !errors.Is(err, ErrOutdated) {
		t.Fatalf("want ErrOutdated, got %v", err)
	}
	found := w.get("demo")
	w.equal("record", other, found)
	w.must(store.AddRevision(t.Context(), found, Revision{}, content(10, "b")))
	w.expectContent(found, 2, content(3, "z"))
	w.expectContent(found, 3, content(10, "b"))
	w.expectNoWaste(found)
}

func TestPruneBytes(t *testing.T) {
	t.Parallel()
	available := []packs.Pack{
		{Chunks: []string{"a"}, Frames: []packs.Frame{{Revision: 1, Bytes: 1000}}},
		{Chunks: []string{"b"}, Frames: []packs.Frame{{Revision: 2, Base: 1, Bytes: 10}, {Revision: 3, Base: 1, Bytes: 20}}},
		{Chunks: []string{"c"}, Frames: []packs.Frame{{Revision: 4, Bytes: 500}}},
		{Chunks: []string{"d"}, Frames: []packs.Frame{{Revision: 5, Base: 4, Bytes: 30}}},
	}
	for _, test := range []struct {
		reason string
		states string
		limit  int64
		want   string
	}{
		{"little enough", "SSSSR", 1560, "[1 2 3 4 5]"},
		{"a base stays as long as another revision needs it", "SSSSR", 1550, "[3 4 5]"},
		{"the base goes with the last one that needs it", "SSSSR", 1549, "[4 5]"},
		{"the current one stays, with its base", "SSSSR", 1, "[5]"},
		{"the newest that was ready stays", "SSFFF", 1, "[2 5]"},
		{"none was ready", "FFFFA", 1, "[5]"},
		{"the newest that was ready stays, and the oldest of the others go first", "SRFFF", 1570, "[1 2 3 4 5]"},
		{"nor is it forgotten before the others", "RFFFF", 1530, "[1 4 5]"},
	} {
		release := &Release{stored: stored{index: index{Packs: available}}}
		for i, state := range test.states {
			release.Revisions = append(release.Revisions, Revision{
				Number: int64(i + 1),
				State:  map[rune]RevisionState{'S': RevisionSuperseded, 'R': RevisionReady, 'F': RevisionFailed, 'A': RevisionApplying}[state],
			})
		}
		release.PruneBytes(test.limit)
		var got []int64
		for _, revision := range release.Revisions {
			got = append(got, revision.Number)
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: want %s, got %v", test.reason, test.want, got)
		}
	}
	empty := &Release{}
	empty.PruneBytes(0)
	if len(empty.Revisions) > 0 {
		t.Errorf("got %v", empty.Revisions)
	}
}

// TestForgedPacks were written by a user who may write Secrets.
func TestForgedPacks(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`[{"frames":[{"revision":1,"bytes":1}]}]`:                                         "packs[0].chunks: it is empty",
		`[{"chunks":["a"]},{"chunks":["a"],"frames":[{"revision":0,"bytes":1}]}]`:         "packs[1].frames[0]: revision 0, base 0, 1 bytes",
		`[{"chunks":["a"],"frames":[{"revision":1,"bytes":-1}]}]`:                         "revisions must be at least 1, and bytes from 1 to 67108864",
		`[{"chunks":["a"],"frames":[{"revision":1,"bytes":1,"base":-1}]}]`:                "base -1",
		`[{"chunks":["a"],"frames":[{"revision":1,"bytes":9223372036854775807}]}]`:        "9223372036854775807 bytes; revisions must be",
		`[{"chunks":["a"],"frames":[{"revision":1,"bytes":1},{"revision":2,"bytes":0}]}]`: "packs[0].frames[1]: revision 2, base 0, 0 bytes",
	} {
		if _, err := decodeIndex([]byte(`{"version":2,"packs":` + raw + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", raw, want, err)
		}
	}
}

// TestForgedFrames name what is not there, each other, or themselves.
func TestForgedFrames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		forge  func(stored []packs.Pack)
		want   string
	}{
		{"the base is not there", func(stored []packs.Pack) { stored[1].Frames[0].Base = 7 }, "revision 7, from which it differs, is not stored whole"},
		{"it is its own base", func(stored []packs.Pack) { stored[1].Frames[0].Base = 2 }, "revision 2, from which it differs, is not stored whole"},
		{"each is the base of the other", func(stored []packs.Pack) { stored[0].Frames[0].Base = 2 }, "is not stored whole"},
		{"it has no base", func(stored []packs.Pack) { stored[1].Frames[0].Base = 0 }, "decompressing a content"},
		{"it is longer than its pack", func(stored []packs.Pack) { stored[1].Frames[0].Bytes = 1 << 20 }, "revision 2 has 1048576 bytes from byte 0 of"},
		{"it is shorter", func(stored []packs.Pack) { stored[1].Frames[0].Bytes = 3 }, "decompressing a content"},
		{"it is in the pack of the other", func(stored []packs.Pack) { stored[1].Chunks = stored[0].Chunks }, "decompressing a content"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			release := w.create("demo")
			w.must(w.store.AddRevision(t.Context(), release, Revision{}, content(11, "a")))
			stored := slices.Clone(release.stored.index.Packs)
			if len(stored) != 2 || stored[1].Frames[0].Base != 1 {
				t.Fatalf("want the second revision to be stored as a difference, got %+v", stored)
			}
			for i := range stored {
				stored[i].Frames = slices.Clone(stored[i].Frames)
			}
			test.forge(stored)
			forged := release.Clone()
			forged.stored.index.Packs = stored
			_, err := w.store.Content(t.Context(), forged, 2)
			expectDamage(t, err, "revision 2 of release", test.want)
		})
	}
}
