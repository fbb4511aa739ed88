// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concepts

import (
	"time"

	"github.com/component-operator/runtime/pkg/resources/feature"
)

// Registration says how a resource takes part in a set of resources. The zero value is that of a resource without any
// options.
type Registration struct {
	// Gate decides whether the object exists: if it is off, the object is deleted. Nil means that it is on.
	Gate feature.Gate
	// ReadOnly means that the object has another owner: it is read, and never written or deleted.
	ReadOnly bool
	// Absence says what it means if a read-only object does not exist.
	Absence Absence
	// Auxiliary means that nothing waits until the object is ready, and that its health does not count.
	Auxiliary bool
	// GracePeriod is how long the object may be not ready before its GraceStatus counts; zero means that the set
	// decides.
	GracePeriod time.Duration
	// Policies has values of policy annotations, by the part of their keys that follows the name of the reconciler.
	Policies map[string]string
	// Produces are the values that are extracted from the object.
	Produces []Cell
	// Requires are the values without which the object must not be applied.
	Requires []Cell
	// Uses are the values that the object uses if they exist.
	Uses []Cell
	// Extracts means that functions extract data which are in none of the cells.
	Extracts bool
	// Guarded means that the resource has a guard of its own.
	Guarded bool
	// Suspendable means that the object has a suspended form.
	Suspendable bool
	// Judged means that ConvergingStatus decides whether the object is ready. Otherwise, the judge of the component
	// decides.
	Judged bool
	// Custom means that the status is computed by functions of the author, which may depend on the input of the
	// generator.
	Custom bool
	// MayVary means that functions of the author may depend on more than the input of the generator and cells; so the
	// resource must be made again for each pass.
	MayVary bool
}

// Absence says what it means if a read-only object does not exist.
type Absence string

const (
	// AbsenceBlocks means that what comes later waits for the object. This is the default.
	AbsenceBlocks Absence = ""
	// AbsenceIsFine means that the object is as good as ready, and that its data stay unset.
	AbsenceIsFine Absence = "Fine"
)
