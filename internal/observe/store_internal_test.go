// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/status"
)

const label = "op.example.com/owner-id"

// storeWorld is a feed without a server: events come in the order that a test wants.
type storeWorld struct {
	t        *testing.T
	feed     *feed
	notified []string
}

func newStoreWorld(t *testing.T) *storeWorld {
	w := &storeWorld{t: t}
	reader := &Reader{OwnerLabel: label, Manager: "us", Judges: judges.New("op.example.com", status.NewAnalyzer("op.example.com", status.Options{}))}
	cache := &Cache{options: Options{Reader: reader, Notify: func(owner string) { w.notified = append(w.notified, owner) }}}
	w.feed = newFeed(&kind{cache: cache, changed: make(chan struct{})}, "")
	w.feed.kind.feeds = map[string]*feed{"": w.feed}
	cache.kinds = map[schema.GroupVersionKind]*kind{w.feed.kind.gvk: w.feed.kind}
	if err := w.feed.Replace(nil, "10"); err != nil {
		t.Fatal(err)
	}
	return w
}

// state is an object at a resource version; its generation is zero unless given.
func state(version int, owner string, generation int64) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName("a")
	u.SetUID("u")
	u.SetResourceVersion(strconv.Itoa(version))
	u.SetGeneration(generation)
	u.SetLabels(map[string]string{label: owner})
	return u
}

// expensive gives an object a condition that is not evaluated while events wait.
func expensive(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetAnnotations(map[string]string{"op.example.com/ready-when": `lists.range(10000).all(x, x < 10000)`})
	return u
}

func (w *storeWorld) update(u *unstructured.Unstructured) { w.must(w.feed.Update(u)) }
func (w *storeWorld) add(u *unstructured.Unstructured)    { w.must(w.feed.Add(u)) }
func (w *storeWorld) remove(u *unstructured.Unstructured) { w.must(w.feed.Delete(u)) }
func (w *storeWorld) list(version string, objects ...any) {
	w.must(w.feed.Replace(objects, version))
}
func (w *storeWorld) bookmark(version string) { w.must(w.feed.Bookmark(version)) }
func (w *storeWorld) write(u *unstructured.Unstructured) {
	cache := w.feed.kind.cache
	cache.Record(w.feed.kind.gvk, "", "a", cache.options.Reader.Read(u))
}

func (w *storeWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason   string
		events   func(*storeWorld)
		notified []string
		version  string // of what is seen; empty if absent
	}{
		{"a new object", func(w *storeWorld) { w.add(state(11, "o", 0)) }, []string{"o"}, "11"},
		{"an object in the list", func(w *storeWorld) { w.list("12", state(11, "o", 0)) }, []string{"o"}, "11"},
		{"a change", func(w *storeWorld) { w.add(state(11, "o", 0)); w.update(state(12, "o", 0)) }, []string{"o", "o"}, "12"},
		{"a change that matters to nobody", func(w *storeWorld) { w.add(state(11, "o", 3)); w.update(state(12, "o", 3)) }, []string{"o"}, "12"},
		{"a change of an object that is not judged", func(w *storeWorld) {
			w.add(expensive(state(11, "o", 3)))
			w.update(expensive(state(12, "o", 3)))
			w.write(expensive(state(11, "o", 3))) // read before, and judged meanwhile
		}, []string{"o", "o"}, "12"},
		{"a new generation", func(w *storeWorld) { w.add(state(11, "o", 3)); w.update(state(12, "o", 4)) }, []string{"o", "o"}, "12"},
		{"gone", func(w *storeWorld) { w.add(state(11, "o", 0)); w.remove(state(12, "o", 0)) }, []string{"o", "o"}, ""},
		{"gone while we did not watch", func(w *storeWorld) { w.add(state(11, "o", 0)); w.list("15") }, []string{"o", "o"}, ""},
		{"our own write, recorded first", func(w *storeWorld) { w.write(state(11, "o", 0)); w.add(state(11, "o", 0)) }, nil, "11"},
		{"our own update, recorded first", func(w *storeWorld) {
			w.add(state(11, "o", 0))
			w.write(state(13, "o", 0))
			w.update(state(13, "o", 0))
		}, []string{"o"}, "13"},
		{"what happened before our own write is no news", func(w *storeWorld) {
			w.add(state(11, "o", 0))
			w.write(state(13, "o", 0))
			w.update(state(12, "o", 0))
		}, []string{"o"}, "13"},
		{"our own write, recorded too late", func(w *storeWorld) {
			w.add(state(11, "o", 0))
			w.update(state(12, "o", 0))
			w.write(state(11, "o", 0))
		}, []string{"o", "o"}, "12"},
		{"a foreign change after our own write", func(w *storeWorld) {
			w.write(state(11, "o", 0))
			w.update(state(12, "o", 0))
		}, []string{"o"}, "12"},
		{"deleted after our own write", func(w *storeWorld) { w.write(state(11, "o", 0)); w.add(state(11, "o", 0)); w.remove(state(12, "o", 0)) }, []string{"o"}, ""},
		{"deleted after our own write, which the watch never showed", func(w *storeWorld) { w.write(state(11, "o", 0)); w.list("15") }, []string{"o"}, ""},
		{"deleted before our own write was recorded", func(w *storeWorld) { w.add(state(11, "o", 0)); w.remove(state(12, "o", 0)); w.write(state(11, "o", 0)) }, []string{"o", "o"}, ""},
		{"an old deletion does not hide our own write", func(w *storeWorld) { w.add(state(11, "o", 0)); w.write(state(13, "o", 0)); w.remove(state(12, "o", 0)) }, []string{"o"}, "13"},
		{"a bookmark proves that our own write is gone", func(w *storeWorld) { w.write(state(11, "o", 0)); w.bookmark("12") }, nil, ""},
		{"an old bookmark proves nothing", func(w *storeWorld) { w.write(state(13, "o", 0)); w.bookmark("12") }, nil, "13"},
		{"versions of different length", func(w *storeWorld) { w.add(state(99, "o", 0)); w.write(state(100, "o", 0)); w.bookmark("99") }, []string{"o"}, "100"},
		{"taken by others", func(w *storeWorld) { w.add(state(11, "o", 0)); w.update(state(12, "p", 0)) }, []string{"o", "o", "p"}, "12"},
		{"taken by our own write, and by others after that", func(w *storeWorld) {
			w.add(state(11, "o", 0))
			w.write(state(12, "p", 0))
			w.update(state(13, "q", 0))
		}, []string{"o", "o", "p", "q"}, "13"},
		{"taken by others before our own write", func(w *storeWorld) {
			w.add(state(11, "o", 0))
			w.write(state(13, "p", 0))
			w.update(state(12, "q", 0))
		}, []string{"o", "o"}, "13"},
		{"nobody's object", func(w *storeWorld) { w.add(state(11, "", 0)); w.update(state(12, "", 0)); w.remove(state(13, "", 0)) }, nil, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			w := newStoreWorld(t)
			tc.events(w)
			slices.Sort(w.notified)
			if diff := cmp.Diff(tc.notified, w.notified); diff != "" {
				t.Errorf("notifications (-want +got):\n%s", diff)
			}
			seen, view := w.feed.kind.cache.Get(w.feed.kind.gvk, "", "a")
			if seen.ResourceVersion != tc.version || (view == Present) != (tc.version != "") || view == Unseen {
				t.Errorf("got version %q (%v), want %q", seen.ResourceVersion, view, tc.version)
			}
		})
	}
}

func TestObservation(t *testing.T) {
	t.Parallel()
	base := Observation{UID: "u", ResourceVersion: "1", Generation: 1, Owner: "o", Fingerprint: "f", Status: status.CurrentStatus, Message: "m"}
	for reason, change := range map[string]func(*Observation){
		"uid": func(o *Observation) { o.UID = "v" }, "generation": func(o *Observation) { o.Generation = 2 }, "owner": func(o *Observation) { o.Owner = "p" },
		"deleting": func(o *Observation) { o.Deleting = true }, "fingerprint": func(o *Observation) { o.Fingerprint = "g" },
		"status": func(o *Observation) { o.Status = status.FailedStatus }, "message": func(o *Observation) { o.Message = "n" },
	} {
		other := base
		change(&other)
		if !base.differs(other) || base.differs(base) {
			t.Errorf("%s must matter, and nothing else", reason)
		}
	}
}

// glances are judges that must not be asked for more than a glance.
type glances struct {
	Judges
	t *testing.T
}

func (g glances) Judge(string, *unstructured.Unstructured) (status.Result, string) {
	g.t.Error("an object is judged at length while events wait")
	return status.Result{}, ""
}

// TestEventsAreJudgedAtAGlance: events of all owners wait while an object is judged.
func TestEventsAreJudgedAtAGlance(t *testing.T) {
	t.Parallel()
	w := newStoreWorld(t)
	reader := w.feed.kind.cache.options.Reader
	reader.Judges = glances{reader.Judges, t}
	w.add(state(11, "o", 0))
	w.update(state(12, "o", 0))
	w.remove(state(13, "o", 0))
	w.list("14", state(14, "o", 0))
	if len(w.notified) != 4 {
		t.Errorf("expected that the owner hears of 4 changes, got %v", w.notified)
	}
}
