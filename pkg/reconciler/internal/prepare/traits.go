// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/status"
)

// Traits say which behaviors came with an object.
type Traits struct {
	// Step is the step of the wave in which the object is applied.
	Step int
	// Guarded, Extracting, Reading, Resetting and Late mean that the object has these behaviors.
	Guarded, Extracting, Reading, Resetting, Late bool
	// Judged means that the object has a judge of its own.
	Judged bool
	// Suspending means that the object has a suspended form.
	Suspending bool
	// Grace is how long the object may be not ready before its grade counts; zero if there is no limit.
	Grace time.Duration
	// Unawaited means that nothing waits until the object is ready.
	Unawaited bool
}

// traitsOf returns the traits of an object, and what is wrong with its behaviors; empty if nothing is.
func traitsOf(object client.Object) (traits Traits, problem string) {
	if unknown := behaviors.Unknown(object); len(unknown) > 0 {
		const allowed = "Stepped, Guarded, Extracting, Reading, Late, Awaited, Ordered, Graceful, Resetting, Suspending or Judged"
		return traits, fmt.Sprintf("a value of type %s is attached to it, which is not a behavior; must implement %s", strings.Join(unknown, ", "), allowed)
	}
	if stepped, ok := behaviors.Of[behaviors.Stepped](object); ok {
		traits.Step = stepped.Step()
	}
	if traits.Step < 0 {
		return traits, fmt.Sprintf("invalid step %d; must not be negative", traits.Step)
	}
	if awaited, ok := behaviors.Of[behaviors.Awaited](object); ok {
		traits.Unawaited = !awaited.IsAwaited()
	}
	if graceful, ok := behaviors.Of[behaviors.Graceful](object); ok {
		traits.Grace = graceful.GracePeriod()
	}
	_, traits.Guarded = behaviors.Of[behaviors.Guarded](object)
	_, traits.Extracting = behaviors.Of[behaviors.Extracting](object)
	if reading, ok := behaviors.Of[behaviors.Reading](object); ok {
		traits.Reading = true
		for i, read := range reading.Reads() {
			if read.Kind == "" || read.Version == "" || read.Name == "" || read.Take == nil {
				return traits, fmt.Sprintf("read %d (%s %s): version, kind, name and Take are required", i, read.GroupVersionKind, read.NamespacedName)
			}
		}
	}
	_, traits.Resetting = behaviors.Of[behaviors.Resetting](object)
	_, traits.Late = behaviors.Of[behaviors.Late](object)
	_, traits.Suspending = behaviors.Of[behaviors.Suspending](object)
	_, traits.Judged = behaviors.Of[behaviors.Judged](object)
	return traits, ""
}

// judgesContent reports whether an object has a judge of its own that reads more than metadata.
func judgesContent(object client.Object, kind schema.GroupKind) bool {
	judge, ok := behaviors.Of[behaviors.Judged](object)
	if !ok {
		return false
	}
	metadata, ok := judge.(status.MetadataJudge)
	return !ok || !metadata.JudgesMetadata(kind)
}
