// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func configMaps(count, waves int) string {
	var manifests strings.Builder
	for i := range count {
		fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, annotations: {PREFIX/apply-order: \"%d\"}}\ndata: {value: \"%d\"}\n", i, i%waves, i)
	}
	return manifests.String()
}

func isDiscovery(request testenv.Request) bool {
	return request.Method == http.MethodGet &&
		(request.Path == "/api" || request.Path == "/apis" || request.Path == "/api/v1" || strings.Count(request.Path, "/") == 3 && strings.HasPrefix(request.Path, "/apis/"))
}

func TestRequestsOfCreation(t *testing.T) {
	t.Parallel()
	const count = 60
	w := newWorld(t)
	w.requests.Reset()
	w.mustApply(configMaps(count, 1))
	writes := w.requests.Count(testenv.Request.IsWrite)
	watches := w.requests.Count(testenv.Request.IsWatch)
	discoveries := w.requests.Count(isDiscovery)
	all := w.requests.Count(func(testenv.Request) bool { return true })
	if writes != count {
		t.Errorf("expected one write for each dependent, got %d", writes)
	}
	if others := all - writes - watches - discoveries; others > 1 {
		t.Errorf("expected at most a LIST besides watch and discovery, got %d:\n%s", others, w.requests)
	}
	if w.saves != 1 {
		t.Errorf("expected one save before the first write, got %d", w.saves)
	}
	w.requests.Reset()
	w.mustApply(configMaps(count, 1))
	if n := w.requests.Count(func(testenv.Request) bool { return true }); n != 0 {
		t.Errorf("expected rest, got:\n%s", w.requests)
	}
	changed := strings.Replace(configMaps(count, 1), `data: {value: "7"}`, `data: {value: "changed"}`, 1)
	w.expectActions(w.mustApply(changed), "Updated ConfigMap c7")
	if writes := w.writes(); len(writes) != 1 {
		t.Errorf("expected one write, got %v", writes)
	}
	w.requests.Reset()
	w.mustDelete()
	deletions := w.requests.Count(func(r testenv.Request) bool { return r.Method == http.MethodDelete })
	others := w.requests.Count(func(r testenv.Request) bool { return r.Method != http.MethodDelete && !r.IsWatch() })
	if deletions != count || others != 0 {
		t.Errorf("expected %d deletions and nothing else, since the server says that the objects are gone, got:\n%s", count, w.requests)
	}
}

func TestManyWavesInOnePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	result, err := w.apply(configMaps(60, 10))
	if err != nil || !result.Done {
		t.Fatalf("expected one pass to go through all waves, got %v, %v", notices(result.Waits), err)
	}
}

// failing is a store whose save fails at the given count.
type failing struct {
	*world
	at int
}

func (f *failing) Save(ctx stdcontext.Context, inventory []*reconciler.InventoryItem) error {
	if f.saves++; f.saves == f.at {
		return errors.New("no")
	}
	return f.world.Save(ctx, inventory)
}

func TestNothingIsWrittenThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, manifests := range []string{configMaps(3, 1), "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-own}\n"} {
		w.owner.Store = &failing{world: w, at: w.saves + 1}
		if _, err := w.engine.Apply(t.Context(), w.request(manifests)); err == nil {
			t.Fatal("expected the failure of the store")
		}
		if writes := w.writes(); len(writes) != 0 {
			t.Errorf("expected no writes, got %v", writes)
		}
	}
}

// TestDeathAfterAnyWrite ends the process after each number of writes. A new process continues from the last saved inventory.
func TestDeathAfterAnyWrite(t *testing.T) {
	t.Parallel()
	manifests := configMaps(4, 2)
	for survived := range 5 {
		t.Run(fmt.Sprint(survived), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(s *setup) { s.config = dying(s.config, survived) }, withOptions(func(o *reconciler.Options) { o.MaxConcurrency = 1 }))
			_, err := w.engine.Apply(t.Context(), reconciler.ApplyRequest{Owner: w.owner, Objects: objects(w, manifests), Digest: w.digest})
			if died := err != nil; died != (survived < 4) {
				t.Fatalf("died: %v", err)
			}
			heir := newWorld(t)
			heir.owner, heir.namespace = w.owner, w.namespace
			heir.owner.Store = heir
			result := heir.mustApply(manifests)
			heir.expectInventory("ConfigMap c0 Ready Current", "ConfigMap c1 Ready Current", "ConfigMap c2 Ready Current", "ConfigMap c3 Ready Current")
			got := map[reconciler.Verb]int{}
			for _, action := range result.Actions {
				got[action.Verb] += len(action.Objects)
			}
			// What the dead process has written was there already.
			want := map[reconciler.Verb]int{reconciler.VerbUpdated: survived, reconciler.VerbCreated: 4 - survived}
			maps.DeleteFunc(want, func(_ reconciler.Verb, count int) bool { return count == 0 })
			if !maps.Equal(got, want) {
				t.Errorf("want %v, got %v", want, actions(result))
			}
			heir.mustDelete()
			for i := range 4 {
				if heir.configMap(fmt.Sprintf("c%d", i)) != nil {
					t.Errorf("c%d was left behind", i)
				}
			}
		})
	}
}

func TestWithoutObserver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutObserver)
	w.mustApply(configMaps(3, 2))
	w.patch(w.configMap("c1"), `{"data":{"value":"x"}}`)
	w.remove(w.configMap("c2"))
	w.expectActions(w.mustApply(configMaps(3, 2)), "Corrected ConfigMap c1", "Restored ConfigMap c2")
	w.requests.Reset()
	w.mustApply(configMaps(3, 2))
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("expected only reads, got %v", writes)
	}
	w.mustDelete()
}
