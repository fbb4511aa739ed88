// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import "github.com/component-operator/runtime/pkg/types"

// Keys are the labels and annotations of one reconciler.
type Keys struct {
	Prefix, OwnerLabel, OwnerAnnotation, Digest, PrunePolicy, BarrierLabel string
}

// NewKeys returns the keys of the reconciler with the given name.
func NewKeys(name string) Keys {
	return Keys{
		Prefix:          name + "/",
		OwnerLabel:      name + "/" + types.LabelKeySuffixOwnerId,
		OwnerAnnotation: name + "/" + types.AnnotationKeySuffixOwnerId,
		Digest:          name + "/" + types.AnnotationKeySuffixDigest,
		PrunePolicy:     name + "/" + types.AnnotationKeySuffixPrunePolicy,
		BarrierLabel:    name + "/" + types.LabelKeySuffixBarrierOwnerId,
	}
}
