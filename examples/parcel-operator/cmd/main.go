// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "parcel-operator:", err)
		os.Exit(1)
	}
}

// run runs the manager until a signal stops it.
func run() error {
	var metricsAddress, probeAddress string
	var leaderElection bool
	flag.StringVar(&metricsAddress, "metrics-bind-address", ":8080", "where metrics are served; 0 for nowhere")
	flag.StringVar(&probeAddress, "health-probe-bind-address", ":8081", "where the health probes are served; 0 for nowhere")
	flag.BoolVar(&leaderElection, "leader-elect", false, "elect a leader, so that only one of several replicas acts")
	logLevel := slog.LevelInfo
	flag.TextVar(&logLevel, "log-level", logLevel, "DEBUG, INFO, WARN or ERROR")
	flag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: logLevel})))

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        parceloperator.NewScheme(),
		Metrics:                       metricsserver.Options{BindAddress: metricsAddress},
		HealthProbeBindAddress:        probeAddress,
		LeaderElection:                leaderElection,
		LeaderElectionID:              parceloperator.Name,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := parceloperator.SetupWithManager(mgr, component.ReconcilerOptions{
		// Users who may create components choose the names of dependents: do not adopt objects that exist.
		AdoptionPolicy: new(reconciler.AdoptionPolicyNever),
	}); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
