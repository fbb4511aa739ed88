// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import "cel.dev/cel-go/common/cost"

// sizes estimates the sizes of the lists, maps and texts of an object, which has no schema here.
type sizes struct{}

// EstimateSize returns assumedSize for what comes out of the object.
func (sizes) EstimateSize(element cost.AstNode) *cost.SizeEstimate {
	if computed := element.ComputedSize(); computed != nil {
		return computed
	}
	return &cost.SizeEstimate{Min: 0, Max: assumedSize}
}

// EstimateCallCost leaves the cost of functions to CEL, except that it knows what an optional value contains.
func (sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	switch function {
	case "orValue", "value":
		return &cost.CallEstimate{CostEstimate: cost.FixedCostEstimate(1), ResultSize: &cost.SizeEstimate{Min: 0, Max: assumedSize}}
	}
	return nil
}
