// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ func(*reconciler.InventoryItem) schema.ObjectKind        = (*reconciler.InventoryItem).GetObjectKind
	_ func(*reconciler.InventoryItem, schema.GroupVersionKind) = (*reconciler.InventoryItem).SetGroupVersionKind
	_ func(reconciler.InventoryItem) string                    = reconciler.InventoryItem.GetName
	_ func(reconciler.InventoryItem) string                    = reconciler.InventoryItem.GetNamespace
	_ func(reconciler.InventoryItem) schema.GroupVersionKind   = reconciler.InventoryItem.GroupVersionKind
	_ func(reconciler.InventoryItem, types.ObjectKey) bool     = reconciler.InventoryItem.Matches
	_ func(reconciler.InventoryItem) string                    = reconciler.InventoryItem.String
	_ types.ObjectKey                                          = &reconciler.InventoryItem{}
)

// copied is what generated code of API types calls.
type copied[T any] interface {
	*T
	DeepCopy() *T
	DeepCopyInto(out *T)
}

func mustBeCopied[T any, P copied[T]]() struct{} { return struct{}{} }

var _ = []struct{}{
	mustBeCopied[reconciler.InventoryItem](), mustBeCopied[reconciler.TypeInfo](),
	mustBeCopied[reconciler.TypeVersionInfo](), mustBeCopied[reconciler.NameInfo](),
}
