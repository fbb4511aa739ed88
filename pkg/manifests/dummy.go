// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// DummyGenerator generates nothing. Use it until the real generator is written.
type DummyGenerator struct{}

var (
	_ Generator = &DummyGenerator{}
	_ Pure      = &DummyGenerator{}
)

// NewDummyGenerator returns a DummyGenerator; the error is always nil.
func NewDummyGenerator() (*DummyGenerator, error) {
	return &DummyGenerator{}, nil
}

// Generate returns no objects.
func (g *DummyGenerator) Generate(_ context.Context, _ string, _ string, _ types.Unstructurable) ([]client.Object, error) {
	return nil, nil
}

// Fingerprint is the same for all instances.
func (g *DummyGenerator) Fingerprint() string {
	return "dummy"
}
