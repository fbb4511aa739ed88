// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

const serviceAccountPrefix = "system:serviceaccount:"

// settings has the capabilities of a component, with defaults.
type settings struct {
	// namespace and name are those of the deployment.
	namespace, name string
	suspended       bool
	presence        Presence
	timing          timing
	policies        reconciler.Policies
	managedTypes    []reconciler.TypeInfo
	maxDeletions    reconciler.MaxDeletions
}

func settingsOf(component Component, options ReconcilerOptions) settings {
	s := settings{namespace: component.GetNamespace(), name: component.GetName(), presence: PresenceActive, maxDeletions: options.MaxDeletions}
	if c, ok := capability[DeletionConfiguration](component); ok {
		s.maxDeletions = cmp.Or(c.GetMaxDeletions(), s.maxDeletions)
	}
	if c, ok := capability[PlacementConfiguration](component); ok {
		s.namespace = cmp.Or(c.GetDeploymentNamespace(), s.namespace)
		s.name = cmp.Or(c.GetDeploymentName(), s.name)
	}
	if c, ok := capability[SuspensionConfiguration](component); ok {
		s.suspended = c.IsSuspended()
	}
	if c, ok := capability[PresenceConfiguration](component); ok && c.GetPresence() != "" {
		s.presence = c.GetPresence()
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
	t.retry = max(orDuration(t.retry, min(t.requeue, defaultRetryInterval)), shortestInterval)
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

// judgeOf returns the judge of the dependents; nil means that of the reconciler.
func judgeOf(component Component) (status.Judge, error) {
	c, ok := capability[JudgeConfiguration](component)
	if !ok {
		return nil, nil
	}
	judge, err := c.GetJudge()
	if err != nil {
		return nil, inventory.NewRefusedError("cannot judge dependents: " + err.Error())
	}
	return judge, nil
}

// identityOf returns the identity that writes the dependents. The kubeconfig must be loaded before. A kubeconfig has
// its own user.
func identityOf(component Component, defaultServiceAccount string) targets.Identity {
	var id targets.Identity
	if c, ok := capability[ClientConfiguration](component); ok {
		id.KubeConfig = c.GetKubeConfig()
	}
	if len(id.KubeConfig) > 0 {
		return id
	}
	return localIdentityOf(component, defaultServiceAccount)
}

// localIdentityOf returns the identity in the component's own cluster, whether dependents are there or not.
func localIdentityOf(component Component, defaultServiceAccount string) targets.Identity {
	var id targets.Identity
	if c, ok := capability[ImpersonationConfiguration](component); ok {
		id.User, id.Groups = c.GetImpersonationUser(), c.GetImpersonationGroups()
	}
	if id.User == "" && len(id.Groups) == 0 && defaultServiceAccount != "" {
		id.User = serviceAccountPrefix + ":" + defaultServiceAccount
	}
	if name, ok := strings.CutPrefix(id.User, serviceAccountPrefix+":"); ok {
		id.User = serviceAccountPrefix + component.GetNamespace() + ":" + name
	}
	return id
}

// identityProblem says why there can be no such identity; empty if there can be.
func identityProblem(id targets.Identity) string {
	name, missing := strings.CutPrefix(id.User, serviceAccountPrefix+":")
	if !missing {
		return ""
	}
	return fmt.Sprintf("service account %q: a component without a namespace has no service accounts; "+
		"leave serviceAccountName in its spec and the option DefaultServiceAccount empty, "+
		"or have its type return the user %s<namespace>:<name> in GetImpersonationUser", name, serviceAccountPrefix)
}

// orDuration returns the fallback for values that are not positive.
func orDuration(value, fallback time.Duration) time.Duration {
	if value <= 0 {
		return fallback
	}
	return value
}

// hasForeignTarget reports whether the component implements ClientConfiguration by code of its own, so that the
// references it needs are not known.
func hasForeignTarget(component Component) bool {
	if _, ok := component.(ClientConfiguration); ok {
		return true
	}
	if _, ok := capability[ClientConfiguration](component); !ok {
		return false
	}
	spec := reflect.Indirect(reflect.ValueOf(specOf(component)))
	if spec.Kind() != reflect.Struct {
		return true
	}
	field, ok := spec.Type().FieldByName("ClientSpec")
	return !ok || field.Type != reflect.TypeFor[ClientSpec]()
}
