// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package unstructured_test

import (
	"fmt"

	machinery "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/resources/unstructured"
)

func database() *machinery.Unstructured {
	return &machinery.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Database",
		"metadata": map[string]any{"namespace": "shop", "name": "orders"},
		"spec":     map[string]any{"size": 1},
	}}
}

func ExampleNewBuilder() {
	large := unstructured.Mutation{Name: "large", Feature: feature.NewBooleanGate(true), Mutate: func(m *unstructured.Mutator) error {
		m.EditContent(func(e *editors.UnstructuredContentEditor) error { return e.SetNestedInt64(3, "spec", "size") })
		return nil
	}}
	resource, err := unstructured.NewBuilder(database()).WithMutation(large).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	object, err := resource.PreviewObject()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resource.Identity(), object.Object["spec"])
	// Output: example.com/v1/Database/shop/orders map[size:3]
}

func ExampleNewWorkloadBuilder() {
	resource, err := unstructured.NewWorkloadBuilder(database(), func(_ concepts.ConvergingOperation, object *machinery.Unstructured) (concepts.AliveStatusWithReason, error) {
		phase, _, err := machinery.NestedString(object.Object, "status", "phase")
		if phase != "Running" {
			return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusCreating, Reason: "Waiting for the database to run"}, err
		}
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusHealthy, Reason: "The database runs"}, nil
	}).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	grace, err := resource.GraceStatus()
	fmt.Println(grace.Status, grace.Reason, err)
	// Output: Degraded Waiting for the database to run <nil>
}

func ExampleNewTaskBuilder() {
	_, err := unstructured.NewTaskBuilder(database(), nil).Build()
	fmt.Println(err)
	// Output: building Database.example.com shop/orders: a function is required that says how far the object is
}

func ExampleNewIntegrationBuilder() {
	works := func(concepts.ConvergingOperation, *machinery.Unstructured) (concepts.OperationalStatusWithReason, error) {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "always"}, nil
	}
	resource, err := unstructured.NewIntegrationBuilder(database(), works).Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := resource.ConvergingStatus(concepts.ConvergingOperationNone)
	fmt.Println(status.Status, err)
	// Output: Operational <nil>
}
