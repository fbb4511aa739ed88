// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/component-operator/runtime/internal/helm"
)

// Types are the derived declarations.
type Types struct {
	// Declarations is formatted Go source without package clause and imports.
	Declarations string
	// Imports are the paths of the packages that Declarations refers to, each under the name that Alias returns.
	// Sorted.
	Imports []string
	// Fields are the JSON names of the root's fields. Sorted.
	Fields []string
	// Defaults are the default values, including those of subcharts and the values that switch subcharts on.
	Defaults map[string]any
	// Sample contains the required values, such that the chart accepts them. It is empty if nothing is required.
	Sample map[string]any
	// Optional contains values for fields whose default is missing or empty: strings, lists, and everything in the
	// schema. Each is valid for its own field's schema, but they need not be valid together.
	Optional map[string]any
	// On has the booleans among the defaults, all true. It lacks those with which the chart does not render.
	On map[string]any
	// Choices are the values that the schema lists for fields outside of lists and maps.
	Choices []Choice
	// FreeForm lists the values without a type, and the rules of the schema that are not in the types. Sorted by path.
	FreeForm []Note
	// Numbers reports whether some numbers are not integers. controller-gen accepts them only with
	// crd:allowDangerousTypes=true.
	Numbers bool
}

// A Choice is one of several values that the schema lists.
type Choice struct {
	Path  []string
	Value any
}

// A Note reports where the types are less strict, or stricter, than the schema.
type Note struct {
	// Path of the value, such as ingress.hosts[].name. Empty for the root.
	Path   string
	Reason string
}

// The packages that declarations refer to.
const (
	jsonPackage   = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	intstrPackage = "k8s.io/apimachinery/pkg/util/intstr"
	corePackage   = "k8s.io/api/core/v1"
)

// Alias returns the name under which declarations import a package.
func Alias(path string) string {
	switch path {
	case jsonPackage:
		return "apiextensionsv1"
	case corePackage:
		return "corev1"
	}
	return path[strings.LastIndex(path, "/")+1:]
}

// Derive returns the Go declarations for the values of a chart. The name is the root's type, such as WebShopValues;
// other types are named after it, without the suffix Values. Reserved are the existing identifiers of the package. The
// renderer shows which values have a Kubernetes type; without one, none has.
// Derive fails if values or schema cannot be read, if the root is not an object, or if a name cannot be a JSON tag; the
// error contains the path and what is allowed.
func Derive(chart helm.Anatomy, render Renderer, name string, reserved ...string) (*Types, error) {
	loaded, err := load(chart, "")
	if err != nil {
		return nil, err
	}
	types := &Types{}
	whole, schemas := fallback{value: loaded.defaults, set: true}, loaded.schemas("", nil)
	if err := errors.Join(
		convert(loaded.defaults, &types.Defaults),
		convert((&sampler{source: loaded}).object(schemas, whole, 0), &types.Sample),
		convert((&sampler{source: loaded, everything: true}).object(schemas, whole, 0), &types.Optional),
	); err != nil {
		return nil, fmt.Errorf("converting values: %w", err)
	}
	d := &deriver{source: loaded, made: map[string]*node{}, placed: place(loaded, types, render)}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	r := &renderer{taken: sets.New(reserved...), used: sets.New[string]()}
	r.name(root, name)
	if types.Declarations, err = r.render(); err != nil {
		return nil, err
	}
	types.Choices, types.Imports, types.Numbers = d.choices, sets.List(r.used), r.numbers
	slices.SortFunc(d.notes, func(a, b Note) int {
		return strings.Compare(a.Path+"\x00"+a.Reason, b.Path+"\x00"+b.Reason)
	})
	types.FreeForm = slices.Compact(d.notes)
	for _, f := range root.fields { // sorted
		types.Fields = append(types.Fields, f.name)
	}
	return types, nil
}

// switchOn sets On, if the chart renders with the sample.
func (t *Types) switchOn(render Renderer) {
	var paths [][]string
	Walk(t.Defaults, nil, func(path []string, value any) bool {
		if _, isBoolean := value.(bool); isBoolean {
			paths = append(paths, path)
		}
		return true
	})
	t.On = map[string]any{}
	if _, err := render(t.Sample); err == nil {
		t.turnOn(paths, render)
	}
}

// turnOn adds booleans to On. If the chart does not render with all of them, it tries each half.
func (t *Types) turnOn(paths [][]string, render Renderer) {
	on := t.On
	for _, path := range paths {
		on = merge(on, At(path, true))
	}
	if _, err := render(merge(on, t.Sample)); err == nil {
		t.On = on
	} else if half := len(paths) / 2; half > 0 {
		t.turnOn(paths[:half], render)
		t.turnOn(paths[half:], render)
	}
}

// Walk calls visit for all values, sorted by their keys. Visit decides whether the values of a map follow.
func Walk(values map[string]any, path []string, visit func(path []string, value any) (descend bool)) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		below := append(slices.Clip(path), key)
		if fields, isMap := values[key].(map[string]any); visit(below, values[key]) && isMap {
			Walk(fields, below, visit)
		}
	}
}

// At returns values with only the one at a path.
func At(path []string, value any) map[string]any {
	for _, key := range slices.Backward(path[1:]) {
		value = map[string]any{key: value}
	}
	return map[string]any{path[0]: value}
}

// convert sets a variable to a value with JSON numbers: integers become int64.
func convert[T any](value any, target *T) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, target)
}

// join returns the path of a field.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func at(path string) string {
	if path == "" {
		return "the root"
	}
	return fmt.Sprintf("%q", path)
}

const (
	// sampleDepth limits the depth of sample values, because a schema may refer to itself.
	sampleDepth = 12
	// sampleLength limits the length of sample lists and texts.
	sampleLength = 1000
)

// A sampler makes values that a schema accepts, if it can find them. It uses the first one of alternatives.
type sampler struct {
	source *source
	// everything means that values that are empty by default are set, too. Such values need not be valid together.
	everything bool
	size       int
}

// choose selects the first alternative of each choice.
func choose(schemas []*jsonschema.Schema) *facts {
	f := gather(schemas...)
	for i := 0; i < len(f.choices) && i < maxDepth; i++ {
		if len(f.choices[i]) > 0 {
			f.add(f.choices[i][0])
		}
	}
	return f
}

// object returns an object with all values that are required, have an invalid default or, with everything, are empty.
// Subcharts that are switched off require nothing.
func (g *sampler) object(schemas []*jsonschema.Schema, def fallback, depth int) map[string]any {
	f := choose(schemas)
	values := map[string]any{}
	for _, name := range slices.Concat(f.required(), f.names(), def.keys(), g.source.below(def.path)) {
		below := def.below(name)
		known := g.source.schemas(below.path, f.property(name))
		if _, done := values[name]; done || !g.isWanted(slices.Contains(f.required(), name), known, below) {
			continue
		}
		value := g.value(known, below, depth+1)
		if made, isMap := value.(map[string]any); value != nil && !(g.source.isChart(below.path) && isMap && len(made) == 0) {
			values[name] = value
		}
	}
	return values
}

// isWanted reports whether a field gets a value, or has fields that may.
func (g *sampler) isWanted(required bool, known []*jsonschema.Schema, def fallback) bool {
	chart, isChart := g.source.charts[def.path]
	switch {
	case chart.off && !g.everything:
		return false
	case isChart, g.everything && isEmpty(def.value):
		return true
	case def.set:
		return !accepts(known, def.value)
	default:
		return required
	}
}

// isEmpty reports whether a value is empty, or an object, whose values may be empty.
func isEmpty(value any) bool {
	list, isList := value.([]any)
	_, isObject := value.(map[string]any)
	return value == nil || value == "" || isList && len(list) == 0 || isObject
}

// value returns a value that all schemas accept; nil if it finds none.
func (g *sampler) value(schemas []*jsonschema.Schema, def fallback, depth int) any {
	g.size++
	if depth > sampleDepth || g.size > maxNodes {
		return nil
	}
	f := choose(schemas)
	items, _ := f.items()
	_, isObject := def.value.(map[string]any)
	switch {
	case isObject || f.types != tAll && f.types&tObject != 0 || len(f.names()) > 0:
		if values := g.object(schemas, def, depth); len(values) > 0 || !g.everything {
			return values
		}
		return nil
	case f.types&^tNull == tArray || len(items) > 0:
		return g.list(f, items, depth)
	case len(schemas) == 0 && def.value != "" && g.everything:
		return nil // Nothing says what it could be.
	}
	return f.scalar(schemas)
}

func (g *sampler) list(f *facts, items []*jsonschema.Schema, depth int) any {
	values := []any{}
	least := first(f, func(s *jsonschema.Schema) *int { return s.MinItems })
	for least != nil && len(values) < min(*least, sampleLength) || g.everything && len(values) == 0 {
		value := g.value(items, fallback{path: separator}, depth+1)
		if value == nil {
			return nil
		}
		values = append(values, value)
	}
	return values
}

// samples are candidates for values. The first one is a DNS name, because strings that are empty by default are often
// host names. The others cover usual formats and patterns.
var samples = []any{
	"example.org", "example", "value", "1", "aaa", "AAA", "a", "A", "v1", "1.0.0", "v1.0.0", "1Gi", "100m", "1h", "user@example.org", "https://example.org/",
	"192.0.2.1", "2001:db8::1", "2024-01-31", "2024-01-31T12:00:00Z", "12:00:00Z", "P1D", "123e4567-e89b-42d3-a456-426614174000", true,
}

// scalar returns the first of the listed values, defaults, examples and samples that the schemas accept; nil if there
// is none.
func (f *facts) scalar(schemas []*jsonschema.Schema) any {
	var candidates []any
	if listed := f.enum(); listed != nil {
		candidates = append(candidates, *listed...)
	}
	for _, s := range f.schemas {
		if s.Default != nil {
			candidates = append(candidates, *s.Default)
		}
		candidates = append(candidates, s.Examples...)
	}
	candidates = append(candidates, samples...)
	for _, s := range f.schemas {
		if s.MinLength != nil {
			candidates = append(candidates, strings.Repeat("x", min(*s.MinLength, sampleLength)))
		}
	}
	numbers := []*big.Rat{new(big.Rat), big.NewRat(1, 1)}
	for _, s := range f.schemas {
		for _, bound := range []*big.Rat{s.MultipleOf, s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
			if bound != nil {
				numbers = append(numbers, bound, new(big.Rat).Add(bound, big.NewRat(1, 1)), new(big.Rat).Sub(bound, big.NewRat(1, 1)))
			}
		}
	}
	for _, number := range numbers {
		candidates = append(candidates, json.Number(decimal(number)))
	}
	for _, value := range candidates {
		if value != nil && value != "" && accepts(schemas, value) {
			return value
		}
	}
	return nil
}
