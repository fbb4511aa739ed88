// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package selectors selects containers of a pod template.
package selectors

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ContainerSelector reports whether a container is selected. Its arguments are the position of the container in its
// list, and the container, which it must not change. If it selects none, it is called once more, with position -1 and
// an empty container: if it accepts that, it accepts any container, and may select none.
type ContainerSelector func(index int, container *corev1.Container) bool

// AllContainers selects all containers.
func AllContainers() ContainerSelector {
	return func(int, *corev1.Container) bool { return true }
}

// ContainerNamed selects the container with the given name.
func ContainerNamed(name string) ContainerSelector { return ContainersNamed(name) }

// ContainersNamed selects the containers with one of the given names.
func ContainersNamed(names ...string) ContainerSelector {
	wanted := slices.Clone(names)
	return func(_ int, container *corev1.Container) bool { return slices.Contains(wanted, container.Name) }
}

// ContainerNotNamed selects all containers except the one with the given name.
func ContainerNotNamed(name string) ContainerSelector { return ContainersNotNamed(name) }

// ContainersNotNamed selects all containers except those with one of the given names.
func ContainersNotNamed(names ...string) ContainerSelector {
	excluded := slices.Clone(names)
	return func(_ int, container *corev1.Container) bool { return !slices.Contains(excluded, container.Name) }
}

// ContainerAtIndex selects the container at the given position, starting at 0.
func ContainerAtIndex(index int) ContainerSelector {
	return func(i int, _ *corev1.Container) bool { return index >= 0 && i == index }
}
