// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/uuid"
)

func TestTenThousandItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := NewStore(w.client)
	release := w.newRelease("demo")
	w.must(store.AddRevision(t.Context(), release, firstRevision(), content(1, "a")))
	inventory := items(10_000, "a")
	for i, item := range inventory {
		item.UID, item.Fingerprint = uuid.NewUUID(), fmt.Sprintf("%032x", uint64(i+1)*0x9e3779b97f4a7c15)
	}
	release.Inventory = inventory
	w.must(store.Save(t.Context(), release))
	chunks := len(w.secrets()) - 2
	release.Inventory[5000].Digest = "changed"
	w.requests.Reset()
	w.must(store.Save(t.Context(), release))
	// A chunk, the index, and two requests to remove a chunk.
	if writes := w.writes(); chunks < 8 || writes != 4 {
		t.Errorf("want one of %d chunks to change, got:\n%s", chunks, w.requests)
	}
	w.equal("record", release, w.get("demo"))
	release.Inventory = items(100, "a")
	w.must(store.Save(t.Context(), release))
	if left := len(w.secrets()); left != 2 {
		t.Errorf("want the inventory to be in the index again, got %d Secrets", left)
	}
	w.equal("record", release, w.get("demo"))
}
