// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package handlers contains common parts of the default handlers and of the mutators of several kinds.
package handlers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Infallible wraps an edit that cannot fail.
func Infallible[E any](edit func(E)) func(E) error {
	return func(editor E) error {
		edit(editor)
		return nil
	}
}

// Workload contains the numbers in the spec and status of a workload.
type Workload struct {
	// Kind is the kind of the object, as in "Deployment".
	Kind string
	// Generation is the generation of the object, Observed the last one that its controller has observed.
	Generation, Observed int64
	// Desired, Ready and Current are numbers of replicas: declared, ready, existing.
	Desired, Ready, Current int32
	// Rollout describes what is missing until all replicas have the declared form; empty if nothing is.
	Rollout string
	// Failure is the reason why the workload will not become ready; empty if no reason is known.
	Failure string
}

// Converging returns the progress of the workload. It is Healthy if the controller has observed the spec, all replicas
// have the declared form and are ready, and no others exist.
func (w Workload) Converging(op concepts.ConvergingOperation) concepts.AliveStatusWithReason {
	switch {
	case w.Observed < w.Generation:
		return unready(op, concepts.AliveConvergingStatusUpdating, w.unobserved())
	case w.Ready == w.Desired && w.Rollout == "":
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusHealthy, Reason: "All replicas are ready"}
	case w.Failure != "":
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusFailing, Reason: w.Failure}
	case w.Ready != w.Desired:
		return unready(op, concepts.AliveConvergingStatusScaling, fmt.Sprintf("Waiting for replicas: %d/%d ready", w.Ready, w.Desired))
	default:
		return unready(op, concepts.AliveConvergingStatusUpdating, "Waiting for rollout: "+w.Rollout)
	}
}

// unready returns the status for the operation; otherwise if it is None.
func unready(op concepts.ConvergingOperation, otherwise concepts.AliveConvergingStatus, reason string) concepts.AliveStatusWithReason {
	switch op {
	case concepts.ConvergingOperationCreated:
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusCreating, Reason: reason}
	case concepts.ConvergingOperationUpdated:
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusUpdating, Reason: reason}
	case concepts.ConvergingOperationNone:
	}
	return concepts.AliveStatusWithReason{Status: otherwise, Reason: reason}
}

// Grace returns how well the workload does its job, by the number of ready replicas of any form.
func (w Workload) Grace() concepts.GraceStatusWithReason {
	switch {
	case w.Ready == w.Desired:
		return concepts.GraceStatusWithReason{Status: concepts.GraceStatusHealthy, Reason: "All replicas are ready"}
	case w.Ready > 0:
		return concepts.GraceStatusWithReason{Status: concepts.GraceStatusDegraded, Reason: w.Kind + " partially available"}
	default:
		return concepts.GraceStatusWithReason{Status: concepts.GraceStatusDown, Reason: "No replicas are ready"}
	}
}

// Suspension returns the progress of the suspension. It is Suspended if no replicas are left.
func (w Workload) Suspension() concepts.SuspensionStatusWithReason {
	switch {
	case w.Observed < w.Generation:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: w.unobserved()}
	case w.Current == 0:
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspended, Reason: w.Kind + " scaled to zero"}
	default:
		reason := fmt.Sprintf("Waiting for replicas to scale down, %d replicas still running.", w.Current)
		return concepts.SuspensionStatusWithReason{Status: concepts.SuspensionStatusSuspending, Reason: reason}
	}
}

func (w Workload) unobserved() string {
	return "Waiting for " + strings.ToLower(w.Kind) + " controller to observe latest spec"
}

// Rule interprets conditions.
type Rule struct {
	// Works is the condition that is True when the object works.
	Works string
	// Fails are the conditions that are False when the object will not work without intervention. The first one that is
	// False provides the reason.
	Fails []string
}

// Operational applies the rule to conditions. It returns OperationFailing, Operational, or otherwise OperationPending.
func (r Rule) Operational(conditions []metav1.Condition) concepts.OperationalStatusWithReason {
	for _, name := range r.Fails {
		if c := meta.FindStatusCondition(conditions, name); c != nil && c.Status == metav1.ConditionFalse {
			return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusFailing, Reason: Text(name+" is False", Text(c.Reason, c.Message))}
		}
	}
	if meta.IsStatusConditionTrue(conditions, r.Works) {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: r.Works + " is True"}
	}
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting for " + r.Works + " to be True"}
}

// Text joins reason and message of a condition. Each of them may be empty.
func Text(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// AddressStatus returns Operational if any ingress point of a load balancer has an address, and OperationPending
// otherwise. The function returns both forms of an address.
func AddressStatus[P any](points []P, of func(P) (ip, hostname string)) concepts.OperationalStatusWithReason {
	assigned := slices.ContainsFunc(points, func(point P) bool {
		ip, hostname := of(point)
		return ip != "" || hostname != ""
	})
	if !assigned {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting for the address of the load balancer"}
	}
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: "The load balancer has an address"}
}

// Hash returns the SHA-256 of entries, in hexadecimal. It depends only on keys and values, not on their order or on the
// fields that contain them.
func Hash(entries map[string][]byte) (string, error) {
	// Nil would have a different digest than an empty value.
	all := make(map[string][]byte, len(entries))
	for key, value := range entries {
		all[key] = append([]byte{}, value...)
	}
	return manifest.Digest(all)
}

// resource is a typed resource whose object is of type P.
type resource[P any] interface {
	comparable
	PreviewObject() (P, error)
	Registration() concepts.Registration
	Identity() string
}

// DesiredHash returns the hash of the desired object of a resource. It fails if the resource is nil or read-only,
// because the object then has another owner, or if a mutation fails.
func DesiredHash[P any, R resource[P]](r R, kind string, hash func(P) (string, error)) (string, error) {
	var none R
	if r == none {
		return "", fmt.Errorf("hashing a %s: the resource must not be nil", kind)
	}
	if r.Registration().ReadOnly {
		return "", fmt.Errorf("hashing the entries of %s: the resource is read-only, so what will be in the object is not known here; must be a resource that writes its object. "+
			"For this one, extract its data or their DataHash (WithData), and use them in the pod template, for example as an annotation", r.Identity())
	}
	object, err := r.PreviewObject()
	if err != nil {
		return "", err
	}
	return hash(object)
}

// CheckRoleRef returns an error that lists the empty fields of a binding's reference to its role; nil if none is empty.
func CheckRoleRef(ref rbacv1.RoleRef) error {
	var problems []error
	for _, field := range []struct{ value, name, advice string }{
		{ref.APIGroup, "apiGroup", "; set it to " + rbacv1.GroupName}, {ref.Kind, "kind", ""}, {ref.Name, "name", ""},
	} {
		if field.value == "" {
			problems = append(problems, fmt.Errorf("roleRef.%s must not be empty%s", field.name, field.advice))
		}
	}
	return errors.Join(problems...)
}
