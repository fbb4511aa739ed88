// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// SecretType is the type of the Secret that is the index of a release.
	SecretType corev1.SecretType = ReconcilerName + "/release"
	// recordLabel is the label of all Secrets of records. Users can exclude these by it.
	recordLabel = ReconcilerName + "/record"
	// recordRelease is the value of that label on indexes.
	recordRelease = "release"
	// recordChunk is the value of that label on chunks.
	recordChunk = "chunk"
	// finalizer of indexes and chunks.
	finalizer = ReconcilerName + "/record"
	// dataKey is the key of the index in the data of the Secret, as JSON.
	dataKey = "release"
	// formatVersion is the version of the written format. An older clm must not overwrite a newer format.
	formatVersion = 1
	// maxIndex is the maximum size of an index in bytes: the server allows 1 MiB of data in a Secret.
	maxIndex = 1 << 20
	// maxMessage is the maximum size of a stored message in bytes.
	maxMessage = 4096
	// maxValues is the maximum number of JSON values in an index: one for each 8 bytes. maxRevisions is the maximum
	// number of revisions: one for each 64 bytes. Another client may have written the Secret, and decoded values take
	// much more memory than their text.
	maxValues, maxRevisions = maxIndex / 8, maxIndex / 64
	// maxDamage is the maximum length of a text about a damaged index, in bytes: some errors contain a whole value.
	maxDamage = 600
)

// index is the stored form of a release.
type index struct {
	Version       int                     `json:"version"`
	State         State                   `json:"state"`
	Message       string                  `json:"message,omitempty"`
	Created       time.Time               `json:"created"`
	Updated       time.Time               `json:"updated"`
	Since         time.Time               `json:"since,omitzero"`
	Revisions     []Revision              `json:"revisions,omitempty"`
	Inventory     *chunks.List            `json:"inventory,omitempty"`
	HookInventory *chunks.List            `json:"hookInventory,omitempty"`
	TestInventory *chunks.List            `json:"testInventory,omitempty"`
	DeletionStage inventory.DeletionStage `json:"deletionStage,omitempty"`
	Begun         Begun                   `json:"begun,omitzero"`
	TakenOver     *takenOver              `json:"takenOver,omitempty"`
}

// labels returns the labels of the Secret: those of the current revision, and the one of all records.
func (i *index) labels() map[string]string {
	labels := map[string]string{}
	if count := len(i.Revisions); count > 0 {
		maps.Copy(labels, i.Revisions[count-1].Labels)
	}
	labels[recordLabel] = recordRelease
	return labels
}

// takenOver is the record of the ancestor, which must be removed because this one replaces it.
type takenOver struct {
	UID apitypes.UID `json:"uid"`
	// Checksum of the content of the record.
	Checksum string `json:"checksum"`
}

// stored is the state of a record when a release was last read from it or written to it.
type stored struct {
	// uid and resourceVersion guard the next write; empty if there is no index yet.
	uid             apitypes.UID
	resourceVersion string
	// raw is the content of the index Secret.
	raw []byte
	// index is the decoded form of raw.
	index index
	// finalizers of the Secret.
	finalizers []string
	// anchored means that the index gets the finalizer whatever it contains, because the next write will need it.
	anchored bool
	// deleting means that the deletion of the Secret was requested.
	deleting bool
	// chunks are known to exist. Those of inventories are intact.
	chunks chunks.Handles
	// swept means that there are no other chunks, or that these are left to the next operation.
	swept bool
	// incomplete means that the inventory was not read.
	incomplete bool
	// ancestor is the record of the ancestor that was read, if there is no index yet.
	ancestor *takenOver
}

// exists reports whether anything is recorded, by us or by the ancestor.
func (s *stored) exists() bool { return s.uid != "" || s.ancestor != nil }

// took stores the metadata of the index Secret.
func (s *stored) took(object metav1.Object) {
	s.uid, s.resourceVersion = object.GetUID(), object.GetResourceVersion()
	s.finalizers = object.GetFinalizers()
	s.deleting = object.GetDeletionTimestamp() != nil
}

// inventoryNames returns the names of the chunks with inventories.
func (i *index) inventoryNames() (names []string) {
	for _, list := range []*chunks.List{i.Inventory, i.HookInventory, i.TestInventory} {
		if list != nil {
			names = append(names, list.Chunks...)
		}
	}
	return names
}

// contentNames returns the names of the chunks with contents of revisions.
func (i *index) contentNames() []string {
	var names []string
	for _, revision := range i.Revisions {
		names = append(names, revision.Chunks...)
	}
	return names
}

// decodeIndex decodes an index. An error means that the index is damaged, unless it is errNewer.
func decodeIndex(raw []byte) (index, error) {
	if len(raw) == 0 {
		return index{}, errors.New("it has no data")
	}
	decoded := index{}
	err := manifest.CheckJSON(maxValues, raw)
	if err == nil {
		err = json.Unmarshal(raw, &decoded)
	}
	if err != nil {
		return index{}, fmt.Errorf("decoding its data: %s", texts.Truncate(err.Error(), maxDamage))
	}
	if decoded.Version > formatVersion {
		return index{}, fmt.Errorf("its format has version %d; this clm understands up to version %d: %w", decoded.Version, formatVersion, errNewer)
	}
	if len(decoded.Revisions) > maxRevisions {
		return index{}, fmt.Errorf("decoding its data: it has %d revisions; must be at most %d", len(decoded.Revisions), maxRevisions)
	}
	for i, revision := range decoded.Revisions {
		if revision.Number < 1 {
			return index{}, fmt.Errorf("decoding its data: revisions[%d] has number %d; must be at least 1", i, revision.Number)
		}
	}
	return decoded, nil
}

// errNewer means that a record was written by a later clm, in a format that this one does not understand.
var errNewer = errors.New("please use a newer one")

// stamp sets the times of the index: of its creation, of this write, and of the last change of the state.
func (i *index) stamp(now time.Time, before State) {
	i.Updated = now
	if i.Created.IsZero() {
		i.Created = now
	}
	if i.State != before {
		i.Since = now
	}
}

// encode returns the data of an index. If that would be too large, it omits explanatory texts.
func (i *index) encode() ([]byte, error) {
	raw, err := json.Marshal(i)
	if err == nil && len(raw) > maxIndex {
		for n := range i.Revisions {
			i.Revisions[n].Failure = ""
		}
		i.Message = ""
		raw, err = json.Marshal(i)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the record: %w", err)
	}
	if len(raw) > maxIndex {
		return nil, fmt.Errorf("encoding the record: %w: it takes %d bytes, including %d revisions; must be at most %d; to keep fewer revisions: --history-max",
			ErrFull, len(raw), len(i.Revisions), maxIndex)
	}
	return raw, nil
}

// release returns the release in an index, without inventories.
func (i *index) release(namespace, name string) *Release {
	return &Release{
		Namespace: namespace, Name: name, State: i.State, Message: i.Message, Created: i.Created, Updated: i.Updated, Since: cmp.Or(i.Since, i.Updated),
		Revisions: slices.Clone(i.Revisions), DeletionStage: i.DeletionStage, Begun: i.Begun,
	}
}

// indexOf returns the index for a release, without inventories and references of the ancestor.
func indexOf(release *Release) index {
	return index{
		Version: formatVersion, State: release.State, Message: texts.Truncate(release.Message, maxMessage), DeletionStage: release.DeletionStage, Begun: release.Begun,
		Created: release.Created, Updated: release.stored.index.Updated, Since: release.stored.index.Since, Revisions: slices.Clone(release.Revisions),
	}
}

// part is one of the inventories of a release, with its stored form.
type part struct {
	name  string
	items *[]*reconciler.InventoryItem
	list  **chunks.List
}

// parts returns the inventories of a release, as stored in this index.
func (i *index) parts(release *Release) []part {
	return []part{
		{"the inventory", &release.Inventory, &i.Inventory},
		{"the inventory of the deletion hooks", &release.HookInventory, &i.HookInventory},
		{"the inventory of the tests", &release.TestInventory, &i.TestInventory},
	}
}

// encodeInventory returns the stored form of an inventory, and the contents of its chunks. If the inventory has not
// changed and the chunks of its present form are known to be intact, it returns that form and no contents.
func (s *Store) encodeInventory(store *chunks.Store, inventory []*reconciler.InventoryItem, before *chunks.List, known chunks.Handles) (*chunks.List, [][]byte, error) {
	if len(inventory) == 0 {
		return nil, nil, nil
	}
	items, err := chunks.EncodeInventory(inventory)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(items, func(a, b chunks.Item) int { return cmp.Compare(a.Key, b.Key) })
	count := 0
	if before != nil {
		isMissing := func(name string) bool { return known[name].UID == "" }
		if before.Holds(items, s.chunkSize) && !slices.ContainsFunc(before.Chunks, isMissing) {
			return before, nil, nil
		}
		count = len(before.Chunks)
	}
	// Larger inventories are never packed.
	const ratio = 32
	if chunks.Size(items) <= s.packedLimit*ratio {
		if list, err := chunks.PackItems(items); err == nil && len(list.Packed) <= s.packedLimit {
			return &list, nil, nil
		}
	}
	list, contents := store.SpreadItems(items, count, s.chunkSize)
	return &list, contents, nil
}

// readInventory returns a recorded inventory and its intact chunks. damage describes what is wrong with it; empty if
// nothing is.
func readInventory(ctx context.Context, store *chunks.Store, list *chunks.List) (items []*reconciler.InventoryItem, intact chunks.Handles, damage string, err error) {
	if list == nil {
		return nil, nil, "", nil
	}
	found, err := store.Load(ctx, *list)
	if err != nil {
		return nil, nil, "", err
	}
	if items = chunks.DecodeInventory(&found, *list); len(found.Damage) > 0 {
		return nil, found.Intact, strings.Join(found.Damage, "; "), nil
	}
	slices.SortFunc(items, func(a, b *reconciler.InventoryItem) int { return types.IDOf(a).Compare(types.IDOf(b)) })
	return items, found.Intact, "", nil
}

// maxContentValues is the maximum number of JSON values in a content: one for each 16 bytes of the largest one. Another
// client may have written it.
const maxContentValues = 4 << 20

// Content reads the stored content of a revision. The error is a DamagedError if the content cannot be read because the
// record is damaged, or because another process has removed the revision since the release was read.
func (s *Store) Content(ctx context.Context, release *Release, number int64) (Content, error) {
	names := release.stored.index.chunksOf(number)
	if len(names) == 0 {
		return Content{}, fmt.Errorf("revision %d of release %s: its content is no longer available; available revisions: %s", number, release, release.stored.index.keptNumbers())
	}
	found, err := s.chunks(release.Namespace, release.Name).Read(ctx, names)
	if err != nil {
		return Content{}, fmt.Errorf("reading revision %d of release %s: %w", number, release, err)
	}
	damage := strings.Join(found.Damage, "; ")
	if damage == "" {
		content, err := decodeContent(bytes.Join(found.Contents, nil))
		if err == nil {
			return content, nil
		}
		damage = texts.Truncate(err.Error(), maxDamage)
	}
	return Content{}, &DamagedError{Release: release.String(), Part: fmt.Sprintf("revision %d", number), Damage: damage, Revision: number}
}

// chunksOf returns the names of the chunks with the content of a revision; none if the content is not stored.
func (i *index) chunksOf(number int64) []string {
	for _, revision := range i.Revisions {
		if revision.Number == number {
			return revision.Chunks
		}
	}
	return nil
}

// keptNumbers lists the revisions whose contents are stored.
func (i *index) keptNumbers() string {
	var texts []string
	for _, revision := range i.Revisions {
		if len(revision.Chunks) > 0 {
			texts = append(texts, fmt.Sprint(revision.Number))
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// encodeContent returns the deterministic JSON form of a content.
func encodeContent(content Content) ([]byte, error) {
	objects := make([]map[string]any, len(content.Manifest))
	for i, object := range content.Manifest {
		objects[i] = object.Object
	}
	return json.Marshal(map[string]any{"values": content.Values, "manifest": objects, "notes": content.Notes})
}

// decodeContent returns the content of a JSON form. An error means that the content is damaged.
func decodeContent(raw []byte) (Content, error) {
	var stored struct {
		Values   map[string]any   `json:"values"`
		Manifest []map[string]any `json:"manifest"`
		Notes    string           `json:"notes"`
	}
	err := manifest.CheckJSON(maxContentValues, raw)
	if err == nil {
		// Unlike encoding/json, this keeps integers.
		err = utiljson.Unmarshal(raw, &stored)
	}
	if err != nil {
		return Content{}, fmt.Errorf("decoding it: %w", err)
	}
	content := Content{Values: stored.Values, Notes: stored.Notes}
	for i, object := range stored.Manifest {
		if kind, _ := object["kind"].(string); kind == "" {
			return Content{}, fmt.Errorf("decoding object %d: it has no kind", i)
		}
		content.Manifest = append(content.Manifest, &unstructured.Unstructured{Object: object})
	}
	return content, nil
}

// Reserved returns why a release with this namespace and name must not have a rendered object as a dependent, hook or
// test: such objects are records or locks of releases. It returns an empty text if it may. It does not know existing
// objects; the engine refuses to replace those that are records.
func Reserved(namespace, name string, object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind().GroupKind()
	at := cmp.Or(object.GetNamespace(), namespace)
	switch kind {
	case schema.GroupKind{Kind: "Secret"}:
		secretType, _, _ := unstructured.NestedString(object.Object, "type")
		switch {
		case secretType == string(SecretType):
			return fmt.Sprintf("type: %s is that of records of releases", secretType)
		case at == namespace && object.GetName() == prefix+name:
			return fmt.Sprintf("metadata.name: %s is that of the record of the release", object.GetName())
		}
	case schema.GroupKind{Group: coordinationv1.GroupName, Kind: "Lease"}:
		if strings.HasPrefix(object.GetName(), prefix) {
			return fmt.Sprintf("metadata.name: Leases whose names begin with %q are locks of releases", prefix)
		}
	case schema.GroupKind{Kind: "ConfigMap"}:
		if strings.HasPrefix(object.GetName(), ancestorPrefix) {
			return fmt.Sprintf("metadata.name: ConfigMaps whose names begin with %q are records of releases of an earlier version of clm", ancestorPrefix)
		}
	}
	if key := observe.RecordLabel(object.GetLabels()); key != "" {
		return fmt.Sprintf("metadata.labels: %s marks parts of records of dependents", key)
	}
	return ""
}
