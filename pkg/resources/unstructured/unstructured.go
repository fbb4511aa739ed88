// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package unstructured provides typed resources for objects of any kind, especially of kinds without a Go type: a base
// object, mutations that belong to features, and the author's functions for the life of the object.
//
// The constructors differ in how they determine the progress of an object. [NewBuilder] leaves it to the reconciler,
// which applies the conventions of most kinds; [NewWorkloadBuilder], [NewTaskBuilder] and [NewIntegrationBuilder] take
// a function. By default, the grace status follows from this status, and the object has no suspended form.
//
// The builders and resources are those of package generic, which documents their methods and the order of mutations.
package unstructured

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/generic"
)

type (
	// Builder collects the parts of a Resource.
	Builder = generic.Builder[unstructured.Unstructured, *unstructured.Unstructured, *Mutator, Mutation, concepts.OperationalStatusWithReason]
	// Resource is an object with the functions for its life. It is Operational, Graceful, Suspendable, Guardable and
	// DataExtractable.
	Resource = generic.Resource[unstructured.Unstructured, *unstructured.Unstructured, concepts.OperationalStatusWithReason]
	// WorkloadBuilder collects the parts of a WorkloadResource.
	WorkloadBuilder = generic.Builder[unstructured.Unstructured, *unstructured.Unstructured, *Mutator, Mutation, concepts.AliveStatusWithReason]
	// WorkloadResource is an object that runs something. It is Alive, Graceful, Suspendable, Guardable and
	// DataExtractable.
	WorkloadResource = generic.Resource[unstructured.Unstructured, *unstructured.Unstructured, concepts.AliveStatusWithReason]
	// TaskBuilder collects the parts of a TaskResource.
	TaskBuilder = generic.Builder[unstructured.Unstructured, *unstructured.Unstructured, *Mutator, Mutation, concepts.CompletionStatusWithReason]
	// TaskResource is an object that runs to completion. It is Completable, Graceful, Suspendable, Guardable and
	// DataExtractable.
	TaskResource = generic.Resource[unstructured.Unstructured, *unstructured.Unstructured, concepts.CompletionStatusWithReason]
	// Mutation is a change of an object that belongs to a feature. All builders accept it.
	Mutation feature.Mutation[*Mutator]
)

// NewBuilder returns a Builder for an object that is ready when the reconciler says so. The object needs apiVersion,
// kind and name; it needs a namespace only if its kind is namespaced, which is not checked. All constructors of this
// package copy the object at once, and convert values without a JSON type, such as an int.
func NewBuilder(object *unstructured.Unstructured) *Builder {
	kind := kindOf(object, generic.Applied[*unstructured.Unstructured])
	kind.Applied = true
	return generic.NewBuilder[Mutation](kind, plain(object))
}

// NewIntegrationBuilder returns a Builder for an object that works without running something itself, such as a database
// of an operator. The function returns the progress of the object. It is required.
func NewIntegrationBuilder(
	object *unstructured.Unstructured, converge func(concepts.ConvergingOperation, *unstructured.Unstructured) (concepts.OperationalStatusWithReason, error),
) *Builder {
	return generic.NewBuilder[Mutation](kindOf(object, converge), plain(object))
}

// NewWorkloadBuilder returns a builder for an object that runs something. The required function returns its progress.
func NewWorkloadBuilder(
	object *unstructured.Unstructured, converge func(concepts.ConvergingOperation, *unstructured.Unstructured) (concepts.AliveStatusWithReason, error),
) *WorkloadBuilder {
	return generic.NewBuilder[Mutation](kindOf(object, converge), plain(object))
}

// NewTaskBuilder returns a builder for an object that runs to completion. The required function returns its progress.
func NewTaskBuilder(
	object *unstructured.Unstructured, converge func(concepts.ConvergingOperation, *unstructured.Unstructured) (concepts.CompletionStatusWithReason, error),
) *TaskBuilder {
	return generic.NewBuilder[Mutation](kindOf(object, converge), plain(object))
}

// kindOf returns the kind of an object.
func kindOf[S concepts.Converging](
	object *unstructured.Unstructured, converge func(concepts.ConvergingOperation, *unstructured.Unstructured) (S, error),
) generic.Kind[*unstructured.Unstructured, *Mutator, S] {
	kind := generic.NewKind(schema.GroupVersionKind{Kind: "resource"}, NewMutator, converge) // for the error that there is no object
	kind.AnyScope, kind.Check = true, check
	if object != nil {
		kind.GroupVersionKind = object.GroupVersionKind()
	}
	return kind
}

// plain returns a deep-copyable copy of the object. If that is impossible, it returns the object itself, which check
// will refuse.
func plain(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	content, err := manifest.Normalize(object.Object)
	if err != nil {
		return object
	}
	return &unstructured.Unstructured{Object: content}
}

// check returns an error if an object is invalid beyond its metadata.
func check(object *unstructured.Unstructured) error {
	var problems []error
	if object.GetAPIVersion() == "" {
		problems = append(problems, errors.New("apiVersion must not be empty"))
	}
	if object.GetKind() == "" {
		problems = append(problems, errors.New("kind must not be empty"))
	}
	if _, err := schema.ParseGroupVersion(object.GetAPIVersion()); err != nil {
		problems = append(problems, fmt.Errorf("apiVersion: %w; must be a version, or a group and a version, such as v1 or apps/v1", err))
	}
	if _, err := manifest.Normalize(object.Object); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Mutator records edits of an object. The categories are, in this order:
//   - object metadata
//   - content
type Mutator struct {
	generic.Plan

	metadata, content *generic.Category[*unstructured.Unstructured]
}

// NewMutator returns a Mutator that changes the object when Apply is called.
func NewMutator(current *unstructured.Unstructured) *Mutator {
	m := &Mutator{}
	m.metadata = generic.NewCategory(&m.Plan, "object metadata", current)
	m.content = generic.NewCategory(&m.Plan, "content", current)
	return m
}

// EditObjectMetadata records an edit of the metadata of the object. Nil is ignored.
func (m *Mutator) EditObjectMetadata(edit func(*editors.ObjectMetaEditor) error) {
	if edit == nil {
		return
	}
	m.metadata.Record(func(object *unstructured.Unstructured) error {
		partial := &metav1.PartialObjectMetadata{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, partial); err != nil {
			return fmt.Errorf("reading metadata: %w", err)
		}
		if err := edit(editors.NewObjectMetaEditor(&partial.ObjectMeta)); err != nil {
			return err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&partial.ObjectMeta)
		if err != nil {
			return fmt.Errorf("writing metadata: %w", err)
		}
		return unstructured.SetNestedField(object.Object, content, "metadata") //nolint:wrapcheck // the category is named
	})
}

// EditContent records an edit of the whole content of the object. Values without a JSON type, such as an int, are
// converted afterwards. Nil is ignored.
func (m *Mutator) EditContent(edit func(*editors.UnstructuredContentEditor) error) {
	if edit == nil {
		return
	}
	m.content.Record(func(object *unstructured.Unstructured) error {
		if object.Object == nil {
			object.Object = map[string]any{}
		}
		if err := edit(editors.NewUnstructuredContentEditor(object.Object)); err != nil {
			return err
		}
		content, err := manifest.Normalize(object.Object)
		if err != nil {
			return err
		}
		object.Object = content
		return nil
	})
}
