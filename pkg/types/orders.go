// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

import "strconv"

const (
	// MinOrder is the smallest value of an apply, purge or delete order.
	MinOrder = -1 << 15
	// MaxOrder is the largest value of an apply, purge or delete order.
	MaxOrder = 1<<15 - 1
)

const (
	// PostApplyOrder is added to the apply orders of post-apply hooks, so that inventories, plans and results have them
	// after all other waves.
	PostApplyOrder = 100_000
	// OnFailureOrder is added to the apply orders of on-failure hooks.
	OnFailureOrder = 200_000
)

// SplitOrder splits an apply order of an inventory into the kind of hook, which is empty for other objects, and the
// apply order of the object.
func SplitOrder(order int) (hook string, wave int) {
	switch {
	case order >= OnFailureOrder+MinOrder:
		return ApplyHookOnFailure, order - OnFailureOrder
	case order >= PostApplyOrder+MinOrder:
		return ApplyHookPostApply, order - PostApplyOrder
	default:
		return "", order
	}
}

// WaveText names the wave with an apply or delete order of an inventory: "wave 3", "post-apply wave 3", or "the first
// wave" for MinOrder.
func WaveText(order int) string {
	hook, wave := SplitOrder(order)
	switch {
	case hook != "":
		return hook + " wave " + strconv.Itoa(wave)
	case wave == MinOrder:
		return "the first wave"
	default:
		return "wave " + strconv.Itoa(wave)
	}
}
