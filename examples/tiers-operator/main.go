// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/resources"
)

// setup adds the reconciler of applications to the manager.
func setup(mgr ctrl.Manager) error {
	if err := addToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	generator := resources.NewGenerator(generate, resources.WithCondition("Available"), resources.WithGracePeriod(time.Second))
	return component.NewReconciler[*Application]("tiers.example.io", generator, component.ReconcilerOptions{}).SetupWithManager(mgr)
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
		fmt.Fprintln(os.Stderr, "tiers-operator:", err)
		os.Exit(1)
	}
}
