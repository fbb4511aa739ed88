// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/status"
)

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
