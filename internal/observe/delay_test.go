// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestWatchesWhenFollowed has a cache list first. What happens between the list and the watch is not lost.
func TestWatchesWhenFollowed(t *testing.T) {
	t.Parallel()
	w := newPatientWorld(t, time.Hour)
	changed, gone := w.write("o", "changed", "1"), w.write("o", "gone", "1")
	w.watch("o", need(configMaps, w.namespace))
	listed, view := w.get("changed")
	if watches, lists := w.watches("configmaps"); view != observe.Present || watches != 0 || lists != 1 {
		t.Fatalf("got view %v after %d watches and %d lists", view, watches, lists)
	}
	own := w.written("o", "own", "1")
	w.patch(changed, `{"data":{"value":"2"}}`)
	w.remove(gone)
	w.write("o", "new", "1")
	if seen, view := w.get("own"); view != observe.Present || seen != own {
		t.Errorf("got view %v of what was written: %+v", view, seen)
	}
	if seen, _ := w.get("changed"); seen != listed {
		t.Errorf("got %+v, although nobody watches", seen)
	}
	before := w.count("o")
	w.cache.Follow()
	w.cache.Follow() // once more does no harm
	w.awaitNews("o", before)
	testenv.Eventually(w, func() (bool, string) {
		seen, _ := w.get("changed")
		_, viewOfGone := w.get("gone")
		_, viewOfNew := w.get("new")
		return seen.ResourceVersion != listed.ResourceVersion && viewOfGone == observe.Absent && viewOfNew == observe.Present, "what happened after the list was not seen"
	})
	if watches, lists := w.watches("configmaps"); watches != 1 || lists != 1 {
		t.Errorf("got %d watches and %d lists", watches, lists)
	}
}
