// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// Label is the label that decides who owns an object. Its value is a hash.
	Label = ReconcilerName + "/" + types.LabelKeySuffixOwnerId
	// Annotation has the id of the owner, from which the label is computed.
	Annotation = ReconcilerName + "/" + types.AnnotationKeySuffixOwnerId
)

// OwnerMark is what an object says about its owner. The zero value is that of an object without an owner.
type OwnerMark struct {
	// label decides; id is the value of the annotation.
	label, id string
	// uid is that of the object.
	uid apitypes.UID
}

// IsMissing reports whether the object does not carry the label of any owner.
func (m OwnerMark) IsMissing() bool { return m.label == "" }

// OwnerID returns the value of the annotation, which any user can write; may be empty.
func (m OwnerMark) OwnerID() string { return m.id }

// Release returns namespace and name of the release that the annotation names; empty if it names none.
func (m OwnerMark) Release() string { return releaseOf(m.id) }

// Is reports whether the label is that of an owner.
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

// Loss says why a recorded object does not carry the label of the owner that has recorded it.
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

// releaseOf returns namespace and name of the release with an owner id; empty if the id is invalid. Any user can write
// the annotation that has the id.
func releaseOf(ownerID string) string {
	release, ok := strings.CutPrefix(ownerID, ReconcilerName+"/")
	namespace, name, complete := strings.Cut(release, "/")
	if !ok || !complete || len(validation.IsDNS1123Label(namespace)) > 0 || ValidateName(name) != nil {
		return ""
	}
	return release
}
