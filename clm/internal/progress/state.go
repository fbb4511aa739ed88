// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/terminal"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// State is how an operation stands at one moment.
type State struct {
	// Operation is what is being done: apply, rollback, heal, delete, test, adopt, orphan, move, wait.
	Operation string
	// Release is namespace and name.
	Release string
	// Revision of the release; 0 if the operation makes none.
	Revision int64
	// Objects are all dependents in the order of their waves, including those that are deleted or released meanwhile.
	Objects []Object
	// Phase says what is going on: "waiting for the lock held by ...", "applying wave 2 of 5".
	Phase string
	// Message says what else should be known now, such as an error that is being retried; may be empty.
	Message string
}

// title names the operation.
func (s State) title() string {
	title := strings.TrimSpace(s.Operation + " " + s.Release)
	if s.Revision != 0 {
		title += " revision " + strconv.FormatInt(s.Revision, 10)
	}
	return title
}

// Key denotes a dependent.
type Key struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// KeyOf copies the key of an object.
func KeyOf(object types.ObjectKey) Key {
	version, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return Key{APIVersion: version, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// String names the object as other messages do, for example "Deployment default/web".
func (k Key) String() string {
	return types.ObjectText(schema.FromAPIVersionAndKind(k.APIVersion, k.Kind).GroupKind(), k.Namespace, k.Name)
}

// Object is how a dependent stands.
type Object struct {
	Key
	// Wave is the apply order, or the delete order if the operation is a deletion.
	Wave int
	// Phase as recorded; empty means that it is to be applied.
	Phase reconciler.Phase
	// Status as seen last; may be empty.
	Status status.Status
	// Wait says why the object is not ready, or is not gone; empty if it is.
	Wait string
	// Since is when this state began; zero if that is not known.
	Since time.Time
	// Failed means that somebody has to intervene. Wait says why.
	Failed bool
	// Verb is what the operation has done to the object; empty if nothing yet.
	Verb reconciler.Verb
}

// standing is what the phase of an object means to people.
type standing string

const (
	pending standing = "pending" // its turn has not come
	moving  standing = "moving"  // something was done, and has not come to its end
	done    standing = "done"    // nothing is left to do
	failed  standing = "failed"  // nothing will happen by itself
)

func (o Object) standing() standing {
	switch {
	case o.Failed:
		return failed
	case o.Verb == reconciler.VerbDeleted || o.Verb == reconciler.VerbOrphaned:
		return done
	}
	switch o.Phase {
	case reconciler.PhaseFailed:
		return failed
	case reconciler.PhaseCompleted:
		return done
	case reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseDeleting, reconciler.PhaseCompleting:
		return moving
	case reconciler.PhaseReady:
		if o.Wait == "" {
			return done
		}
	case reconciler.PhaseScheduledForApplication, reconciler.PhaseScheduledForDeletion, reconciler.PhaseScheduledForCompletion, "":
		if o.Wait == "" {
			return pending
		}
	}
	return moving
}

// because is why the object waits or has failed, to follow upon the label, which it does not repeat.
func (o Object) because() string {
	reason := terminal.Clean(o.Wait)
	rest, repeats := strings.CutPrefix(reason, o.label())
	if reason == "" || repeats && (rest == "" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " (")) {
		return rest
	}
	return ": " + reason
}

// label is the one word for what happens to the object.
func (o Object) label() string {
	switch standing := o.standing(); {
	case standing == failed:
		return "failed"
	case standing == moving && (o.Phase == "" || o.Phase == reconciler.PhaseReady || strings.HasPrefix(string(o.Phase), "Scheduled")):
		return "waiting"
	case standing == pending:
		return "pending"
	case o.Verb == reconciler.VerbDeleted || o.Verb == reconciler.VerbOrphaned:
		return strings.ToLower(string(o.Verb))
	default:
		return strings.ToLower(string(o.Phase))
	}
}
