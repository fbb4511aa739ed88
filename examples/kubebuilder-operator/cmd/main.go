// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command cmd is the program of an operator in the layout of kubebuilder. All that differs from what kubebuilder writes
// is in internal/controller, which has no Reconcile, and in the status of the API type.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/examples/kubebuilder-operator/api/v1alpha1"
	"github.com/component-operator/runtime/examples/kubebuilder-operator/internal/controller"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "guestbook:", err)
		os.Exit(1)
	}
}

func run() error {
	metrics := flag.String("metrics-bind-address", "0", "address of the metrics endpoint; 0 for none")
	probes := flag.String("health-probe-bind-address", ":8081", "address of the probes")
	elect := flag.Bool("leader-elect", false, "have one replica work at a time")
	flag.Parse()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("adding types to the scheme: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: *metrics}, HealthProbeBindAddress: *probes,
		LeaderElection: *elect, LeaderElectionID: controller.Name,
	})
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := (&controller.GuestbookReconciler{}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up the controller of guestbooks: %w", err)
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return fmt.Errorf("adding the probe: %w", err)
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
