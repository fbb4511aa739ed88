// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	ownerLabel      = releases.ReconcilerName + "/" + types.LabelKeySuffixOwnerId
	ownerAnnotation = releases.ReconcilerName + "/" + types.AnnotationKeySuffixOwnerId
)

// ownership is what an object says about its owner.
type ownership struct {
	// label is what decides, id is what it is made of.
	label, id string
	// uid is that of the object.
	uid apitypes.UID
}

func (o ownership) is(ownerID string) bool { return o.label == digest.OwnerLabel(ownerID) }

// String names the owner for people.
func (o ownership) String() string {
	if o.label == "" {
		return "nobody"
	}
	if release := releaseOf(o.id); release != "" {
		return "release " + release
	}
	return cmp.Or(o.id, "an unknown owner")
}

// lostLabel reports whether the object is the recorded one, and merely its label was removed. Then it still counts as a dependent.
func (o ownership) lostLabel(item *reconciler.InventoryItem) bool {
	return o.label == "" && o.uid != "" && o.uid == item.UID
}

// loss says why a recorded object does not carry the label of the owner that has recorded it.
func (o ownership) loss(ownerID string, item *reconciler.InventoryItem) string {
	switch {
	case o.lostLabel(item):
		return "somebody has removed its label; it still counts as a dependent, and goes when the release does not want it any more"
	case o.label == "":
		return "somebody has removed its label, so that it belongs to nobody"
	case o.id == ownerID:
		return "somebody has changed its label, so that it does not belong to the release"
	default:
		return "belongs to " + o.String()
	}
}

// ownerOf reads who owns an object. An error may be NotFound.
func (s *Session) ownerOf(ctx context.Context, object types.ObjectKey) (ownership, error) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := s.client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()}, metadata)
	if err != nil {
		return ownership{}, fmt.Errorf("reading %s: %w", keyOf(object), err)
	}
	return ownershipOf(metadata), nil
}

func ownershipOf(object metav1.Object) ownership {
	return ownership{label: object.GetLabels()[ownerLabel], id: object.GetAnnotations()[ownerAnnotation], uid: object.GetUID()}
}

// releaseOf returns namespace and name of the release that has an owner id; empty if there cannot be such a release. Anybody can write anything into the
// annotation that has the id.
func releaseOf(ownerID string) string {
	release, ok := strings.CutPrefix(ownerID, releases.ReconcilerName+"/")
	namespace, name, complete := strings.Cut(release, "/")
	if !ok || !complete || len(validation.IsDNS1123Label(namespace)) > 0 || releases.ValidateName(name) != nil {
		return ""
	}
	return release
}
