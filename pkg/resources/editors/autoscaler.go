// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HPASpecEditor edits the spec of a HorizontalPodAutoscaler.
type HPASpecEditor struct {
	specEditor[autoscalingv2.HorizontalPodAutoscalerSpec]
}

// NewHPASpecEditor returns an editor of the given spec.
func NewHPASpecEditor(spec *autoscalingv2.HorizontalPodAutoscalerSpec) *HPASpecEditor {
	return &HPASpecEditor{specEditorOf(spec)}
}

// SetScaleTargetRef sets the workload that is scaled.
func (e *HPASpecEditor) SetScaleTargetRef(target autoscalingv2.CrossVersionObjectReference) {
	e.spec.ScaleTargetRef = target
}

// SetMinReplicas sets the least number of pods; nil clears it.
func (e *HPASpecEditor) SetMinReplicas(replicas *int32) {
	e.spec.MinReplicas = nil
	if replicas != nil {
		e.spec.MinReplicas = new(*replicas)
	}
}

// SetMaxReplicas sets the greatest number of pods.
func (e *HPASpecEditor) SetMaxReplicas(replicas int32) { e.spec.MaxReplicas = replicas }

// SetBehavior replaces the rules for the speed of scaling; nil clears them.
func (e *HPASpecEditor) SetBehavior(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior) {
	e.spec.Behavior = behavior.DeepCopy()
}

// EnsureMetric sets a metric with its target value. It is identified by the type and
//   - Resource: the name of the resource
//   - ContainerResource: the name of the resource and the container
//   - Pods, External: the name and the selector of the metric
//   - Object: the described object, and the name and the selector of the metric
//
// Selectors are the same if they select by the same requirements, in any order. No selector is the same as an empty
// one.
func (e *HPASpecEditor) EnsureMetric(metric autoscalingv2.MetricSpec) {
	ensure(&e.spec.Metrics, *metric.DeepCopy(), by(identifyMetric))
}

// RemoveMetric removes all metrics with a type and a name, whatever selector, container or described object they have.
// For the types Resource and ContainerResource the name is that of the resource.
func (e *HPASpecEditor) RemoveMetric(metricType autoscalingv2.MetricSourceType, name string) {
	remove(&e.spec.Metrics, func(metric autoscalingv2.MetricSpec) bool {
		identity := identifyMetric(metric)
		return identity.metricType == metricType && identity.name == name
	})
}

// metricIdentity is what identifies a metric.
type metricIdentity struct {
	metricType autoscalingv2.MetricSourceType
	name       string
	container  string
	described  autoscalingv2.CrossVersionObjectReference
	selector   string
}

// identifyMetric reads only the field that the type says. What is missing there is empty in the identity.
func identifyMetric(metric autoscalingv2.MetricSpec) metricIdentity {
	identity := metricIdentity{metricType: metric.Type}
	switch metric.Type {
	case autoscalingv2.ResourceMetricSourceType:
		identity.name = string(orNew(metric.Resource).Name)
	case autoscalingv2.ContainerResourceMetricSourceType:
		source := orNew(metric.ContainerResource)
		identity.name, identity.container = string(source.Name), source.Container
	case autoscalingv2.PodsMetricSourceType:
		source := orNew(metric.Pods)
		identity.name, identity.selector = source.Metric.Name, requirements(source.Metric.Selector)
	case autoscalingv2.ExternalMetricSourceType:
		source := orNew(metric.External)
		identity.name, identity.selector = source.Metric.Name, requirements(source.Metric.Selector)
	case autoscalingv2.ObjectMetricSourceType:
		source := orNew(metric.Object)
		identity.name, identity.selector = source.Metric.Name, requirements(source.Metric.Selector)
		identity.described = source.DescribedObject
	}
	return identity
}

// requirements returns a text that is the same for selectors with the same requirements.
func requirements(selector *metav1.LabelSelector) string {
	if selector == nil {
		return ""
	}
	var texts []string
	note := func(key string, operator metav1.LabelSelectorOperator, values ...string) {
		slices.Sort(values)
		texts = append(texts, fmt.Sprintf("%q %s %q", key, operator, slices.Compact(values)))
	}
	for key, value := range selector.MatchLabels {
		note(key, metav1.LabelSelectorOpIn, value)
	}
	for _, expression := range selector.MatchExpressions {
		note(expression.Key, expression.Operator, slices.Clone(expression.Values)...)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}
