// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
	"github.com/component-operator/runtime/pkg/resources/selectors"
)

// PodTemplate is the part of a mutator that edits a pod template. A mutation for the pod templates of several kinds
// takes a *PodTemplate.
type PodTemplate struct {
	PodSpec

	metadata *Category[*editors.ObjectMetaEditor]
}

// NewPodTemplate adds the categories of a pod template to a plan: pod metadata, and then those of NewPodSpec.
func NewPodTemplate(plan *Plan, template *corev1.PodTemplateSpec) PodTemplate {
	return PodTemplate{
		metadata: NewCategory(plan, "pod template metadata", editors.NewObjectMetaEditor(&template.ObjectMeta)),
		PodSpec:  NewPodSpec(plan, &template.Spec),
	}
}

// EditPodTemplateMetadata records an edit of the labels and annotations of the pods. Nil is ignored.
func (p *PodTemplate) EditPodTemplateMetadata(edit func(*editors.ObjectMetaEditor) error) {
	p.metadata.Record(edit)
}

// PodSpec is the part of a mutator that edits the spec of pods. Selectors see the containers after the current feature
// has added and removed containers, and before it has edited any.
type PodSpec struct {
	spec                       *Category[*editors.PodSpecEditor]
	containers, initContainers *containers
}

// NewPodSpec adds the categories of a pod spec to a plan: the spec itself, adding and removing containers, editing
// containers, and the last two for init containers.
func NewPodSpec(plan *Plan, spec *corev1.PodSpec) PodSpec {
	return PodSpec{
		spec:           NewCategory(plan, "pod spec", editors.NewPodSpecEditor(spec)),
		containers:     newContainers(plan, "containers", &spec.Containers),
		initContainers: newContainers(plan, "init containers", &spec.InitContainers),
	}
}

// EditPodSpec records an edit of the spec of the pods. Nil is ignored.
func (p *PodSpec) EditPodSpec(edit func(*editors.PodSpecEditor) error) { p.spec.Record(edit) }

// EditContainers records an edit of the selected containers. It is ignored if the selector or the edit is nil.
func (p *PodSpec) EditContainers(selector selectors.ContainerSelector, edit func(*editors.ContainerEditor) error) {
	p.containers.edit(selector, edit)
}

// EnsureContainer records that the container is added, or replaces the one with the same name.
func (p *PodSpec) EnsureContainer(container corev1.Container) { p.containers.ensure(container) }

// RemoveContainer records that the container with the given name is removed.
func (p *PodSpec) RemoveContainer(name string) { p.containers.remove(name) }

// RemoveContainers records that the containers with the given names are removed.
func (p *PodSpec) RemoveContainers(names []string) { p.containers.remove(names...) }

// EditInitContainers records an edit of the selected init containers. It is ignored if the selector or the edit is nil.
func (p *PodSpec) EditInitContainers(selector selectors.ContainerSelector, edit func(*editors.ContainerEditor) error) {
	p.initContainers.edit(selector, edit)
}

// EnsureInitContainer records that the init container is added, or replaces the one with the same name.
func (p *PodSpec) EnsureInitContainer(container corev1.Container) { p.initContainers.ensure(container) }

// RemoveInitContainer records that the init container with the given name is removed.
func (p *PodSpec) RemoveInitContainer(name string) { p.initContainers.remove(name) }

// RemoveInitContainers records that the init containers with the given names are removed.
func (p *PodSpec) RemoveInitContainers(names []string) { p.initContainers.remove(names...) }

// EnsureContainerEnvVar records that the environment variable is set in all containers, but not in init containers.
func (p *PodSpec) EnsureContainerEnvVar(ev corev1.EnvVar) {
	p.editAll(func(e *editors.ContainerEditor) { e.EnsureEnvVar(ev) })
}

// RemoveContainerEnvVar records that the environment variable is removed from all containers.
func (p *PodSpec) RemoveContainerEnvVar(name string) {
	p.editAll(func(e *editors.ContainerEditor) { e.RemoveEnvVar(name) })
}

// RemoveContainerEnvVars records that the environment variables are removed from all containers.
func (p *PodSpec) RemoveContainerEnvVars(names []string) {
	p.editAll(func(e *editors.ContainerEditor) { e.RemoveEnvVars(names) })
}

// EnsureContainerArg records that the argument is appended to all containers that lack it.
func (p *PodSpec) EnsureContainerArg(arg string) {
	p.editAll(func(e *editors.ContainerEditor) { e.EnsureArg(arg) })
}

// RemoveContainerArg records that the argument is removed from all containers.
func (p *PodSpec) RemoveContainerArg(arg string) {
	p.editAll(func(e *editors.ContainerEditor) { e.RemoveArg(arg) })
}

// RemoveContainerArgs records that the arguments are removed from all containers.
func (p *PodSpec) RemoveContainerArgs(args []string) {
	p.editAll(func(e *editors.ContainerEditor) { e.RemoveArgs(args) })
}

func (p *PodSpec) editAll(edit func(*editors.ContainerEditor)) {
	p.EditContainers(selectors.AllContainers(), handlers.Infallible(edit))
}

// containers consists of two categories for a list of containers: first adding and removing, then editing.
type containers struct {
	presence, edits *Category[*[]corev1.Container]
	batches         map[int]*batch // by feature
}

// batch contains the edits of a feature. All their selectors are evaluated before the first edit is made.
type batch struct {
	mutation mutation
	edits    []containerEdit
}

type containerEdit struct {
	selector selectors.ContainerSelector
	edit     func(*editors.ContainerEditor) error
}

func newContainers(plan *Plan, title string, list *[]corev1.Container) *containers {
	presence := NewCategory(plan, "presence of "+title, list)
	return &containers{presence: presence, edits: NewCategory(plan, title, list), batches: map[int]*batch{}}
}

func (c *containers) ensure(container corev1.Container) {
	container = *container.DeepCopy()
	c.presence.Record(handlers.Infallible(func(list *[]corev1.Container) {
		if i := slices.IndexFunc(*list, func(existing corev1.Container) bool { return existing.Name == container.Name }); i >= 0 {
			(*list)[i] = container
		} else {
			*list = append(*list, container)
		}
	}))
}

func (c *containers) remove(names ...string) {
	names = slices.Clone(names)
	c.presence.Record(handlers.Infallible(func(list *[]corev1.Container) {
		*list = slices.DeleteFunc(*list, func(existing corev1.Container) bool { return slices.Contains(names, existing.Name) })
	}))
}

func (c *containers) edit(selector selectors.ContainerSelector, edit func(*editors.ContainerEditor) error) {
	if selector == nil || edit == nil {
		return
	}
	plan := c.edits.plan
	b := c.batches[plan.current]
	if b == nil {
		b = &batch{mutation: plan.mutation}
		c.batches[plan.current] = b
		c.edits.Record(func(list *[]corev1.Container) error { return c.apply(b, *list) })
	}
	b.edits = append(b.edits, containerEdit{selector: selector, edit: edit})
}

func (c *containers) apply(b *batch, list []corev1.Container) error {
	selected, matched := make([][]int, len(list)), make([]bool, len(b.edits))
	for i := range list {
		for j, e := range b.edits {
			if e.selector(i, &list[i]) {
				selected[i], matched[j] = append(selected[i], j), true
			}
		}
	}
	for j, e := range b.edits {
		if matched[j] || acceptsAny(e.selector) {
			continue
		}
		if err := c.edits.unmatched(b.mutation, fmt.Sprintf("the selector of edit %d matches none of %s", j+1, names(list))); err != nil {
			return err
		}
	}
	for i, chosen := range selected {
		name := list[i].Name
		for _, j := range chosen {
			if err := b.edits[j].edit(editors.NewContainerEditor(&list[i])); err != nil {
				return fmt.Errorf("container %q: %w", name, err)
			}
		}
	}
	return nil
}

// acceptsAny reports whether a selector accepts an empty container. A selector that panics on it does not.
func acceptsAny(selector selectors.ContainerSelector) (accepts bool) {
	defer func() {
		if recover() != nil {
			accepts = false
		}
	}()
	return selector(-1, &corev1.Container{})
}

func names(containers []corev1.Container) string {
	names := make([]string, len(containers))
	for i, container := range containers {
		names[i] = container.Name
	}
	return fmt.Sprintf("%q", names)
}

// Metadata is the part of a mutator that edits the metadata of the object.
type Metadata struct {
	metadata *Category[*editors.ObjectMetaEditor]
}

// NewMetadata adds the category of metadata to a plan.
func NewMetadata(plan *Plan, metadata *metav1.ObjectMeta) Metadata {
	return Metadata{metadata: NewCategory(plan, "object metadata", editors.NewObjectMetaEditor(metadata))}
}

// EditObjectMetadata records an edit of the labels, annotations and other metadata of the object. Nil is ignored.
func (m Metadata) EditObjectMetadata(edit func(*editors.ObjectMetaEditor) error) {
	m.metadata.Record(edit)
}
