// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// settings come from the command line.
type settings struct {
	leaderElect    bool
	metricsAddress string
	probeAddress   string
	sets           objectset.Options
}

func parse(arguments []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("objectset-operator", flag.ContinueOnError)
	flags.BoolVar(&s.leaderElect, "leader-elect", false, "elect a leader, so that only one replica works")
	flags.StringVar(&s.metricsAddress, "metrics-bind-address", ":8080", "address of the metrics; 0 for none")
	flags.StringVar(&s.probeAddress, "health-probe-bind-address", ":8081", "address of the health probes")
	flags.StringVar(&s.sets.StateNamespace, "state-namespace", "", "namespace for the inventories of ClusterObjectSets that are too large for the status")
	flags.IntVar(&s.sets.MaxConcurrentReconciles, "max-concurrent-reconciles", 5, "how many sets of one kind are reconciled at the same time")
	return s, flags.Parse(arguments)
}

// setup adds the reconcilers to the manager.
func setup(mgr ctrl.Manager, options objectset.Options) error {
	if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	return objectset.SetupWithManager(mgr, options)
}

func run() error {
	s, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: s.metricsAddress},
		HealthProbeBindAddress: s.probeAddress,
		LeaderElection:         s.leaderElect,
		LeaderElectionID:       "objectset-operator.core.component-operator.dev",
	})
	if err != nil {
		return err
	}
	if err := setup(mgr, s.sets); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "objectset-operator:", err)
		os.Exit(1)
	}
}
