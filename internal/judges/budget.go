// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"errors"
	"sync"
	"time"

	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

const (
	// Brief is a limit for places where others wait: about a millisecond. Most conditions cost less than a hundredth of
	// it.
	Brief = 10_000
	// Full is the limit for one object: a tenth of a second, and at most a hundred megabytes.
	Full = 1_000_000

	// patience is the maximum duration of one evaluation. It matters only if a function costs more time than it is
	// charged for.
	patience = 5 * time.Second
	// interruptEvery is the number of iterations between two looks at the clock.
	interruptEvery = 100
)

// ErrTooExpensive means that an evaluation was ended because it costs too much.
var ErrTooExpensive = errors.New("costs too much for this object")

// Budget limits what several evaluations cost together, in the units of CEL: one for each field, value and call, and
// one for each ten bytes of text that a call reads or returns. It is not safe for concurrent use.
type Budget struct {
	tracker  *cost.Tracker
	limit    uint64
	patience time.Duration
}

// NewBudget returns a Budget with this limit.
func NewBudget(limit uint64) *Budget {
	tracker := *unlimited()
	tracker.Limit = &limit
	return &Budget{tracker: &tracker, limit: limit, patience: patience}
}

// unlimited is the tracker that those of all budgets are copied from.
var unlimited = sync.OnceValue(func() *cost.Tracker {
	tracker, _ := cost.NewTracker(charges{}) // only options cause errors
	return tracker
})

// Spend takes units for work that is about to be done. The error is ErrTooExpensive.
func (b *Budget) Spend(units uint64) error {
	if units > b.limit || b.tracker.ActualCost() > b.limit-units {
		b.charge(b.limit + 1) // nothing is left for others
		return ErrTooExpensive
	}
	b.charge(units)
	return nil
}

func (b *Budget) charge(units uint64) {
	defer func() { _ = recover() }() // the tracker panics if the limit is exceeded
	b.tracker.EvalUnary(nil, 0, spending{}, types.Uint(units), nil)
}

// Size returns the number of units for reading a value, with all that it contains.
func Size(value any) uint64 { return uint64(calculator.AggregateSize(value)) }

// calculator counts as Budget does. It stops at values that are beyond Full.
var calculator = types.NewSizeCalculator(types.SizeCalculatorMaxDepth(100), types.SizeCalculatorMaxTraversal(Full))

// charges has the costs of all calls.
type charges struct{}

// CallCost implements cost.ActualCostEstimator.
func (charges) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	charge := work(function, args)
	return &charge
}

// spending is the call of a function that costs what its argument says.
type spending struct{}

func (spending) Function() string   { return "@spend" }
func (spending) OverloadID() string { return "" }
