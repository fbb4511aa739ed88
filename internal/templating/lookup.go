// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// Lookup provides functions that read from a cluster. It lives no longer than one rendering, therefore it may keep the
// context.
type Lookup struct {
	ctx       context.Context
	getClient func() (client.Client, error)
}

// NewLookup returns a Lookup whose functions read with the given context, through the client that getClient returns.
// Each function calls getClient, because that records that the cluster is read.
func NewLookup(ctx context.Context, getClient func() (client.Client, error)) Lookup {
	return Lookup{ctx: ctx, getClient: getClient}
}

// One returns an object. If the name is empty, it returns the list of all objects of the namespace, or of all
// namespaces if that is empty, too. If the object or its type does not exist, it returns an empty map.
func (l Lookup) One(apiVersion, kind, namespace, name string) (map[string]any, error) {
	content, err := l.MustOne(apiVersion, kind, namespace, name)
	if absent(err) {
		return map[string]any{}, nil
	}
	return content, err
}

// MustOne is One, except that a missing object or type is an error.
func (l Lookup) MustOne(apiVersion, kind, namespace, name string) (map[string]any, error) {
	if name == "" {
		list, err := l.read(apiVersion, kind, namespace)
		if err != nil {
			return nil, wrap(err, apiVersion, kind, namespace, name)
		}
		return list.UnstructuredContent(), nil
	}
	clnt, mapping, err := l.find(apiVersion, kind)
	if err != nil {
		return nil, wrap(err, apiVersion, kind, namespace, name)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	} else if namespace == "" {
		return nil, wrap(apierrors.NewNotFound(mapping.Resource.GroupResource(), name), apiVersion, kind, namespace, name)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := clnt.Get(l.ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, wrap(err, apiVersion, kind, namespace, name)
	}
	return object.Object, nil
}

// List returns the objects of a namespace, or of all namespaces if it is empty, that have the given labels, in the
// notation of kubectl. An empty selector selects all objects. An unknown type has none.
func (l Lookup) List(apiVersion, kind, namespace, labelSelector string) ([]any, error) {
	selector, err := labels.Parse(labelSelector)
	if err != nil {
		return nil, fmt.Errorf("label selector %q: %w", labelSelector, err)
	}
	list, err := l.read(apiVersion, kind, namespace, client.MatchingLabelsSelector{Selector: selector})
	if absent(err) {
		return []any{}, nil
	}
	if err != nil {
		return nil, wrap(err, apiVersion, kind, namespace, "")
	}
	items := make([]any, 0, len(list.Items))
	for _, item := range list.Items {
		items = append(items, item.Object)
	}
	return items, nil
}

func (l Lookup) find(apiVersion, kind string) (client.Client, *meta.RESTMapping, error) {
	if apiVersion == "" || kind == "" {
		return nil, nil, errors.New("an API version and a kind are needed")
	}
	clnt, err := l.getClient()
	if err != nil {
		return nil, nil, err
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	mapping, err := clnt.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	return clnt, mapping, err
}

func (l Lookup) read(apiVersion, kind, namespace string, options ...client.ListOption) (*unstructured.UnstructuredList, error) {
	clnt, mapping, err := l.find(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		options = append(options, client.InNamespace(namespace))
	}
	list := &unstructured.UnstructuredList{}
	gvk := mapping.GroupVersionKind
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list, clnt.List(l.ctx, list, options...)
}

// absent reports whether an object, or its type, does not exist.
func absent(err error) bool {
	return apierrors.IsNotFound(err) || cluster.IsNoMatch(err)
}

func wrap(err error, apiVersion, kind, namespace, name string) error {
	what := strings.Trim(namespace+"/"+name, "/")
	if what != "" {
		what = " " + what
	}
	return fmt.Errorf("looking up %s %s%s: %w", apiVersion, kind, what, err)
}
