// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// An OperationPhase is the progress of an operation, or of one object.
type OperationPhase string

const (
	// OperationRunning means that something is left to be done, or to be waited for.
	OperationRunning OperationPhase = "Running"
	// OperationTerminating means that the operation has to be terminated. A caller may record it, and pass it to
	// WithInitialState. Then Sync does what Terminate does.
	OperationTerminating OperationPhase = "Terminating"
	// OperationFailed means that objects were refused or have failed, or that the operation was terminated.
	OperationFailed OperationPhase = "Failed"
	// OperationError means that something has failed that is not about objects, such as a function of the caller.
	OperationError OperationPhase = "Error"
	// OperationSucceeded means that all is applied and healthy.
	OperationSucceeded OperationPhase = "Succeeded"
)

// Completed reports whether the operation has ended.
func (p OperationPhase) Completed() bool { return p.Failed() || p.Successful() }

// Running reports whether the operation is under way.
func (p OperationPhase) Running() bool { return p == OperationRunning }

// Successful reports whether the operation has succeeded.
func (p OperationPhase) Successful() bool { return p == OperationSucceeded }

// Failed reports whether the operation has ended without success.
func (p OperationPhase) Failed() bool { return p == OperationFailed || p == OperationError }

// A SyncPhase is a part of an operation.
type SyncPhase string

const (
	// SyncPhasePreSync is before everything else is applied.
	SyncPhasePreSync SyncPhase = "PreSync"
	// SyncPhaseSync is when Sync hooks and objects that are not hooks are applied.
	SyncPhaseSync SyncPhase = "Sync"
	// SyncPhasePostSync is when everything is applied and healthy, and obsolete objects are gone.
	SyncPhasePostSync SyncPhase = "PostSync"
	// SyncPhaseSyncFail is when objects were refused or have failed after the operation has begun to write.
	SyncPhaseSyncFail SyncPhase = "SyncFail"
)

// A HookType says when a hook runs: it is a value of the annotation argocd.argoproj.io/hook.
type HookType string

const (
	// HookTypePreSync runs a hook in SyncPhasePreSync.
	HookTypePreSync HookType = "PreSync"
	// HookTypeSync runs a hook in SyncPhaseSync.
	HookTypeSync HookType = "Sync"
	// HookTypePostSync runs a hook in SyncPhasePostSync.
	HookTypePostSync HookType = "PostSync"
	// HookTypeSyncFail runs a hook in SyncPhaseSyncFail.
	HookTypeSyncFail HookType = "SyncFail"
	// HookTypeSkip leaves out an object that has no other type.
	HookTypeSkip HookType = "Skip"
)

// NewHookType returns the hook type with a name, and whether there is one.
func NewHookType(name string) (HookType, bool) {
	switch hook := HookType(name); hook {
	case HookTypePreSync, HookTypeSync, HookTypePostSync, HookTypeSyncFail, HookTypeSkip:
		return hook, true
	default:
		return "", false
	}
}

// A HookDeletePolicy says when a hook is deleted: it is a value of the annotation
// argocd.argoproj.io/hook-delete-policy.
type HookDeletePolicy string

const (
	// HookDeletePolicyHookSucceeded deletes a hook after it has succeeded.
	HookDeletePolicyHookSucceeded HookDeletePolicy = "HookSucceeded"
	// HookDeletePolicyHookFailed deletes a hook after it has failed.
	HookDeletePolicyHookFailed HookDeletePolicy = "HookFailed"
	// HookDeletePolicyBeforeHookCreation deletes the hook of an earlier operation before it is created again. It is the
	// default.
	HookDeletePolicyBeforeHookCreation HookDeletePolicy = "BeforeHookCreation"
)

// NewHookDeletePolicy returns the policy with a name, and whether there is one.
func NewHookDeletePolicy(name string) (HookDeletePolicy, bool) {
	switch policy := HookDeletePolicy(name); policy {
	case HookDeletePolicyHookSucceeded, HookDeletePolicyHookFailed, HookDeletePolicyBeforeHookCreation:
		return policy, true
	default:
		return "", false
	}
}

// A ResultCode says what was done about an object.
type ResultCode string

const (
	// ResultCodeSynced means that the object is applied.
	ResultCodeSynced ResultCode = "Synced"
	// ResultCodeSyncFailed means that the object could not be applied or pruned.
	ResultCodeSyncFailed ResultCode = "SyncFailed"
	// ResultCodePruned means that the obsolete object is gone, or that its deletion was requested.
	ResultCodePruned ResultCode = "Pruned"
	// ResultCodePruneSkipped means that the object is obsolete, and stays.
	ResultCodePruneSkipped ResultCode = "PruneSkipped"
)

// A ResourceSyncResult says what an operation did about one object in one phase.
type ResourceSyncResult struct {
	// ResourceKey identifies the object.
	ResourceKey ResourceKey
	// Version of the API in which the object was declared.
	Version string
	// Order counts the results in the order in which they came, from 1.
	Order int
	// Status says what was done.
	Status ResultCode
	// Message explains the status.
	Message string
	// HookType is empty if the object is no hook.
	HookType HookType
	// HookPhase says how far the object is, hook or not: OperationRunning until it is healthy, or has completed.
	HookPhase OperationPhase
	// SyncPhase is the phase in which the object was applied.
	SyncPhase SyncPhase
}

// A HealthStatusCode is the health of an object.
type HealthStatusCode string

const (
	// HealthStatusHealthy means that the object does its job, or has done it.
	HealthStatusHealthy HealthStatusCode = "Healthy"
	// HealthStatusSuspended means that the object waits until it is resumed.
	HealthStatusSuspended HealthStatusCode = "Suspended"
	// HealthStatusProgressing means that the object is not healthy yet.
	HealthStatusProgressing HealthStatusCode = "Progressing"
	// HealthStatusMissing means that something that the object needs does not exist.
	HealthStatusMissing HealthStatusCode = "Missing"
	// HealthStatusDegraded means that the object has failed.
	HealthStatusDegraded HealthStatusCode = "Degraded"
	// HealthStatusUnknown means that the health is not known.
	HealthStatusUnknown HealthStatusCode = "Unknown"
)

// HealthStatus is the health of an object, and why it is so.
type HealthStatus struct {
	Status  HealthStatusCode
	Message string
}

// A HealthOverride has health rules that come before those of the runtime.
type HealthOverride interface {
	// GetResourceHealth returns the health of an object; nil if the rules of the runtime apply. If it returns an error,
	// the health is unknown. It must not make requests, must not change the object, and must return the same for the
	// same object.
	GetResourceHealth(obj *unstructured.Unstructured) (*HealthStatus, error)
}

// overriding judges objects by the override, and others by the base.
type overriding struct {
	override HealthOverride
	base     status.Judge
}

// Judge returns the status of an object. Only a degraded object has failed; an operation waits for all others until
// they are healthy.
func (o overriding) Judge(object *unstructured.Unstructured) status.Result {
	health, err := o.override.GetResourceHealth(object)
	if err != nil {
		return status.Result{Status: status.UnknownStatus, Message: status.Clip(err.Error())}
	}
	if health == nil {
		return o.base.Judge(object)
	}
	result := status.Result{Status: status.InProgressStatus, Message: status.Clip(health.Message)}
	switch health.Status {
	case HealthStatusHealthy:
		result.Status = status.CurrentStatus
	case HealthStatusDegraded:
		result.Status = status.FailedStatus
	case HealthStatusUnknown:
		result.Status = status.UnknownStatus
	case HealthStatusSuspended, HealthStatusProgressing, HealthStatusMissing:
	}
	if result.Message == "" && result.Status != status.CurrentStatus {
		result.Message = "health: " + string(health.Status)
	}
	return result
}

// Rules names the type of the override: a context has one override for all its life.
func (o overriding) Rules() string {
	return fmt.Sprintf("health override %T, %s", o.override, o.base.Rules())
}

// Overrules reports that the override comes before annotations of objects.
func (o overriding) Overrules(object *unstructured.Unstructured) bool {
	health, err := o.override.GetResourceHealth(object)
	return err != nil || health != nil
}

// A ResourceKey identifies an object in a cluster, in any version.
type ResourceKey struct {
	Group, Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
}

// NewResourceKey returns the key of an object.
func NewResourceKey(group, kind, namespace, name string) ResourceKey {
	return ResourceKey{Group: group, Kind: kind, Namespace: namespace, Name: name}
}

// GetResourceKey returns the key of an object as it is: if it names no namespace, the key has none.
func GetResourceKey(object *unstructured.Unstructured) ResourceKey { return keyOf(types.IDOf(object)) }

func keyOf(id types.ObjectID) ResourceKey {
	return ResourceKey{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// GroupKind returns the type of the object.
func (k ResourceKey) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}

// String returns the fields, separated by slashes.
func (k ResourceKey) String() string {
	return strings.Join([]string{k.Group, k.Kind, k.Namespace, k.Name}, "/")
}

func (k ResourceKey) id() types.ObjectID {
	return types.ObjectID{GroupKind: k.GroupKind(), Namespace: k.Namespace, Name: k.Name}
}

// A ResourceInfoProvider knows the types of a cluster.
type ResourceInfoProvider interface {
	// IsNamespaced reports whether objects of a type are in namespaces. The error says why that is not known.
	IsNamespaced(kind schema.GroupKind) (bool, error)
}

// NewResourceInfoProvider returns a provider that asks a mapper.
func NewResourceInfoProvider(mapper meta.RESTMapper) ResourceInfoProvider {
	return mapped{mapper: mapper}
}

type mapped struct{ mapper meta.RESTMapper }

// IsNamespaced reports what the mapper says.
func (m mapped) IsNamespaced(kind schema.GroupKind) (bool, error) {
	mapping, err := m.mapper.RESTMapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// declaredTypes knows the types of a cluster, and those that are declared. It asks for each type once.
type declaredTypes struct {
	cluster  ResourceInfoProvider
	declared map[schema.GroupKind]bool
	known    map[schema.GroupKind]scope
}

type scope struct {
	isNamespaced bool
	err          error
}

func newTypes(mapper meta.RESTMapper, objects ReconciliationResult) *declaredTypes {
	d := &declaredTypes{cluster: NewResourceInfoProvider(mapper), declared: map[schema.GroupKind]bool{}, known: map[schema.GroupKind]scope{}}
	for _, object := range slices.Concat(objects.Target, objects.Hooks) {
		if object == nil || object.GroupVersionKind().GroupKind() != definitions {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		place, _, _ := unstructured.NestedString(object.Object, "spec", "scope")
		d.declared[schema.GroupKind{Group: group, Kind: kind}] = place == "Namespaced"
	}
	return d
}

// definitions is the type of definitions of types.
var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// IsNamespaced reports what the cluster says, or if it does not know, the declared definition.
func (d *declaredTypes) IsNamespaced(kind schema.GroupKind) (bool, error) {
	found, isKnown := d.known[kind]
	if !isKnown {
		found.isNamespaced, found.err = d.cluster.IsNamespaced(kind)
		if isNamespaced, isDeclared := d.declared[kind]; isDeclared && found.err != nil {
			found = scope{isNamespaced: isNamespaced}
		}
		d.known[kind] = found
	}
	return found.isNamespaced, found.err
}
