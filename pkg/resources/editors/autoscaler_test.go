// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

type hpaRows = map[string]row[autoscalingv2.HorizontalPodAutoscalerSpec, *editors.HPASpecEditor]

func metrics(metrics ...autoscalingv2.MetricSpec) autoscalingv2.HorizontalPodAutoscalerSpec {
	return autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: metrics}
}

// target tells metrics with the same identity apart.
func target(utilization int32) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{AverageUtilization: &utilization}
}

func TestHPASpecEditorSets(t *testing.T) {
	t.Parallel()
	behavior := &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(1))}}
	full := autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}, MinReplicas: new(int32(0)), MaxReplicas: 3, Behavior: behavior,
	}
	check(t, editors.NewHPASpecEditor, hpaRows{
		"each method sets its own field": {
			start: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: new(int32(1)), Metrics: []autoscalingv2.MetricSpec{{}}},
			edit: func(e *editors.HPASpecEditor) {
				e.SetScaleTargetRef(autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"})
				e.SetMinReplicas(new(int32(0)))
				e.SetMaxReplicas(3)
				e.SetBehavior(behavior)
				e.Raw().Metrics = nil
			},
			want: full,
		},
		"nil clears fields": {
			start: *full.DeepCopy(),
			edit:  func(e *editors.HPASpecEditor) { e.SetMinReplicas(nil); e.SetBehavior(nil) },
			want:  autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: full.ScaleTargetRef, MaxReplicas: 3},
		},
	})
}

func TestHPASpecEditorMetrics(t *testing.T) {
	t.Parallel()
	resource := func(name string, utilization int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceName(name), Target: target(utilization)},
		}
	}
	container := func(name string, utilization int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{
			Type:              autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{Name: "cpu", Container: name, Target: target(utilization)},
		}
	}
	pods := func(selector *metav1.LabelSelector, utilization int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "rps", Selector: selector}, Target: target(utilization),
		}}
	}
	external := func(selector *metav1.LabelSelector, utilization int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "rps", Selector: selector}, Target: target(utilization),
		}}
	}
	object := func(name string, selector *metav1.LabelSelector, utilization int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "Ingress", Name: name},
			Metric:          autoscalingv2.MetricIdentifier{Name: "rps", Selector: selector}, Target: target(utilization),
		}}
	}
	red, blue := &metav1.LabelSelector{MatchLabels: map[string]string{"color": "red"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"color": "blue"}}
	ensure := func(metric autoscalingv2.MetricSpec) func(*editors.HPASpecEditor) {
		return func(e *editors.HPASpecEditor) { e.EnsureMetric(metric) }
	}
	remove := func(metricType autoscalingv2.MetricSourceType, name string) func(*editors.HPASpecEditor) {
		return func(e *editors.HPASpecEditor) { e.RemoveMetric(metricType, name) }
	}
	check(t, editors.NewHPASpecEditor, hpaRows{
		"a metric is added to none": {edit: ensure(resource("cpu", 1)), want: metrics(resource("cpu", 1))},
		"a resource is identified by its name": {
			start: metrics(resource("cpu", 1), resource("memory", 1), resource("cpu", 2)), edit: ensure(resource("cpu", 3)),
			want: metrics(resource("cpu", 3), resource("memory", 1)),
		},
		"a resource of a container is another one": {
			start: metrics(resource("cpu", 1)), edit: ensure(container("a", 1)), want: metrics(resource("cpu", 1), container("a", 1)),
		},
		"a resource of a container is identified by the container as well": {
			start: metrics(container("a", 1), container("b", 1)), edit: ensure(container("b", 2)), want: metrics(container("a", 1), container("b", 2)),
		},
		"a metric of pods is identified by its selector as well": {
			start: metrics(pods(red, 1), pods(blue, 1), pods(nil, 1)), edit: ensure(pods(blue, 2)), want: metrics(pods(red, 1), pods(blue, 2), pods(nil, 1)),
		},
		"an external metric is not one of pods": {
			start: metrics(pods(red, 1)), edit: ensure(external(red, 1)), want: metrics(pods(red, 1), external(red, 1)),
		},
		"an external metric is identified by its selector as well": {
			start: metrics(external(red, 1), external(blue, 1)), edit: ensure(external(red, 2)), want: metrics(external(red, 2), external(blue, 1)),
		},
		"a metric of an object is identified by the object as well": {
			start: metrics(object("a", red, 1), object("b", red, 1)), edit: ensure(object("b", red, 2)), want: metrics(object("a", red, 1), object("b", red, 2)),
		},
		"a metric of an object is identified by its selector as well": {
			start: metrics(object("a", red, 1)), edit: ensure(object("a", blue, 1)), want: metrics(object("a", red, 1), object("a", blue, 1)),
		},
		"no selector is an empty one": {
			start: metrics(pods(nil, 1)), edit: ensure(pods(&metav1.LabelSelector{}, 2)), want: metrics(pods(&metav1.LabelSelector{}, 2)),
		},
		"a metric without its source is one with empty fields": {
			start: metrics(autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType}, pods(nil, 1)),
			edit:  ensure(autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{}}),
			want:  metrics(autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{}}, pods(nil, 1)),
		},
		"all variants of a metric of pods are removed": {
			start: metrics(pods(red, 1), external(red, 1), pods(nil, 1)), edit: remove(autoscalingv2.PodsMetricSourceType, "rps"), want: metrics(external(red, 1)),
		},
		"a resource is removed for all containers": {
			start: metrics(container("a", 1), resource("cpu", 1), container("b", 1)), edit: remove(autoscalingv2.ContainerResourceMetricSourceType, "cpu"),
			want: metrics(resource("cpu", 1)),
		},
		"what is absent is not removed": {
			start: metrics(resource("cpu", 1)), edit: remove(autoscalingv2.ResourceMetricSourceType, "memory"), want: metrics(resource("cpu", 1)),
		},
	})
}

func TestHPASpecEditorComparesSelectors(t *testing.T) {
	t.Parallel()
	in := func(key string, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}
	}
	notIn := func(key string, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values}
	}
	expressions := func(expressions ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: expressions}
	}
	for reason, tc := range map[string]struct {
		a, b *metav1.LabelSelector
		same bool
	}{
		"expressions in another order":            {expressions(in("a", "1"), in("b", "1")), expressions(in("b", "1"), in("a", "1")), true},
		"values in another order":                 {expressions(in("a", "1", "2")), expressions(in("a", "2", "1")), true},
		"a value that is repeated":                {expressions(in("a", "1", "1")), expressions(in("a", "1")), true},
		"a label is an expression with one value": {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}, expressions(in("a", "1")), true},
		"another value":                           {expressions(in("a", "1")), expressions(in("a", "2")), false},
		"another key":                             {expressions(in("a", "1")), expressions(in("b", "1")), false},
		"another operator":                        {expressions(in("a", "1")), expressions(notIn("a", "1")), false},
		"a further expression":                    {expressions(in("a", "1")), expressions(in("a", "1"), in("b", "1")), false},
		"two values are not one with a blank":     {expressions(in("a", "1", "2")), expressions(in("a", `1" "2`)), false},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			first, second := tc.a.DeepCopy(), tc.b.DeepCopy()
			metric := func(selector *metav1.LabelSelector) autoscalingv2.MetricSpec {
				return autoscalingv2.MetricSpec{
					Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "x", Selector: selector}},
				}
			}
			e := editors.NewHPASpecEditor(nil)
			e.EnsureMetric(metric(tc.a))
			e.EnsureMetric(metric(tc.b))
			expected := []autoscalingv2.MetricSpec{metric(first), metric(second)}
			if tc.same {
				expected = expected[1:]
			}
			if diff := cmp.Diff(expected, e.Raw().Metrics); diff != "" {
				t.Errorf("unexpected metrics, maybe with selectors in another order (-want +got)\n%s", diff)
			}
		})
	}
}

func TestPodDisruptionBudgetSpecEditor(t *testing.T) {
	t.Parallel()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}
	full := policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromString("50%")), Selector: selector, UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
	}
	type rows = map[string]row[policyv1.PodDisruptionBudgetSpec, *editors.PodDisruptionBudgetSpecEditor]
	check(t, editors.NewPodDisruptionBudgetSpecEditor, rows{
		"each method sets its own field": {
			start: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(9))},
			edit: func(e *editors.PodDisruptionBudgetSpecEditor) {
				e.SetMinAvailable(intstr.FromInt32(1))
				e.SetMaxUnavailable(intstr.FromString("50%"))
				e.SetSelector(selector)
				e.SetUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow)
			},
			want: full,
		},
		"minAvailable is cleared": {
			start: *full.DeepCopy(),
			edit:  func(e *editors.PodDisruptionBudgetSpecEditor) { e.ClearMinAvailable() },
			want: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: full.MaxUnavailable, Selector: selector, UnhealthyPodEvictionPolicy: full.UnhealthyPodEvictionPolicy,
			},
		},
		"maxUnavailable is cleared": {
			start: *full.DeepCopy(),
			edit:  func(e *editors.PodDisruptionBudgetSpecEditor) { e.ClearMaxUnavailable() },
			want:  policyv1.PodDisruptionBudgetSpec{MinAvailable: full.MinAvailable, Selector: selector, UnhealthyPodEvictionPolicy: full.UnhealthyPodEvictionPolicy},
		},
		"the policy and the selector are cleared": {
			start: *full.DeepCopy(),
			edit: func(e *editors.PodDisruptionBudgetSpecEditor) {
				e.ClearUnhealthyPodEvictionPolicy()
				e.SetSelector(nil)
			},
			want: policyv1.PodDisruptionBudgetSpec{MinAvailable: full.MinAvailable, MaxUnavailable: full.MaxUnavailable},
		},
		"Raw is the value itself": {
			edit: func(e *editors.PodDisruptionBudgetSpecEditor) { e.Raw().Selector = selector },
			want: policyv1.PodDisruptionBudgetSpec{Selector: selector},
		},
	})
}
