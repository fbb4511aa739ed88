// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// ReconcilerName is the name of the engine that works for releases: the prefix of all labels, annotations and
// finalizers, and the field manager.
const ReconcilerName = "clm.cs.sap.com"

// IsReserved reports whether a label is one that only clm sets.
func IsReserved(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == ReconcilerName || strings.HasSuffix(domain, "."+ReconcilerName)
}

// OwnerID returns the owner ID of the dependents of a release.
func OwnerID(namespace, name string) string {
	return ReconcilerName + "/" + namespace + "/" + name
}

// TestOwnerID returns the owner ID of the tests of a release. Tests are not dependents, and never replace one.
func TestOwnerID(namespace, name string) string {
	return OwnerID(namespace, name) + "/tests"
}

// Release is the record of a release.
type Release struct {
	// Namespace of the release.
	Namespace string
	// Name of the release; unique in its namespace.
	Name string
	// State of the release.
	State State
	// Message explains the state, for people. At most 4096 bytes of it are stored.
	Message string
	// Created is when the first record was written.
	Created time.Time
	// Updated is when the record was written last.
	Updated time.Time
	// Since is when the release entered its state. It is Updated if the record does not contain it.
	Since time.Time
	// Revisions, oldest first. The last one is the current one. There is none if the process that created the release
	// died.
	Revisions []Revision
	// Inventory of the dependents.
	Inventory []*reconciler.InventoryItem
	// HookInventory is the inventory of deletion hooks, which are no dependents.
	HookInventory []*reconciler.InventoryItem
	// TestInventory is the inventory of the objects that the last run of tests has left. They are not dependents
	// either.
	TestInventory []*reconciler.InventoryItem
	// DeletionStage is the progress of the deletion; empty unless the release is being deleted.
	DeletionStage inventory.DeletionStage
	// Begun is the last apply or rollback of the release that has begun. Its zero value means that none is known:
	// earlier versions of clm do not record it.
	Begun Begun
	// Ancestor means that only the ancestor of clm has recorded the release.
	Ancestor bool
	// Problem is the reason why the record cannot be used. Only [Store.List] sets it. Then only namespace and name are
	// certain.
	Problem string

	stored stored
}

// Begun is the operation that has begun last. It is part of the record, so that a process that was started earlier and
// has not begun yet can find out that it is outdated.
type Begun struct {
	// By is the operation and its process, such as "apply of jane@laptop/4711". At most 300 bytes of it are reported.
	By string `json:"by"`
	// Started is when that process was started, by its own clock.
	Started time.Time `json:"started"`
}

// maxSkew is how much the clocks of two machines may differ.
const maxSkew = 5 * time.Minute

// Overtaken returns the operation that has begun, such as "apply of jane@laptop/4711", if its process was started later
// than the given time; empty otherwise. It ignores a start in the future, apart from the usual clock skew, which would
// block other processes until then.
func (b Begun) Overtaken(started, now time.Time) string {
	if !started.Before(b.Started) || b.Started.Sub(now) > maxSkew {
		return ""
	}
	return texts.Truncate(b.By, maxRequester)
}

// Revision is one version of the content of a release.
type Revision struct {
	// Number of the revision; the first one is 1. Numbers are never reused.
	Number int64 `json:"number"`
	// State of the revision.
	State RevisionState `json:"state"`
	// Created is when the revision was recorded.
	Created time.Time `json:"created"`
	// Description is the occasion of the revision, for people.
	Description string `json:"description,omitempty"`
	// Sources from which the revision was generated.
	Sources []Source `json:"sources,omitempty"`
	// Hooks are the tools whose annotations for hooks and waves were honored.
	Hooks []string `json:"hooks,omitempty"`
	// DependsOn are the releases in the same namespace that must be ready before this one is applied, and may not be
	// deleted before it.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Inputs is the digest of all inputs of the revision.
	Inputs string `json:"inputs,omitempty"`
	// Labels are set by users, to select releases. Those of the current revision are also labels of the index.
	Labels map[string]string `json:"labels,omitempty"`
	// By is the user who applied the revision, and the machine, such as "jane@laptop"; empty if an earlier version of clm
	// or another tool recorded it.
	By string `json:"by,omitempty"`
	// Installed means that the release had been installed before this revision.
	Installed bool `json:"installed,omitempty"`
	// Rollback means that a rollback created the revision, so it includes hooks for rollbacks.
	Rollback bool `json:"rollback,omitempty"`
	// Target is the number of the revision to which a rollback returned; 0 if this is not a rollback, or if an earlier
	// version of clm recorded it.
	Target int64 `json:"target,omitempty"`
	// Basis is the number of the revision from which this one differs only by objects that were moved or orphaned; 0 if
	// there is none.
	Basis int64 `json:"basis,omitempty"`
	// CanceledBy is the newer operation, such as "apply of jane@laptop/4711", that canceled the last one on this
	// revision before it was ready; empty if there is none, or if the revision was found to be ready afterwards.
	CanceledBy string `json:"canceledBy,omitempty"`
	// Failure is why the last operation on this revision ended before it was ready, for people, in at most 1024 bytes;
	// empty if it is not known, or if the index has no room for the reasons.
	Failure string `json:"failure,omitempty"`
	// Policies with which the revision is applied.
	Policies reconciler.Policies `json:"policies,omitzero"`
	// Objects is the number of objects in the manifest.
	Objects int `json:"objects"`
	// DeletionHooks is the number of objects in the manifest that are applied only when the release is deleted.
	DeletionHooks int `json:"deletionHooks,omitempty"`
	// KeepsFields means that objects in the manifest have fields that are left to other field managers and were not
	// declared so in the sources. Without such fields, the manifest need not be read. Versions of clm that do not
	// support it drop it when they save the record; then the fields are noticed only when the manifest is read for
	// another reason.
	KeepsFields bool `json:"keepsFields,omitempty"`
	// Chunks are the names of the chunks with the content, usually one; none if the content is not stored. The store
	// sets Chunks and Bytes.
	Chunks []string `json:"chunks,omitempty"`
	// Bytes is the compressed size of the content.
	Bytes int64 `json:"bytes,omitempty"`
}

// Source is one of the sources of a revision.
type Source struct {
	// Reference is the source as given by the user.
	Reference string `json:"reference"`
	// Kind of the source: chart, kustomization or manifests.
	Kind string `json:"kind"`
	// Name of the chart; empty for other kinds.
	Name string `json:"name,omitempty"`
	// Version of the chart; empty for other kinds.
	Version string `json:"version,omitempty"`
	// AppVersion is the version of the application in the chart; empty for other kinds.
	AppVersion string `json:"appVersion,omitempty"`
	// SignedBy is who has signed it: the name and the fingerprint of a key, or an identity and its issuer; empty if that was
	// not verified.
	SignedBy string `json:"signedBy,omitempty"`
	// Digest identifies what was fetched: sha256:HEX of a manifest in a registry or of a file at a URL, or the commit in
	// a Git repository; empty if the source was not fetched, or if an earlier version of clm recorded it.
	Digest string `json:"digest,omitempty"`
}

// Content is the stored part of a revision with which it can be shown, and applied again.
type Content struct {
	// Values from which the revision was generated.
	Values map[string]any
	// Manifest are all objects, hooks included, in the order in which they were generated.
	Manifest []*unstructured.Unstructured
	// Notes of the charts, for people; empty if there are none.
	Notes string
}

// deletionHooks counts the objects that are applied only when the release is deleted.
func (c Content) deletionHooks() int {
	count := 0
	for _, object := range c.Manifest {
		if _, isHook := object.GetAnnotations()[ReconcilerName+"/"+types.AnnotationKeySuffixDeletionHook]; isHook {
			count++
		}
	}
	return count
}

// keepsFields reports whether objects have the annotation kept-fields.
func (c Content) keepsFields() bool {
	return slices.ContainsFunc(c.Manifest, func(object *unstructured.Unstructured) bool {
		return object.GetAnnotations()[ReconcilerName+"/"+types.AnnotationKeySuffixKeptFields] != ""
	})
}

// Clone returns a copy that shares nothing with the release.
func (r *Release) Clone() *Release {
	clone := *r
	clone.Revisions = slices.Clone(r.Revisions)
	for i := range clone.Revisions {
		clone.Revisions[i].Sources = slices.Clone(clone.Revisions[i].Sources)
		clone.Revisions[i].DependsOn = slices.Clone(clone.Revisions[i].DependsOn)
		clone.Revisions[i].Labels = maps.Clone(clone.Revisions[i].Labels)
		clone.Revisions[i].Chunks = slices.Clone(clone.Revisions[i].Chunks)
	}
	clone.Inventory = cloneItems(r.Inventory)
	clone.HookInventory = cloneItems(r.HookInventory)
	clone.TestInventory = cloneItems(r.TestInventory)
	return &clone
}

func cloneItems(items []*reconciler.InventoryItem) []*reconciler.InventoryItem {
	clones := slices.Clone(items)
	for i, item := range clones {
		clones[i] = item.DeepCopy()
	}
	return clones
}

// Current returns the current revision, to be read or changed in place; nil if there is none.
func (r *Release) Current() *Revision {
	if len(r.Revisions) == 0 {
		return nil
	}
	return &r.Revisions[len(r.Revisions)-1]
}

// LastReady returns the newest revision that is or was ready; nil if there is none.
func (r *Release) LastReady() *Revision {
	for i := range slices.Backward(r.Revisions) {
		if revision := &r.Revisions[i]; revision.State == RevisionReady || revision.State == RevisionSuperseded {
			return revision
		}
	}
	return nil
}

// String returns namespace and name.
func (r *Release) String() string {
	return r.Namespace + "/" + r.Name
}

// Prune removes the oldest revisions until at most count are left, and then until the stored contents of the others
// have at most the given number of bytes; zero means no limit. The current revision is always kept. So is the newest one
// that is or was ready, in addition to the count. The contents of removed revisions are deleted when the release is
// saved.
func (r *Release) Prune(count int, bytes int64) {
	total := int64(0)
	for _, revision := range r.Revisions {
		total += revision.Bytes
	}
	ready := r.LastReady()
	var kept []Revision
	for i, revision := range r.Revisions {
		left := len(r.Revisions) - i
		isSurplus := count > 0 && left > count || bytes > 0 && total > bytes
		if isSurplus && left > 1 && (ready == nil || revision.Number != ready.Number) {
			total -= revision.Bytes
			continue
		}
		kept = append(kept, revision)
	}
	r.Revisions = kept
}

const (
	// prefix of the names of the index and the Lease of a release.
	prefix = "clm."
	// maxName is the maximum length of the name of a release: the names of its Secret and Lease have a prefix and at
	// most 253 characters.
	maxName = validation.DNS1123SubdomainMaxLength - len(prefix)
)

// ValidateName returns an error if the name of a release is invalid.
func ValidateName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(name) > maxName {
		problems = []string{fmt.Sprintf("must be no more than %d characters, but has %d", maxName, len(name))}
	}
	if len(problems) > 0 {
		return fmt.Errorf("invalid release name %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// State is the state of a release.
type State string

const (
	// StateApplying means that applying the current revision has begun, and it has neither become ready nor failed.
	StateApplying State = "Applying"
	// StateReady means that the current revision was ready when it was last applied.
	StateReady State = "Ready"
	// StateFailed means that the last attempt to apply the current revision has failed.
	StateFailed State = "Failed"
	// StateDeleting means that the deletion has begun; it cannot be undone.
	StateDeleting State = "Deleting"
)

// RevisionState is the state of a revision.
type RevisionState string

const (
	// RevisionApplying means that the revision is the current one, and applying it has begun.
	RevisionApplying RevisionState = "Applying"
	// RevisionReady means that the revision is the current one, and became ready. See the state of the release for
	// whether it still is.
	RevisionReady RevisionState = "Ready"
	// RevisionFailed means that the revision never became ready.
	RevisionFailed RevisionState = "Failed"
	// RevisionSuperseded means that the revision became ready before the next one was begun.
	RevisionSuperseded RevisionState = "Superseded"
)

// succeeded returns the state of a revision after the next one has begun.
func (s RevisionState) succeeded() RevisionState {
	if s == RevisionReady || s == RevisionSuperseded {
		return RevisionSuperseded
	}
	return RevisionFailed
}

// Recorded reports whether clm itself had a record of the release when it was last read or written.
func (r *Release) Recorded() bool { return r.stored.uid != "" }

// SameRecord reports whether both were last read from, or written to, the same version of the record.
func (r *Release) SameRecord(other *Release) bool {
	return r.stored.uid == other.stored.uid && r.stored.resourceVersion == other.stored.resourceVersion
}

// Items returns the number of dependents, even if the release was read without its inventory.
func (r *Release) Items() int {
	if !r.stored.incomplete {
		return len(r.Inventory)
	}
	if r.stored.index.Inventory == nil {
		return 0
	}
	return r.stored.index.Inventory.Items
}

// UID returns the UID of the record; empty if there is none.
func (r *Release) UID() apitypes.UID { return r.stored.uid }

// RecordedState returns the state in the record, which differs from State if that was changed since; empty if there is
// no record.
func (r *Release) RecordedState() State { return r.stored.index.State }

const (
	// Label is the label that determines the owner of an object. Its value is a hash.
	Label = ReconcilerName + "/" + types.LabelKeySuffixOwnerId
	// Annotation is the annotation with the ID of the owner, from which the label is computed.
	Annotation = ReconcilerName + "/" + types.AnnotationKeySuffixOwnerId
)

// OwnerMark has the marks of an object that identify its owner. The zero value means that there is no owner.
type OwnerMark struct {
	// label determines the owner; id is the value of the annotation.
	label, id string
	// uid of the object.
	uid apitypes.UID
}

// IsMissing reports whether the object does not carry the label of any owner.
func (m OwnerMark) IsMissing() bool { return m.label == "" }

// OwnerID returns the value of the annotation, which any user can write; may be empty.
func (m OwnerMark) OwnerID() string { return m.id }

// Release returns the namespace and name of the release in the annotation; empty if there is none.
func (m OwnerMark) Release() string { return releaseOf(m.id) }

// Is reports whether the label is the label of an owner.
func (m OwnerMark) Is(ownerID string) bool { return m.label == manifest.OwnerLabel(ownerID) }

// String returns the display name of the owner.
func (m OwnerMark) String() string {
	if m.label == "" {
		return "no owner"
	}
	if release := releaseOf(m.id); release != "" {
		return "release " + release
	}
	return cmp.Or(m.id, "an unknown owner")
}

// LostLabel reports whether the object is the recorded one, and only its label was removed. Such an object still counts
// as a dependent.
func (m OwnerMark) LostLabel(item *reconciler.InventoryItem) bool {
	return m.label == "" && m.uid != "" && m.uid == item.UID
}

// Loss returns why a recorded object does not carry the label of the owner that has recorded it.
func (m OwnerMark) Loss(ownerID string, item *reconciler.InventoryItem) string {
	switch {
	case m.LostLabel(item):
		return "another client has removed its label; it is still a dependent, and will be deleted when the release no longer renders it"
	case m.label == "":
		return "another client has removed its label, so it has no owner"
	case m.id == ownerID:
		return "another client has changed its label, so it does not belong to the release"
	default:
		return "belongs to " + m.String()
	}
}

// ReadOwner reads the mark of an object. The error is NotFound if the object does not exist.
func ReadOwner(ctx context.Context, clnt client.Reader, object types.ObjectKey) (OwnerMark, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()}, metadata)
	if err != nil {
		return OwnerMark{}, fmt.Errorf("reading %s: %w", display.Text(object), err)
	}
	return OwnerOf(metadata), nil
}

// OwnerOf returns the mark of an object.
func OwnerOf(object metav1.Object) OwnerMark {
	return OwnerMark{label: object.GetLabels()[Label], id: object.GetAnnotations()[Annotation], uid: object.GetUID()}
}

// OwnerSelector selects the objects of an owner.
func OwnerSelector(ownerID string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{Label: manifest.OwnerLabel(ownerID)})
}

// releaseOf returns the namespace and name of the release with an owner ID; empty if the ID is invalid. Any user can
// write the annotation with the ID.
func releaseOf(ownerID string) string {
	release, ok := strings.CutPrefix(ownerID, ReconcilerName+"/")
	namespace, name, complete := strings.Cut(release, "/")
	if !ok || !complete || len(validation.IsDNS1123Label(namespace)) > 0 || ValidateName(name) != nil {
		return ""
	}
	return release
}
