// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ListResource is a resource of a dynamic or metadata client, possibly limited to one namespace.
type ListResource[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListSelection selects objects. The zero value selects all.
type ListSelection struct {
	// Labels and Fields are selectors; an empty one selects all.
	Labels, Fields string
}

// ListWatch returns the functions that list and watch the selected objects of a resource.
func ListWatch[L runtime.Object](resource ListResource[L], selection ListSelection) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = selection.Labels, selection.Fields
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = selection.Labels, selection.Fields
			return resource.Watch(ctx, options)
		},
	}
}
