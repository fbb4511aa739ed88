// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/component-operator/runtime/internal/redact"
	"github.com/component-operator/runtime/internal/texts"
)

// conflictCheck finds fields to which two mutations give different values. It compares the object before and after each feature, so a mutation that writes the value that is there
// already has written nothing.
type conflictCheck struct {
	object  client.Object
	before  *typed.TypedValue
	writers map[string]write
}

// write is the value that a mutation has given a field.
type write struct {
	mutation mutation
	key      string
	value    any
	exists   bool
}

// Values in messages have at most so many bytes.
const maxValueText = 60

var secrets = corev1.SchemeGroupVersion.WithKind("Secret").GroupKind()

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
	contents := [2]any{c.before.AsValue().Unstructured(), after.AsValue().Unstructured()}
	c.before = after
	var conflict error
	comparison.Added.Union(comparison.Modified).Union(comparison.Removed).Leaves().Iterate(func(path fieldpath.Path) {
		for _, w := range writesOf(path, contents) {
			if err := c.record(w, m); conflict == nil {
				conflict = err
			}
		}
	})
	return conflict
}

// record keeps what a mutation has written. It returns an error if another mutation has written another value before.
func (c *conflictCheck) record(now write, m mutation) (err error) {
	now.mutation = m
	if earlier, ok := c.writers[now.key]; ok && earlier.mutation.number != m.number && !earlier.survives(now) {
		secret := c.object.GetObjectKind().GroupVersionKind().GroupKind() == secrets && (strings.HasPrefix(now.key, ".data") || strings.HasPrefix(now.key, ".stringData"))
		secret = secret || redact.EnvValue.MatchString(now.key)
		err = fmt.Errorf("mutations %q and %q both write %s: %s, then %s", earlier.mutation.name, m.name, now.key, earlier.text(secret), now.text(secret))
	}
	c.writers[now.key] = now
	return err
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

// text returns the value for messages: in one line, and shortened. A secret value is not in it.
func (w write) text(secret bool) string {
	switch {
	case !w.exists:
		return "removed"
	case secret:
		return redact.Mark
	}
	text := fmt.Sprintf("%v", w.value)
	if strings.ContainsFunc(text, unicode.IsControl) {
		text = strconv.Quote(text)
	}
	return texts.Truncate(text, maxValueText)
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
