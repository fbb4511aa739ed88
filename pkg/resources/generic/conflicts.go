// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// conflictCheck finds fields to which two mutations give different values. It compares the object before and after each feature.
type conflictCheck struct {
	object  client.Object
	before  *typed.TypedValue
	writers map[string]write
}

// write is the value that a mutation has given a field.
type write struct {
	mutation mutation
	value    any
	exists   bool
}

// newConflictCheck returns a check for an object that no feature has changed yet.
func newConflictCheck(object client.Object) (*conflictCheck, error) {
	before, err := typedValue(object)
	if err != nil {
		return nil, fmt.Errorf("comparing mutations: %w", err)
	}
	return &conflictCheck{object: object, before: before, writers: map[string]write{}}, nil
}

// after compares the object with what it was before a feature of a mutation. What suspends the object may overwrite anything.
func (c *conflictCheck) after(m mutation) error {
	if m.number == 0 {
		return nil
	}
	after, err := typedValue(c.object)
	if err != nil {
		return fmt.Errorf("comparing mutations: %w", err)
	}
	comparison, err := c.before.Compare(after)
	if err != nil {
		return fmt.Errorf("comparing mutations: %w", err)
	}
	c.before = after
	changed := comparison.Added.Union(comparison.Modified).Union(comparison.Removed).Leaves()
	content := after.AsValue().Unstructured()
	var conflict error
	changed.Iterate(func(path fieldpath.Path) {
		now := write{mutation: m}
		now.value, now.exists = lookUp(content, path)
		key := path.String()
		if earlier, ok := c.writers[key]; ok && conflict == nil && earlier.mutation.number != m.number && !earlier.survives(now) {
			conflict = fmt.Errorf("mutations %q and %q both write %s: %s, then %s", earlier.mutation.name, m.name, key, earlier, now)
		}
		c.writers[key] = now
	})
	return conflict
}

// survives reports whether a later write keeps what this one has written: the value, or the elements of a list.
func (w write) survives(later write) bool {
	if w.exists != later.exists {
		return false
	}
	list, ok := w.value.([]any)
	extended, alsoList := later.value.([]any)
	if !ok || !alsoList {
		return apiequality.Semantic.DeepEqual(w.value, later.value)
	}
	for _, element := range list {
		if !slices.ContainsFunc(extended, func(candidate any) bool { return reflect.DeepEqual(element, candidate) }) {
			return false
		}
	}
	return true
}

// String returns the value for messages.
func (w write) String() string {
	if !w.exists {
		return "removed"
	}
	return fmt.Sprintf("%v", w.value)
}

// lookUp returns the value at a path.
func lookUp(content any, path fieldpath.Path) (value any, exists bool) {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			fields, ok := content.(map[string]any)
			if !ok {
				return nil, false
			}
			if content, ok = fields[*element.FieldName]; !ok {
				return nil, false
			}
		default:
			items, ok := content.([]any)
			if !ok {
				return nil, false
			}
			i := slices.IndexFunc(items, func(item any) bool { return isAt(item, element) })
			if element.Index != nil && *element.Index < len(items) {
				i = *element.Index
			}
			if i < 0 {
				return nil, false
			}
			content = items[i]
		}
	}
	return content, true
}

// isAt reports whether an element of a list is the one that a path names by a key or a value.
func isAt(item any, element fieldpath.PathElement) bool {
	if element.Value != nil {
		return reflect.DeepEqual(item, (*element.Value).Unstructured())
	}
	fields, ok := item.(map[string]any)
	if !ok || element.Key == nil {
		return false
	}
	for _, key := range *element.Key {
		if value, ok := fields[key.Name]; ok && !apiequality.Semantic.DeepEqual(value, key.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// typedValue returns an object with the schema of its type, which knows the keys of lists; for custom resources, lists have none. Later changes of the object do not affect it.
func typedValue(object client.Object) (*typed.TypedValue, error) {
	converter := managedfields.NewDeducedTypeConverter()
	if clientgoscheme.Scheme.Recognizes(object.GetObjectKind().GroupVersionKind()) {
		converter = builtIn()
	}
	value, err := converter.ObjectToTyped(object.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	return value, nil
}

// builtIn converts objects of the types that come with Kubernetes. Its schema is parsed when it is needed first.
var builtIn = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(clientgoscheme.Scheme) })
