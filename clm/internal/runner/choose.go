// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/cluster"
)

// Choice is what was chosen among the pods of a release. It is safe for concurrent use.
type Choice struct {
	release *releases.Release
	choices []*choice
}

// Choose returns the choice of the pods that are, or whose dependent is, among the named objects:
// KIND[.GROUP]/[NAMESPACE/]NAME. Without names these are all. That a release has no such dependent, or several of them,
// is a RefusedError; pods come and go.
func Choose(clnt cluster.Client, release *releases.Release, texts []string) (*Choice, error) {
	chosen := &Choice{release: release}
	for _, text := range texts {
		c := &choice{}
		var err error
		if c.reference, err = parseReference(text); err != nil {
			return nil, err
		}
		if c.kinds, err = kindsNamed(clnt, c.reference); err != nil {
			return nil, err
		}
		var denoted []string
		for _, item := range release.Inventory {
			if c.denotes(item.GroupVersionKind().GroupKind(), item.Namespace, item.Name) {
				denoted = append(denoted, display.Text(item))
			}
		}
		switch {
		case len(denoted) > 1:
			return nil, ambiguous(text, "release "+release.String(), denoted)
		case len(denoted) == 0 && !c.kinds[schema.GroupKind{Kind: "Pod"}]:
			return nil, releases.Refused("release %s has no dependent %s; to list them: clm tree %s -n %s", release, text, release.Name, release.Namespace)
		}
		// A dependent is there, whether it has pods or not.
		c.found.Store(len(denoted) > 0)
		chosen.choices = append(chosen.choices, c)
	}
	return chosen, nil
}

// Has reports whether a pod of a dependent, perhaps itself, is chosen.
func (c *Choice) Has(dependent, pod display.Object) bool {
	has := len(c.choices) == 0
	for _, choice := range c.choices {
		for _, object := range []display.Object{dependent, pod} {
			if choice.denotes(schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind(), object.Namespace, object.Name) {
				choice.found.Store(true)
				has = true
			}
		}
	}
	return has
}

// ConfirmFound returns a RefusedError if pods were chosen for which Has was never called.
func (c *Choice) ConfirmFound() error {
	for _, choice := range c.choices {
		if !choice.found.Load() {
			return releases.Refused("release %s has no %s; to list its objects: clm tree %s -n %s", c.release, choice.text, c.release.Name, c.release.Namespace)
		}
	}
	return nil
}

// choice is a reference with the types that it may mean.
type choice struct {
	reference
	kinds map[schema.GroupKind]bool
	found atomic.Bool
}

func (c *choice) denotes(kind schema.GroupKind, namespace, name string) bool {
	return name == c.name && (c.namespace == "" || namespace == c.namespace) && (c.isNameOf(kind.Kind, kind.Group) || c.kinds[kind])
}
