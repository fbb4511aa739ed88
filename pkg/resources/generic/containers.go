// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// containers are two categories for a list of containers: first what is added and removed, then edits of those that are
// selected.
type containers struct {
	plan     *Plan
	title    string
	list     *[]corev1.Container
	presence *Category[*[]corev1.Container]
	edits    []recorded[containerEdit]
}

type containerEdit struct {
	selector selectors.ContainerSelector
	edit     func(*editors.ContainerEditor) error
}

func newContainers(plan *Plan, title string, list *[]corev1.Container) *containers {
	c := &containers{plan: plan, title: title, list: list, presence: NewCategory(plan, "presence of "+title, list)}
	plan.categories = append(plan.categories, c)
	return c
}

func (c *containers) ensure(container corev1.Container) {
	container = *container.DeepCopy()
	c.presence.Record(func(list *[]corev1.Container) error {
		// Each object gets a copy of its own, because later edits change it.
		wanted := *container.DeepCopy()
		if i := slices.IndexFunc(*list, func(existing corev1.Container) bool { return existing.Name == wanted.Name }); i >= 0 {
			(*list)[i] = wanted
		} else {
			*list = append(*list, wanted)
		}
		return nil
	})
}

func (c *containers) remove(names ...string) {
	names = slices.Clone(names)
	c.presence.Record(func(list *[]corev1.Container) error {
		*list = slices.DeleteFunc(*list, func(existing corev1.Container) bool { return slices.Contains(names, existing.Name) })
		return nil
	})
}

func (c *containers) edit(selector selectors.ContainerSelector, edit func(*editors.ContainerEditor) error) {
	if selector != nil && edit != nil {
		c.edits = append(c.edits, recorded[containerEdit]{feature: c.plan.current, edit: containerEdit{selector: selector, edit: edit}})
	}
}

func (c *containers) name() string { return c.title }

func (c *containers) forget() { c.edits = nil }

func (c *containers) run(feature int) error {
	edits := make([]containerEdit, 0, len(c.edits))
	for _, r := range c.edits {
		if r.feature == feature {
			edits = append(edits, r.edit)
		}
	}
	if len(edits) == 0 {
		return nil
	}
	// All selectors are asked before the first edit, so that they see the containers as they were before.
	selected, matched := make([][]int, len(*c.list)), make([]bool, len(edits))
	for i := range *c.list {
		for j, e := range edits {
			if e.selector(i, &(*c.list)[i]) {
				selected[i], matched[j] = append(selected[i], j), true
			}
		}
	}
	if err := c.checkMatched(feature, edits, matched); err != nil {
		return err
	}
	for i, chosen := range selected {
		container := &(*c.list)[i]
		name := container.Name
		for _, j := range chosen {
			if err := edits[j].edit(editors.NewContainerEditor(container)); err != nil {
				return fmt.Errorf("container %q: %w", name, err)
			}
		}
	}
	return nil
}

// checkMatched notes edits that have selected no container, unless their selector accepts any.
func (c *containers) checkMatched(feature int, edits []containerEdit, matched []bool) error {
	for j, e := range edits {
		if matched[j] || acceptsAny(e.selector) {
			continue
		}
		if err := c.plan.unmatched(feature, c.title, fmt.Sprintf("the selector of edit %d matches none of %s", j+1, c.names())); err != nil {
			return err
		}
	}
	return nil
}

// acceptsAny reports whether a selector accepts a container of which nothing is known. One that fails because of that
// does not.
func acceptsAny(selector selectors.ContainerSelector) (accepts bool) {
	defer func() {
		if recover() != nil {
			accepts = false
		}
	}()
	return selector(-1, &corev1.Container{})
}

func (c *containers) names() string {
	names := make([]string, len(*c.list))
	for i, container := range *c.list {
		names[i] = container.Name
	}
	return fmt.Sprintf("%q", names)
}
