// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"time"

	"github.com/component-operator/runtime/pkg/reconciler"
)

const serviceAccountPrefix = "system:serviceaccount:"

// settings are the capabilities of a component, with defaults filled in.
type settings struct {
	// namespace and name are where and under which name dependents are deployed.
	namespace, name string
	suspended       bool
	timing          timing
	policies        reconciler.Policies
	managedTypes    []reconciler.TypeInfo
}

func settingsOf(component Component) settings {
	s := settings{namespace: component.GetNamespace(), name: component.GetName()}
	if c, ok := capability[PlacementConfiguration](component); ok {
		s.namespace = orText(c.GetDeploymentNamespace(), s.namespace)
		s.name = orText(c.GetDeploymentName(), s.name)
	}
	if c, ok := capability[SuspensionConfiguration](component); ok {
		s.suspended = c.IsSuspended()
	}
	if c, ok := capability[TypeConfiguration](component); ok {
		s.managedTypes = c.GetAdditionalManagedTypes()
	}
	s.timing = timingOf(component)
	s.policies = policiesOf(component)
	return s
}

func timingOf(component Component) timing {
	var t timing
	if c, ok := capability[RequeueConfiguration](component); ok {
		t.requeue = c.GetRequeueInterval()
	}
	if c, ok := capability[RetryConfiguration](component); ok {
		t.retry = c.GetRetryInterval()
	}
	if c, ok := capability[TimeoutConfiguration](component); ok {
		t.timeout = c.GetTimeout()
	}
	t.requeue = max(orDuration(t.requeue, defaultRequeueInterval), shortestInterval)
	t.retry = max(orDuration(t.retry, t.requeue), shortestInterval)
	t.timeout = orDuration(t.timeout, t.requeue)
	return t
}

func policiesOf(component Component) reconciler.Policies {
	var p reconciler.Policies
	if c, ok := capability[PolicyConfiguration](component); ok {
		p.Adoption = c.GetAdoptionPolicy()
		p.Update = c.GetUpdatePolicy()
		p.Delete = c.GetDeletePolicy()
		p.MissingNamespaces = c.GetMissingNamespacesPolicy()
	}
	if c, ok := capability[ReconcileConfiguration](component); ok {
		p.Reconcile = c.GetReconcilePolicy()
	}
	if c, ok := capability[DriftConfiguration](component); ok {
		p.Drift = c.GetDriftPolicy()
	}
	if c, ok := capability[ReapplyConfiguration](component); ok {
		p.ReapplyInterval = c.GetReapplyInterval()
	}
	return p
}

// identity is the cluster into which, and the user as which, dependents are deployed.
type identity struct {
	kubeConfig []byte
	user       string
	groups     []string
}

// identityOf must be called after the kubeconfig was loaded. A kubeconfig brings its own user.
func identityOf(component Component, defaultServiceAccount string) identity {
	var id identity
	if c, ok := capability[ClientConfiguration](component); ok {
		id.kubeConfig = c.GetKubeConfig()
	}
	if len(id.kubeConfig) > 0 {
		return id
	}
	return localIdentityOf(component, defaultServiceAccount)
}

// localIdentityOf is the identity in the cluster of the component, whether dependents are deployed there or not.
func localIdentityOf(component Component, defaultServiceAccount string) identity {
	var id identity
	if c, ok := capability[ImpersonationConfiguration](component); ok {
		id.user, id.groups = c.GetImpersonationUser(), c.GetImpersonationGroups()
	}
	if id.user == "" && len(id.groups) == 0 && defaultServiceAccount != "" {
		id.user = serviceAccountPrefix + ":" + defaultServiceAccount
	}
	if name, ok := strings.CutPrefix(id.user, serviceAccountPrefix+":"); ok {
		id.user = serviceAccountPrefix + component.GetNamespace() + ":" + name
	}
	return id
}

func orText(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// orDuration treats what is not positive as not given.
func orDuration(value, fallback time.Duration) time.Duration {
	if value <= 0 {
		return fallback
	}
	return value
}
