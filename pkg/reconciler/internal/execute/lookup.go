// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/types"
)

// ReadAnyway makes a read that a deletion depends on: as the client or, if that is forbidden, as the client of the
// reconciler from which Reconciler.As made this one.
func (api *Server) ReadAnyway(read func(cluster.Client) error) error {
	err := api.Read(func() error { return read(api.Client) })
	if api.Reading == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return api.Read(func() error { return read(api.Reading) })
}

// AskAnyway is Ask with ReadAnyway.
func (api *Server) AskAnyway(ctx context.Context, item *inventory.Item) (s decide.Situation, err error) {
	err = api.ReadAnyway(func(clnt cluster.Client) error {
		object, err := LookUp(ctx, clnt, item)
		s, err = api.situationOf(object, err)
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading %s: %w", types.IDOf(item), err)
	}
	return s, err
}

// LookUp reads an object in its recorded version.
func LookUp(ctx context.Context, clnt client.Client, item *inventory.Item) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object)
	switch {
	case err == nil && object.GetNamespace() != item.Namespace:
		// The client has left out the namespace because the type is cluster-scoped now. This is another object.
		return nil, ErrOtherScope
	case err != nil && lacksNamespace(clnt, item, err):
		return nil, ErrOtherScope
	default:
		return object, err
	}
}

// lacksNamespace reports whether the client has sent no request because the type is namespaced, and the recorded object
// is not.
func lacksNamespace(clnt client.Client, item *inventory.Item, err error) bool {
	var status apierrors.APIStatus
	if item.Namespace != "" || errors.As(err, &status) || cluster.IsNoMatch(err) {
		return false
	}
	mapping, lookErr := clnt.RESTMapper().RESTMapping(item.GroupVersionKind().GroupKind(), item.Version)
	return lookErr == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// ListPage is the number of objects in one page of a list.
const ListPage = 500

// Each lists the objects of a type page by page, whole or only their metadata, until visit returns false.
func (api *Server) Each(
	ctx context.Context, clnt client.Reader, kind schema.GroupVersionKind, whole bool, visit func(client.Object) (more bool, err error), options ...client.ListOption,
) error {
	for next, more := "", true; more; {
		var list client.ObjectList = &metav1.PartialObjectMetadataList{}
		if whole {
			list = &unstructured.UnstructuredList{}
		}
		list.GetObjectKind().SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		page := slices.Concat([]client.ListOption{client.Limit(ListPage)}, options, []client.ListOption{client.Continue(next)})
		if err := api.Read(func() error { return clnt.List(ctx, list, page...) }); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(item runtime.Object) (err error) {
			object, ok := item.(client.Object)
			if !ok || !more {
				return nil
			}
			object.GetObjectKind().SetGroupVersionKind(kind)
			more, err = visit(object)
			return err
		})
		if next = list.GetContinue(); next == "" || err != nil {
			return err
		}
	}
	return nil
}
