// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Chart is what a chart says about its values.
type Chart struct {
	// Values is the content of values.yaml, with comments. May be empty.
	Values []byte
	// Schema is the content of values.schema.json. Empty if there is none.
	Schema []byte
	// Dependencies are the subcharts.
	Dependencies []Dependency
}

// A Dependency is a subchart. Its values are a field of its parent's values.
type Dependency struct {
	Name string
	// Alias replaces the name, if it is set.
	Alias string
	// Condition has the paths of values, separated by commas, that switch the subchart on and off.
	Condition string
	// Tags are the keys below the value tags that switch the subchart on and off.
	Tags []string
	Chart
}

// Options say what the declarations are called.
type Options struct {
	// Name of the root's type, such as WebShopValues. Other types are named after it, without the suffix Values.
	Name string
	// Reserved are the identifiers that the package has already.
	Reserved []string
}

// Types are the declarations that were derived.
type Types struct {
	// Declarations is formatted Go source without package clause and imports.
	Declarations string
	// Imports are the paths of the packages that Declarations refers to, each under the name that Alias returns.
	// Sorted.
	Imports []string
	// Fields are the JSON names of the root's fields. Sorted.
	Fields []string
	// Defaults are the default values, as YAML, with those of subcharts and the values that switch these on.
	Defaults []byte
	// Sample has values, as YAML, that the chart accepts: the required ones. An empty map if nothing is required.
	Sample []byte
	// Optional has values, as YAML, for what has no default or an empty one: strings, lists, and whatever the schema
	// knows. Each is valid by itself as far as the schema of its own field says, but they need not be valid together.
	Optional []byte
	// Choices are the values that the schema lists for fields outside of lists and maps.
	Choices []Choice
	// FreeForm names what has no type, and the rules of the schema that are not in the types. Sorted by path.
	FreeForm []Note
	// Numbers reports whether there are numbers that are no integers: controller-gen takes these only with
	// crd:allowDangerousTypes=true.
	Numbers bool
}

// A Choice is one of several values that the schema lists.
type Choice struct {
	Path  []string
	Value any
}

// A Note says where the types are less strict than the schema, or stricter.
type Note struct {
	// Path of the value, such as ingress.hosts[].name. Empty for the root.
	Path   string
	Reason string
}

// The packages that declarations refer to.
const (
	jsonPackage   = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	intstrPackage = "k8s.io/apimachinery/pkg/util/intstr"
)

// Alias returns the name under which declarations refer to an imported package.
func Alias(path string) string {
	if path == jsonPackage {
		return "apiextensionsv1"
	}
	return path[strings.LastIndex(path, "/")+1:]
}

// Derive returns the Go declarations for the values of a chart. It fails if values or schema cannot be read, if the
// root is no object, or if a name cannot be a JSON tag; the error names the path and what is allowed.
func Derive(chart Chart, options Options) (*Types, error) {
	loaded, err := load(chart, "")
	if err != nil {
		return nil, err
	}
	d := &deriver{source: loaded, made: map[string]*node{}}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	r := newRenderer(options)
	r.name(root)
	declarations, err := r.render()
	if err != nil {
		return nil, err
	}
	types := &Types{Declarations: declarations, Choices: d.choices, Imports: sortedKeys(r.used), Numbers: r.numbers}
	var defaultsErr, sampleErr, optionalErr error
	types.Defaults, defaultsErr = yaml.Marshal(loaded.defaults)
	whole, schemas := fallback{value: loaded.defaults, set: true}, loaded.schemas("", nil)
	types.Sample, sampleErr = yaml.Marshal((&sampler{source: loaded}).object(schemas, whole, 0))
	types.Optional, optionalErr = yaml.Marshal((&sampler{source: loaded, everything: true}).object(schemas, whole, 0))
	if err := errors.Join(defaultsErr, sampleErr, optionalErr); err != nil {
		return nil, fmt.Errorf("writing values as YAML: %w", err)
	}
	slices.SortFunc(d.notes, func(a, b Note) int {
		return strings.Compare(a.Path+"\x00"+a.Reason, b.Path+"\x00"+b.Reason)
	})
	types.FreeForm = slices.Compact(d.notes)
	for _, f := range root.fields {
		types.Fields = append(types.Fields, f.name)
	}
	slices.Sort(types.Fields)
	return types, nil
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
