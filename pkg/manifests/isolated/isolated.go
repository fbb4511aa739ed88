// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// Definition says how to make a generator.
type Definition struct {
	// New returns the generator. It is called in the program and in each of its processes. In a process,
	// nothing has run before: flags are not parsed, for instance. It must not be nil.
	New func() (manifests.Generator, error)
	// Types holds values of the Go types of parameters and component, usually pointers to empty structs. You need not list
	// types.UnstructurableMap and *unstructured.Unstructured.
	Types []any
}

// Options limit a rendering.
type Options struct {
	// Timeout is how long a rendering may take. Defaults to one minute.
	Timeout time.Duration
	// Memory is how many bytes a rendering may take, in addition to those of the started program. It is at least
	// 64 MiB, which Helm and Kustomize need for themselves. Defaults to 1 GiB.
	Memory int64
}

const (
	defaultTimeout = time.Minute
	defaultMemory  = 1 << 30
	leastMemory    = 64 << 20
)

// Program is the running program, which is not a process of a rendering.
type Program struct {
	generators map[string]Definition
}

// marker is the environment variable that marks a process of a rendering.
const marker = "COMPONENT_OPERATOR_ISOLATED_GENERATOR"

// Main must be the first call of the main function. In a process that was started for a rendering it does not return. The caller
// chooses the names of the generators.
func Main(generators map[string]Definition) *Program {
	if os.Getenv(marker) != "" {
		//nolint:forbidigo // it is this process's only purpose; it must never become a second operator
		os.Exit(serve(generators))
	}
	return &Program{generators: generators}
}

// NewGenerator returns a generator that runs the one with the given name in processes of its own. It also makes that one
// in this process, for its fingerprint and types.
func (p *Program) NewGenerator(name string, options Options) (*Generator, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	definition, ok := p.generators[name]
	if !ok {
		return nil, fmt.Errorf("there is no generator %q; must be one of %q", name, slices.Sorted(maps.Keys(p.generators)))
	}
	made, err := definition.make()
	if err != nil {
		return nil, fmt.Errorf("creating generator %q: %w", name, err)
	}
	return &Generator{name: name, made: made, options: options}, nil
}

// complete validates the options and applies the defaults.
func (o *Options) complete() error {
	if o.Timeout < 0 {
		return fmt.Errorf("invalid Timeout %s; it must not be negative", o.Timeout)
	}
	if o.Memory < 0 || o.Memory > 0 && o.Memory < leastMemory {
		return fmt.Errorf("invalid Memory %d; it must be at least %d", o.Memory, int64(leastMemory))
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	return nil
}

// made is a generator with the information that both sides need.
type made struct {
	manifests.Generator
	types  knownTypes
	scheme *runtime.Scheme
}

func (d Definition) make() (*made, error) {
	if d.New == nil {
		return nil, errors.New("its definition has no New")
	}
	generator, err := d.New()
	if err != nil {
		return nil, err
	}
	known, err := newKnownTypes(d.Types)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("adding the types of Kubernetes: %w", err)
	}
	if builder, ok := generator.(types.SchemeBuilder); ok {
		if err := builder.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("adding the types of the generator: %w", err)
		}
	}
	return &made{Generator: generator, types: known, scheme: scheme}, nil
}

// fingerprint is empty if the generator is not pure.
func (m *made) fingerprint() string {
	if pure, ok := m.Generator.(manifests.Pure); ok {
		return pure.Fingerprint()
	}
	return ""
}
