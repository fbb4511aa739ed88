// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
)

// autoscalerFailures are the reasons of conditions for which an autoscaler cannot do its job. Other reasons are states
// in which it has nothing to do, as when its target is scaled to zero.
var autoscalerFailures = map[string][]string{
	"AbleToScale": {"FailedGetScale", "FailedUpdateScale"},
	"ScalingActive": {
		"FailedComputeMetricsReplicas", "FailedGetContainerResourceMetric", "FailedGetExternalMetric", "FailedGetObjectMetric", "FailedGetPodsMetric",
		"FailedGetResourceMetric", "InvalidMetricSourceType", "InvalidSelector", "AmbiguousSelector",
	},
}

// judgeAutoscaler grades a HorizontalPodAutoscaler. It is ready also if it cannot scale, because its target may become
// ready only later, and others may bring the metrics.
func judgeAutoscaler(view view, result Result) Result {
	for _, name := range []string{"AbleToScale", "ScalingActive"} {
		found := view.condition(name)
		if found.present && !found.isTrue() && slices.Contains(autoscalerFailures[name], found.text("reason")) {
			// The message of the condition names pods and numbers that change all the time.
			result.Grade, result.Message = GradeDegraded, fmt.Sprintf("cannot scale: %s is %s (%s)", name, found.text("status"), found.text("reason"))
			return result
		}
	}
	return result
}
