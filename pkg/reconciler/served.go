// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served asks the server, not what was discovered at some time, in which version a type that a CustomResourceDefinition
// defines is served. It returns nil if there is no such definition, or it is being deleted. It returns an error if the type
// is defined, but not served in any version: there may be instances that nobody can see, and that would be lost.
func (p *pass) served(ctx context.Context, kind schema.GroupKind) (*meta.RESTMapping, error) {
	p.definitionsOnce.Do(func() {
		p.definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: groupCRD, Version: "v1", Kind: "CustomResourceDefinitionList"})
		p.definitionsErr = p.read(func() error { return p.client.List(ctx, &p.definitions) })
	})
	if p.definitionsErr != nil {
		return nil, fmt.Errorf("listing definitions of types: %w", p.definitionsErr)
	}
	for _, crd := range p.definitions.Items {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group != kind.Group || name != kind.Kind || crd.GetDeletionTimestamp() != nil {
			continue
		}
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		if version := servedVersion(&crd); version != "" {
			gv := schema.GroupVersion{Group: group, Version: version}
			return &meta.RESTMapping{GroupVersionKind: gv.WithKind(name), Resource: gv.WithResource(plural)}, nil
		}
		if stored, _, _ := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions"); len(stored) > 0 {
			return nil, refused(fmt.Sprintf("CustomResourceDefinition %s: serves no version, so that it cannot be seen whether there are instances of it; let it serve one of: %s",
				crd.GetName(), strings.Join(stored, ", ")))
		}
	}
	return nil, nil
}

// servedVersion returns the first version that is served, or "".
func servedVersion(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		version, _ := version.(map[string]any)
		if isServed, _, _ := unstructured.NestedBool(version, "served"); isServed {
			name, _, _ := unstructured.NestedString(version, "name")
			return name
		}
	}
	return ""
}

// askServed is ask for an object whose recorded version may not be served any more. The item goes over to one that is. Only if
// the type is not served at all, or the server does not know the object in a served version, it does not exist.
func (p *pass) askServed(ctx context.Context, item *InventoryItem) (situation, error) {
	s, err := p.ask(ctx, item)
	if err != nil || s.exists || s.typed {
		return s, err
	}
	mapping, err := p.served(ctx, item.GroupVersionKind().GroupKind())
	if err != nil || mapping == nil {
		return s, err
	}
	if mapping.GroupVersionKind.Version == item.Version {
		return s, fmt.Errorf("reading %s: its type is defined in version %s, but not served yet", keyOf(item), item.Version)
	}
	item.Version = mapping.GroupVersionKind.Version
	return p.ask(ctx, item)
}
