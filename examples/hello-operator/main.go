// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// GetSpec returns the parameters for the generator.
func (g *Greeting) GetSpec() types.Unstructurable {
	return types.UnstructurableMap{"message": g.Spec.Message}
}

// GetStatus returns the part of the greeting that the reconciler writes.
func (g *Greeting) GetStatus() *component.Status { return &g.Status }

// generate returns the objects of a greeting.
func generate(_ context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	return []client.Object{&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"greeting": fmt.Sprint(parameters.ToUnstructured()["message"])},
	}}, nil
}

// setup adds the reconciler of greetings to the manager.
func setup(mgr ctrl.Manager) error {
	if err := addToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	return component.NewReconciler[*Greeting]("hello.example.io", generator.Func(generate), component.ReconcilerOptions{
		// Users who may create greetings choose the name of the ConfigMap: do not adopt one that exists.
		AdoptionPolicy: new(reconciler.AdoptionPolicyNever),
	}).SetupWithManager(mgr)
}

func run() error {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err != nil {
		return err
	}
	if err := setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hello-operator:", err)
		os.Exit(1)
	}
}
