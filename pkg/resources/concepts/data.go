// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"errors"
	"fmt"
)

// ErrDataNotExtracted is returned by Data.Require if there is no value.
var ErrDataNotExtracted = errors.New("data not extracted")

// Cell is a Data of any type.
type Cell interface {
	// Name identifies the value in messages.
	Name() string
	// IsSet reports whether there is a value.
	IsSet() bool
	// Clear removes the value.
	Clear()
}

// Data is a value that is extracted from one resource, and used by others. Resources that use it say so, so that it is
// known when their objects are complete; a mutation that uses a value without that is refused. Make a new one in each
// call of the generator, and capture it in mutations. It must not be used concurrently.
type Data[V any] struct {
	name   string
	value  V
	set    bool
	onRead func()
}

// NewData returns a Data without value. The name, such as "database host", appears in messages, and must be unique
// among the resources of a component.
func NewData[V any](name string) *Data[V] { return &Data[V]{name: name} }

// Name returns the name.
func (d *Data[V]) Name() string { return d.name }

// IsSet reports whether there is a value.
func (d *Data[V]) IsSet() bool { return d.set }

// Get returns the value, and whether there is one.
func (d *Data[V]) Get() (value V, found bool) {
	d.read()
	return d.value, d.set
}

// Require returns the value, or an error that names it, which is an ErrDataNotExtracted.
func (d *Data[V]) Require() (V, error) {
	d.read()
	if !d.set {
		return d.value, fmt.Errorf("%q: %w", d.name, ErrDataNotExtracted)
	}
	return d.value, nil
}

// OnRead has a function called by Get and Require, instead of the one before. It tells which resources use the value.
func (d *Data[V]) OnRead(f func()) { d.onRead = f }

func (d *Data[V]) read() {
	if d.onRead != nil {
		d.onRead()
	}
}

// Set sets the value.
func (d *Data[V]) Set(value V) { d.value, d.set = value, true }

// Clear removes the value.
func (d *Data[V]) Clear() {
	var none V
	d.value, d.set = none, false
}

// Extraction takes a value from an object of type O.
type Extraction[O any] struct {
	// Cell receives the value.
	Cell Cell
	// Extract takes it.
	Extract func(object O) error
}

// Into returns the Extraction that puts the result of a function into a Data. If the function reports that there is no
// value yet, the Data stays without.
func Into[O, V any](data *Data[V], extract func(object O) (value V, found bool, err error)) Extraction[O] {
	if data == nil || extract == nil {
		return Extraction[O]{}
	}
	return Extraction[O]{Cell: data, Extract: func(object O) error {
		data.Clear()
		value, found, err := extract(object)
		if err != nil {
			return fmt.Errorf("%q: %w", data.name, err)
		}
		if found {
			data.Set(value)
		}
		return nil
	}}
}
