// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/types"
)

// offset puts PreSync before all waves of Sync. Hooks of Helm charts use waves between, -201 to 201.
const offset = 20000

// ApplyOrder returns the apply order of a wave of a phase. PreSync consists of waves before those of Sync. Other phases
// are applied on their own; there, the apply order is the wave.
func ApplyOrder(phase Phase, wave int) int {
	if phase == PreSync {
		return wave - offset
	}
	return wave
}

// PhaseOf returns the phase and the wave with an apply order, as far as ApplyOrder tells them apart.
func PhaseOf(order int) (phase Phase, wave int) {
	if order <= MaxWave-offset {
		return PreSync, order + offset
	}
	return Sync, order
}

// Placed is an object with its place in the order.
type Placed struct {
	types.ObjectID

	// Defines is the type that a CustomResourceDefinition defines; empty for all others.
	Defines schema.GroupKind
	// Order is the apply order.
	Order int
}

// namespaces is the type of namespaces.
var namespaces = schema.GroupKind{Kind: "Namespace"}

// Lift moves a Namespace to the first object in it, and then a CustomResourceDefinition to the first object of its
// type, if these come earlier. Within one order, Namespaces and definitions come first anyway. The objects must be
// those of one call of the engine, with the namespaces in which they will be.
func Lift(objects []Placed) {
	first := map[string]int{}
	for _, object := range objects {
		if object.Namespace != "" {
			first[object.Namespace] = earliest(first, object.Namespace, object.Order)
		}
	}
	for i, object := range objects {
		if object.GroupKind == namespaces {
			objects[i].Order = earliest(first, object.Name, object.Order)
		}
	}
	firstOf := map[schema.GroupKind]int{}
	for _, object := range objects {
		firstOf[object.GroupKind] = earliest(firstOf, object.GroupKind, object.Order)
	}
	for i, object := range objects {
		if !object.Defines.Empty() {
			objects[i].Order = earliest(firstOf, object.Defines, object.Order)
		}
	}
}

// earliest returns an order, or the one in a table if that is earlier.
func earliest[K comparable](table map[K]int, key K, order int) int {
	if known, ok := table[key]; ok {
		return min(known, order)
	}
	return order
}

const (
	// maxNameLength is that of values of labels, in which controllers such as that of Jobs repeat names.
	maxNameLength = 63
	// nameDigestLength is the length of the end of a generated name, in hexadecimal digits.
	nameDigestLength = 10
)

// PhaseName returns the name of a hook in a phase that is not the first one of its phases, such as "migrate-postsync".
// A name that would be too long is cut, and gets a digest.
func PhaseName(name string, phase Phase) (string, error) {
	suffix := "-" + strings.ToLower(string(phase))
	if len(name)+len(suffix) <= maxNameLength {
		return name + suffix, nil
	}
	sum, err := manifest.Digest(name)
	if err != nil {
		return "", fmt.Errorf("shortening the name %s: %w", name, err)
	}
	return name[:maxNameLength-len(suffix)-nameDigestLength-1] + "-" + sum[:nameDigestLength] + suffix, nil
}

// GeneratedName returns the name of a hook that has none; it begins with a base, which is generateName if the hook has
// that. It is the same whenever the hook is generated for the same revision, so that a repetition does not run the hook
// again, and another one for each owner, in each phase and each revision.
func GeneratedName(hook any, base string, phase Phase, owner, revision string) (string, error) {
	sum, err := manifest.Digest(map[string]any{"manifest": hook, "phase": string(phase), "owner": owner, "revision": revision})
	if err != nil {
		return "", fmt.Errorf("generating a name from %s: %w", base, err)
	}
	return base[:min(len(base), maxNameLength-nameDigestLength)] + sum[:nameDigestLength], nil
}
