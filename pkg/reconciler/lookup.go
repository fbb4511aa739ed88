// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// errOtherScope is about an object that cannot exist as it is recorded, because its type has another scope. Whether the client knows the
// scope of now has to be found out.
var errOtherScope = errors.New("its type has another scope")

// readAnyway makes a request that changes nothing, and on which a deletion depends: as the client's identity and, if that may not, as
// that of the reconciler from which this one was made; see Reconciler.As.
func (p *pass) readAnyway(read func(cluster.Client) error) error {
	err := p.read(func() error { return read(p.client) })
	if p.reading == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return p.read(func() error { return read(p.reading) })
}

// askAnyway is ask by readAnyway.
func (p *pass) askAnyway(ctx context.Context, item *InventoryItem) (s situation, err error) {
	err = p.readAnyway(func(clnt cluster.Client) error {
		object, err := lookUp(ctx, clnt, item)
		s, err = p.situationOf(object, err)
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading %s: %w", keyOf(item), err)
	}
	return s, err
}

// lookUp reads an object as it is recorded.
func lookUp(ctx context.Context, clnt client.Client, item *InventoryItem) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	err := clnt.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object)
	switch {
	case err == nil && object.GetNamespace() != item.Namespace:
		// Clients leave out the namespace if the type has none. That is another object.
		return nil, errOtherScope
	case err != nil && lacksNamespace(clnt, item, err):
		return nil, errOtherScope
	default:
		return object, err
	}
}

// lacksNamespace reports whether a request was not sent because the type is namespaced, and the object is not.
func lacksNamespace(clnt client.Client, item *InventoryItem, err error) bool {
	var status apierrors.APIStatus
	if item.Namespace != "" || errors.As(err, &status) || cluster.IsNoMatch(err) {
		return false
	}
	mapping, lookErr := clnt.RESTMapper().RESTMapping(item.GroupVersionKind().GroupKind(), item.Version)
	return lookErr == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}
