// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests/generatortest"
)

// TestGenerate compares the objects of a greeting with testdata/golden.
func TestGenerate(t *testing.T) {
	t.Parallel()
	greeting := &Greeting{Spec: GreetingSpec{Message: "good morning"}}
	generatortest.Run(t, generatortest.Suite{Generator: generator.Func(generate), ReconcilerName: "hello.example.io"},
		generatortest.Case{Name: "morning", Reason: "the message is all there is", Parameters: greeting.GetSpec()},
	)
}
