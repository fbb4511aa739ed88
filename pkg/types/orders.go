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
	// PostApplyOrder is added to the apply orders of post-apply hooks, so that inventories, plans and results have them after all other waves.
	PostApplyOrder = 100_000
	// OnFailureOrder is added to the apply orders of on-failure hooks.
	OnFailureOrder = 200_000
)

// WaveText names the wave with an order of an inventory: "wave 3", "post-apply wave 3" or "on-failure wave 3".
func WaveText(order int) string {
	switch {
	case order >= OnFailureOrder+MinOrder:
		return "on-failure wave " + strconv.Itoa(order-OnFailureOrder)
	case order >= PostApplyOrder+MinOrder:
		return "post-apply wave " + strconv.Itoa(order-PostApplyOrder)
	default:
		return "wave " + strconv.Itoa(order)
	}
}
