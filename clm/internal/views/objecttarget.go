// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// kind is what can be looked at.
type kind struct {
	name, plural string
	short        string
	namespaced   bool
	// sets is the kind of the sets of a deployment; empty for sets.
	sets string
}

// kinds are all kinds. Those of a cluster come last.
var kinds = []kind{
	{name: "ObjectDeployment", plural: "objectdeployments", short: "odeploy", namespaced: true, sets: "ObjectSet"},
	{name: "ObjectSet", plural: "objectsets", short: "oset", namespaced: true},
	{name: "ClusterObjectDeployment", plural: "clusterobjectdeployments", short: "codeploy", sets: "ClusterObjectSet"},
	{name: "ClusterObjectSet", plural: "clusterobjectsets", short: "coset"},
}

// ObjectTarget names a set or a deployment.
type ObjectTarget struct {
	kind kind
	// Namespace is empty for what is cluster-scoped.
	Namespace, Name string
}

// ParseObjectTarget reads TYPE/NAME. The type is a kind, its plural, or its short name, in any case, and may have the group
// after a dot.
func ParseObjectTarget(text, namespace string) (ObjectTarget, error) {
	typeName, name, ok := strings.Cut(text, "/")
	typeName = strings.TrimSuffix(typeName, "."+v1alpha1.GroupVersion.Group)
	var allowed []string
	for _, k := range kinds {
		if ok && name != "" && slices.ContainsFunc([]string{k.name, k.plural, k.short}, func(known string) bool { return strings.EqualFold(known, typeName) }) {
			target := ObjectTarget{kind: k, Name: name}
			if k.namespaced {
				target.Namespace = namespace
			}
			return target, nil
		}
		allowed = append(allowed, strings.ToLower(k.name)+" ("+k.short+")")
	}
	return ObjectTarget{}, fmt.Errorf("%q is not TYPE/NAME; types are: %s", text, strings.Join(allowed, ", "))
}

// IsDeployment reports whether it is a deployment.
func (t ObjectTarget) IsDeployment() bool { return t.kind.sets != "" }

// String returns the kind, the namespace if there is one, and the name.
func (t ObjectTarget) String() string {
	if t.Namespace == "" {
		return t.kind.name + " " + t.Name
	}
	return t.kind.name + " " + t.Namespace + "/" + t.Name
}

func kindOf(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

func (k kind) newDeployment() v1alpha1.Deployment {
	if k.namespaced {
		return &v1alpha1.ObjectDeployment{}
	}
	return &v1alpha1.ClusterObjectDeployment{}
}

func (k kind) newSet() v1alpha1.Set {
	if k.namespaced {
		return &v1alpha1.ObjectSet{}
	}
	return &v1alpha1.ClusterObjectSet{}
}
