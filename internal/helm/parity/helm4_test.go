// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
)

// helm4 is Helm 4.
type helm4 struct{}

func (helm4) configuration(p *place) *action.Configuration {
	p.Helper()
	configuration := action.NewConfiguration()
	p.must(configuration.Init(p.getter(), p.namespace, ""))
	return configuration
}

func (h helm4) install(p *place, chart string, values map[string]any, takeOwnership bool) error {
	p.Helper()
	loaded, err := loader.Load(chart)
	p.must(err)
	install := action.NewInstall(h.configuration(p))
	install.ReleaseName, install.Namespace, install.Timeout, install.WaitStrategy = p.release, p.namespace, helmTimeout, kube.StatusWatcherStrategy
	install.TakeOwnership, install.ForceConflicts = takeOwnership, takeOwnership
	_, err = install.RunWithContext(p.Context(), loaded, values)
	return err
}

func (h helm4) upgrade(p *place, chart string, values map[string]any) error {
	p.Helper()
	loaded, err := loader.Load(chart)
	p.must(err)
	upgrade := action.NewUpgrade(h.configuration(p))
	upgrade.Namespace, upgrade.Timeout, upgrade.WaitStrategy, upgrade.ServerSideApply = p.namespace, helmTimeout, kube.StatusWatcherStrategy, "auto"
	_, err = upgrade.RunWithContext(p.Context(), p.release, loaded, values)
	return err
}

func (h helm4) uninstall(p *place) error {
	p.Helper()
	uninstall := action.NewUninstall(h.configuration(p))
	uninstall.Timeout, uninstall.WaitStrategy = helmTimeout, kube.StatusWatcherStrategy
	_, err := uninstall.Run(p.release)
	return err
}
