// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/digest"
)

// pieces returns what earlier versions of clm stored of a content.
func (w *world) pieces(content Content, maxPiece int) []chunks.Item {
	w.Helper()
	var list []chunks.Item
	add := func(key string, document any) {
		raw, err := json.Marshal(document)
		w.must(err)
		all := []map[string]any{{"key": key, "value": json.RawMessage(raw)}}
		if len(raw) > maxPiece {
			all = nil
			for part := range slices.Chunk(raw, maxPiece) {
				all = append(all, map[string]any{"key": key, "parts": (len(raw) + maxPiece - 1) / maxPiece, "part": len(all), "bytes": part})
			}
		}
		for i, piece := range all {
			value, err := json.Marshal(piece)
			w.must(err)
			list = append(list, chunks.Item{Key: fmt.Sprintf("%s#%d", key, i), Value: value})
		}
	}
	add("values", content.Values)
	var order []string
	for i, object := range content.Manifest {
		order = append(order, fmt.Sprintf("object//ConfigMap//%s/%d", object.GetName(), i))
		add(order[i], object.Object)
	}
	add("order", order)
	return list
}

// createUnpacked makes a record in the form of an earlier version of clm, with the contents of as many revisions.
func (w *world) createUnpacked(size int, contents ...Content) *Release {
	w.Helper()
	owner := OwnerID(w.namespace, "demo")
	label := digest.OwnerLabel(owner)
	store := chunks.NewStore(chunks.Options{
		Kind: chunks.Secret, Client: w.client, Reader: w.client, Namespace: w.namespace, Prefix: "clm-" + label[:20], Finalizer: finalizer, FieldOwner: ReconcilerName,
		Labels:      map[string]string{ReconcilerName + "/inventory-owner-id": label},
		Annotations: map[string]string{ReconcilerName + "/owner-id": owner}, ClaimKey: ReconcilerName + "/claimed-at", Held: func(string) bool { return false },
	})
	record := index{Version: 1, State: StateReady}
	for i, content := range contents {
		written, err := store.Write(w.Context(), chunks.Spread(w.pieces(content, size/2), 0, size), nil)
		w.must(err)
		record.Revisions = append(record.Revisions, indexRevision{
			Revision: Revision{Number: int64(i + 1), State: RevisionSuperseded, Objects: len(content.Manifest)}, Chunks: written.Names,
		})
	}
	record.Revisions[len(contents)-1].State = RevisionReady
	raw, err := record.encode()
	w.must(err)
	w.must(w.client.Create(w.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "clm.demo", Labels: map[string]string{recordLabel: recordRelease}},
		Type:       SecretType, Data: map[string][]byte{dataKey: raw},
	}))
	return w.get("demo")
}

// TestRecordOfAnEarlierVersion is read as it is, stays so when no revision is added, and is packed with the next revision.
func TestRecordOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third := content(100, "a"), content(100, "b"), content(100, "c")
	second.Manifest[5].Object["data"] = map[string]any{"large": noise(10_000)}
	release := w.createUnpacked(4000, first, second)
	before := len(w.secrets())
	expect := func(contents ...Content) {
		t.Helper()
		for i, want := range contents {
			w.expectContent(w.get("demo"), int64(i+1), want)
		}
		w.expectNoWaste(w.get("demo"))
	}
	expect(first, second)
	release.Message = "saved"
	w.must(w.store.Save(t.Context(), release))
	expect(first, second)
	if after := len(w.secrets()); before < 10 || after != before || release.stored.index.Version != 1 {
		t.Errorf("want %d Secrets to stay, which an earlier version can read, got %d, version %d", before, after, release.stored.index.Version)
	}
	w.must(NewStore(Options{Client: w.client}).AddRevision(t.Context(), release, Revision{}, third))
	expect(first, second, third)
	if after := len(w.secrets()); after != 2 || release.stored.index.Version != 2 {
		t.Errorf("want all contents in one Secret beside the index, got %d, version %d", after-1, release.stored.index.Version)
	}
}

// TestDamagedRecordOfAnEarlierVersion has a revision that cannot be packed, because it cannot be read.
func TestDamagedRecordOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.createUnpacked(4000, content(100, "a"), content(100, "b"))
	lost := release.stored.index.unpackedChunks()[1][0]
	w.lose(lost)
	w.must(w.store.AddRevision(t.Context(), release, Revision{}, content(100, "c")))
	release = w.get("demo")
	_, err := w.store.Content(t.Context(), release, 1)
	expectDamage(t, err, "revision 1 of release "+w.namespace+"/demo is damaged", lost, "it does not exist")
	w.expectContent(release, 2, content(100, "b"))
	w.expectContent(release, 3, content(100, "c"))
	release.Prune(2)
	w.must(w.store.Save(t.Context(), release))
	w.expectNoWaste(release)
}

// TestAllSecretsOfRecordsHaveTheLabel has users list their own Secrets alone.
func TestAllSecretsOfRecordsHaveTheLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createWith(items(60, "a"))
	all := w.secrets()
	w.must(w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "own"}}))
	list := &corev1.SecretList{}
	w.must(w.client.List(t.Context(), list, client.InNamespace(w.namespace), client.HasLabels{recordLabel}))
	if len(all) < 5 || len(list.Items) != len(all) {
		t.Errorf("want %d Secrets to have the label, got %d", len(all), len(list.Items))
	}
}
