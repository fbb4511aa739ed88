// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/texts"
)

// pageSize is the size of a page of indexes, which may be large.
const pageSize = 50

// List reads all releases of a namespace, or of all namespaces if it is empty, sorted by namespace and name, without
// their inventories and with no other revision than the current one: what it returns cannot be saved. A record that
// cannot be used does not prevent the others from being listed; see Release.Problem.
func (s *Store) List(ctx context.Context, namespace string) ([]*Release, error) {
	var found []*Release
	err := pages(ctx, s.options.Client, namespace, ours, func() client.ObjectList { return &corev1.SecretList{} }, func(page client.ObjectList) {
		if secrets, ok := page.(*corev1.SecretList); ok {
			for i := range secrets.Items {
				if secrets.Items[i].Type == SecretType {
					found = append(found, listed(&secrets.Items[i]))
				}
			}
		}
	})
	if err == nil {
		found, err = s.ancestry.appendTo(ctx, found, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("listing releases: %w", err)
	}
	slices.SortFunc(found, func(a, b *Release) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// listed returns what an index says, as far as it is shown: those of all releases of a cluster may be too large
// together.
func listed(secret *corev1.Secret) *Release {
	release, err := decodeSecret(secret)
	if release == nil {
		release = &Release{Namespace: secret.Namespace, Name: strings.TrimPrefix(secret.Name, prefix)}
	}
	dependents := release.Items()
	release.stored.incomplete, release.stored.raw = true, nil
	release.stored.index = index{State: release.stored.index.State, Inventory: &chunks.List{Items: dependents}}
	if current := release.Current(); current != nil {
		release.Revisions = []Revision{*current}
	}
	release.Message = texts.Truncate(release.Message, maxMessage)
	if err != nil {
		release.Problem = problemOf(err)
	}
	return release
}

// problemOf returns what is wrong with a record, without naming the release again.
func problemOf(err error) string {
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return damaged.Damage
	}
	return err.Error()
}

// Names returns namespaces and names of all releases of a namespace, or of all namespaces if it is empty, sorted. It reads no more
// than the metadata of the records.
func (s *Store) Names(ctx context.Context, namespace string) ([]apitypes.NamespacedName, error) {
	var names []apitypes.NamespacedName
	for _, records := range []struct {
		kind, prefix string
		selector     client.ListOption
	}{
		{"Secret", prefix, ours}, {"ConfigMap", ancestorPrefix, ancestors},
	} {
		newPage := func() client.ObjectList {
			page := &metav1.PartialObjectMetadataList{}
			page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(records.kind + "List"))
			return page
		}
		err := pages(ctx, s.options.Client, namespace, records.selector, newPage, func(page client.ObjectList) {
			if list, ok := page.(*metav1.PartialObjectMetadataList); ok {
				for _, object := range list.Items {
					if name, ok := strings.CutPrefix(object.Name, records.prefix); ok {
						names = append(names, apitypes.NamespacedName{Namespace: object.Namespace, Name: name})
					}
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("listing names of releases: %w", err)
		}
	}
	slices.SortFunc(names, func(a, b apitypes.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(names), nil
}

// Nearby returns which releases a user may have meant who has asked for one that does not exist, as "namespace/name": those of that
// name in other namespaces, and all of the namespace. If the user may not list all namespaces, the namespace alone counts. There are at
// most ten.
func (s *Store) Nearby(ctx context.Context, namespace, name string) ([]string, error) {
	names, err := s.Names(ctx, "")
	if apierrors.IsForbidden(err) {
		names, err = s.Names(ctx, namespace)
	}
	if err != nil {
		return nil, err
	}
	var sameName, sameNamespace []string
	for _, other := range names {
		switch {
		case other.Namespace == namespace && other.Name == name:
			// It has come into being since.
		case other.Name == name:
			sameName = append(sameName, other.String())
		case other.Namespace == namespace:
			sameNamespace = append(sameNamespace, other.String())
		}
	}
	const limit = 10
	found := slices.Concat(sameName, sameNamespace)
	return found[:min(len(found), limit)], nil
}

// ours selects the indexes among the Secrets.
var ours client.ListOption = client.MatchingLabels{recordLabel: recordRelease}

// pages lists all records of a kind. Each page has a list of its own: decoding into one that is not empty leaves what was in it before.
func pages(ctx context.Context, reader client.Reader, namespace string, selector client.ListOption, newPage func() client.ObjectList, use func(client.ObjectList)) error {
	next := ""
	for {
		page := newPage()
		err := reader.List(ctx, page, client.InNamespace(namespace), selector, client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return err
		}
		use(page)
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}
