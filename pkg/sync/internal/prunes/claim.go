// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prunes

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/guarded"
	"github.com/component-operator/runtime/pkg/types"
)

// An Owner makes objects its dependents.
type Owner struct {
	// Name is the prefix of the label and the annotation.
	Name string
	// ID of the owner.
	ID string
	// Client is for the cluster of the objects.
	Client client.Client
}

// Claim says what became of an object that should become a dependent.
type Claim string

const (
	// Claimed means that the object is a dependent of the owner.
	Claimed Claim = "claimed"
	// Vanished means that the object does not exist any more, or that there is another one with its name.
	Vanished Claim = "vanished"
	// Foreign means that the object is a dependent of another owner.
	Foreign Claim = "foreign"
)

// attempts bounds how often an object is read again because others have changed it.
const attempts = 5

// Claim makes a live object a dependent, so that the engine deletes it. The caller vouches that the object belongs to it.
func (o Owner) Claim(ctx context.Context, live *unstructured.Unstructured) (Claim, error) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: live.GetNamespace(), Name: live.GetName(), UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), Labels: live.GetLabels(),
	}}
	object.SetGroupVersionKind(live.GroupVersionKind())
	label, owner := o.Name+"/"+types.LabelKeySuffixOwnerId, digest.OwnerLabel(o.ID)
	var err error
	for range attempts {
		switch mark := object.GetLabels()[label]; {
		case object.GetUID() != live.GetUID():
			return Vanished, nil
		case mark == owner:
			return Claimed, nil
		case mark != "":
			return Foreign, nil
		}
		patch, failure := guarded.MergePatch(object.GetUID(), object.GetResourceVersion(), map[string]any{"metadata": map[string]any{
			"labels": map[string]any{label: owner}, "annotations": map[string]any{o.Name + "/" + types.AnnotationKeySuffixOwnerId: o.ID},
		}})
		if failure != nil {
			return "", failure
		}
		if err = o.Client.Patch(ctx, object, patch, client.FieldOwner(o.Name)); err == nil {
			return Claimed, nil
		}
		if !conflicts.IsOutdated(err) && !apierrors.IsInvalid(err) {
			break
		}
		if err = o.Client.Get(ctx, client.ObjectKeyFromObject(live), object); err != nil {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return Vanished, nil
	}
	return "", fmt.Errorf("marking %s, which is going to be pruned: %w", types.IDOf(live), err)
}
