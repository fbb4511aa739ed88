// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// maxCompleted bounds how many purged dependents are recorded in the status.
const maxCompleted = 100

// newInventoryRecord returns the reference to chunks that hold the inventory of the status.
func newInventoryRecord(status *Status, namespace string, store *chunks.Store, contents [][]byte) *InventoryRecord {
	reference := &InventoryRecord{
		Namespace: namespace,
		Checksum:  chunks.Checksum(contents),
		Items:     len(status.Inventory),
		Kinds:     items.Kinds(status.Inventory),
		Unlisted:  unlistedKinds(status.unlisted()),
	}
	for _, content := range contents {
		reference.Chunks = append(reference.Chunks, store.Name(content))
	}
	for _, item := range status.Inventory {
		if item.Phase == reconciler.PhaseCompleted && len(reference.Completed) < maxCompleted {
			reference.Completed = append(reference.Completed, CompletedDependent{TypeVersionInfo: item.TypeVersionInfo, NameInfo: item.NameInfo, Digest: item.Digest})
		}
	}
	return reference
}

// items returns the purged dependents as items.
func (r *InventoryRecord) items() []*reconciler.InventoryItem {
	items := make([]*reconciler.InventoryItem, len(r.Completed))
	for i, completed := range r.Completed {
		items[i] = &reconciler.InventoryItem{
			TypeVersionInfo: completed.TypeVersionInfo, NameInfo: completed.NameInfo, Digest: completed.Digest, Phase: reconciler.PhaseCompleted,
		}
	}
	return items
}

// namespaces are those in which there may be chunks; empty if there are none.
func (r *InventoryRecord) namespaces() []string {
	if r == nil {
		return nil
	}
	return []string{r.Namespace, r.PreviousNamespace}
}

// unlisted are the kinds of which there may be dependents that are not known.
func (s *Status) unlisted() []reconciler.TypeInfo {
	if s.InventoryRecord == nil {
		return nil
	}
	kinds := make([]reconciler.TypeInfo, len(s.InventoryRecord.Unlisted))
	for i, kind := range s.InventoryRecord.Unlisted {
		kinds[i] = reconciler.TypeInfo(kind)
	}
	return kinds
}

func (s *Status) setUnlisted(kinds []reconciler.TypeInfo) {
	if len(kinds) == 0 && s.InventoryRecord == nil {
		return
	}
	changed := InventoryRecord{Inline: true}
	if s.InventoryRecord != nil {
		changed = *s.InventoryRecord
	}
	changed.Unlisted = unlistedKinds(kinds)
	s.InventoryRecord = &changed
}

func unlistedKinds(kinds []reconciler.TypeInfo) []UnlistedKind {
	var unlisted []UnlistedKind
	for _, kind := range kinds {
		unlisted = append(unlisted, UnlistedKind(kind))
	}
	return unlisted
}

func kindTexts(kinds []reconciler.TypeInfo) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = schema.GroupKind(kind).String()
	}
	return texts.Join(names, ", ")
}

// recordStore returns the place for what is kept beside a component: its inventory in ConfigMaps, its deletion hooks in Secrets.
func (w *worker) recordStore(s *scope, kind chunks.Kind, namespace string) *chunks.Store {
	label := digest.OwnerLabel(s.ownerID)
	prefix := "inventory-"
	if kind == chunks.Secret {
		prefix = "deletion-hooks-"
	}
	return chunks.NewStore(chunks.Options{
		Kind:        kind,
		Client:      fencedClient{Client: w.client, mayWrite: s.mayWrite},
		Reader:      w.live,
		Namespace:   namespace,
		Prefix:      prefix + label[:20],
		Labels:      map[string]string{w.name + "/" + types.LabelKeySuffixInventoryOwnerId: label},
		Annotations: map[string]string{w.name + "/" + types.AnnotationKeySuffixOwnerId: s.ownerID},
		ClaimKey:    w.name + "/" + types.AnnotationKeySuffixClaimedAt,
		// The finalizer of components may lack the part after the slash, which the server demands here.
		Finalizer:  w.name + "/inventory",
		FieldOwner: *w.options.FieldOwner,
	})
}

// toMap returns the form that a value has in a status.
func toMap(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", value, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var result map[string]any
	if err := decoder.Decode(&result); err != nil {
		return nil, fmt.Errorf("decoding %T: %w", value, err)
	}
	return result, nil
}
