// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/kube"
	kube4 "helm.sh/helm/v4/pkg/kube"
)

// nameManagers names the field managers as Helm's command does.
func nameManagers() {
	kube.ManagedFieldsManager, kube4.ManagedFieldsManager = "helm", "helm"
}

const helmTimeout = time.Minute

// helm3 is Helm 3.
type helm3 struct{ driver string }

func (h helm3) configuration(p *place) *action.Configuration {
	p.Helper()
	configuration := &action.Configuration{}
	p.must(configuration.Init(p.getter(), p.namespace, h.driver, func(string, ...any) {}))
	return configuration
}

func (h helm3) install(p *place, chart string, values map[string]any, takeOwnership bool) error {
	p.Helper()
	loaded, err := loader.Load(chart)
	p.must(err)
	install := action.NewInstall(h.configuration(p))
	install.ReleaseName, install.Namespace, install.Timeout, install.Wait, install.TakeOwnership = p.release, p.namespace, helmTimeout, true, takeOwnership
	_, err = install.RunWithContext(p.Context(), loaded, values)
	return err
}

func (h helm3) upgrade(p *place, chart string, values map[string]any) error {
	p.Helper()
	loaded, err := loader.Load(chart)
	p.must(err)
	upgrade := action.NewUpgrade(h.configuration(p))
	upgrade.Namespace, upgrade.Timeout, upgrade.Wait = p.namespace, helmTimeout, true
	_, err = upgrade.RunWithContext(p.Context(), p.release, loaded, values)
	return err
}

func (h helm3) uninstall(p *place) error {
	p.Helper()
	uninstall := action.NewUninstall(h.configuration(p))
	uninstall.Timeout, uninstall.Wait = helmTimeout, true
	_, err := uninstall.Run(p.release)
	return err
}
