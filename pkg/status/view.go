// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// view reads an object without trusting its form: a field that is missing or of another type reads as its default.
type view struct {
	object *unstructured.Unstructured
	kind   schema.GroupKind
}

func newView(object *unstructured.Unstructured) view {
	return view{object: object, kind: object.GroupVersionKind().GroupKind()}
}

func (v view) is(group string, kind string) bool {
	return v.kind.Group == group && v.kind.Kind == kind
}

func (v view) number(fallback int64, path ...string) int64 {
	value, found := v.field(path...)
	if !found {
		return fallback
	}
	switch value := value.(type) {
	case int64:
		return value
	case float64:
		return int64(value)
	}
	return fallback
}

func (v view) text(path ...string) string {
	text, _, _ := unstructured.NestedString(v.object.Object, path...)
	return text
}

func (v view) field(path ...string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(v.object.Object, path...)
	return value, found && err == nil
}

// condition returns the first condition of the given type; present is false if there is none.
func (v view) condition(name string) condition {
	value, _ := v.field("status", "conditions")
	items, _ := value.([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if found, _ := fields["type"].(string); fields != nil && found == name {
			return condition{name: name, present: true, fields: fields}
		}
	}
	return condition{name: name}
}

// condition is one entry of status.conditions.
type condition struct {
	name    string
	present bool
	fields  map[string]any
}

func (c condition) text(field string) string {
	text, _ := c.fields[field].(string)
	return text
}

func (c condition) isTrue() bool {
	return c.text("status") == "True"
}

func (c condition) observedGeneration() (int64, bool) {
	generation, ok := c.fields["observedGeneration"].(int64)
	return generation, ok
}

// describe returns the condition as text, for example "Ready is False (Crashing): exit code 1".
func (c condition) describe() string {
	if !c.present {
		return "condition " + c.name + " is missing"
	}
	return c.name + " is " + cmp.Or(c.text("status"), "Unknown") + c.because()
}

// because returns reason and message as the end of a sentence, or nothing.
func (c condition) because() string {
	words := ""
	if reason := c.text("reason"); reason != "" {
		words = " (" + reason + ")"
	}
	if message := c.text("message"); message != "" {
		words += ": " + message
	}
	return words
}

// count formats the numbers of a workload: always the decisive one, the others only while they differ from the desired
// number.
type count struct {
	desired int64
	noun    string
	words   []string
	settled bool
}

func counting(desired int64, noun string) *count {
	return &count{desired: desired, noun: noun, settled: true}
}

func (c *count) state(name string, actual int64) {
	c.words = append(c.words, fmt.Sprintf("%d/%d %s %s", actual, c.desired, c.noun, name))
	c.settled = c.settled && actual >= c.desired
}

func (c *count) progress(name string, actual int64) {
	if actual < c.desired {
		c.words = append(c.words, fmt.Sprintf("%d/%d %s", actual, c.desired, name))
		c.settled = false
	}
}

func (c *count) surplus(actual int64) {
	if actual > c.desired {
		c.words = append(c.words, fmt.Sprintf("%d surplus", actual-c.desired))
		c.settled = false
	}
}

// unfinished adds that the rollout is not finished, unless a number shows it.
func (c *count) unfinished() {
	if c.settled {
		c.words = append(c.words, "rollout not finished")
	}
}

func (c *count) String() string {
	return strings.Join(c.words, ", ")
}

// IsPendingClaim reports whether the object is a PersistentVolumeClaim that waits for a volume. Its class (see
// StorageClassOf) determines whether it must wait until a Pod uses it.
func IsPendingClaim(object *unstructured.Unstructured) bool {
	if object == nil || object.Object == nil || object.GetDeletionTimestamp() != nil {
		return false
	}
	view := newView(object)
	if !view.is("", "PersistentVolumeClaim") {
		return false
	}
	phase := view.text("status", "phase")
	return phase == "" || phase == "Pending"
}

// StorageClassOf returns the name of a claim's StorageClass. It is empty if the claim has none, or if the default class
// is not filled in yet.
func StorageClassOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	if class := object.GetAnnotations()["volume.beta.kubernetes.io/storage-class"]; class != "" {
		return class
	}
	return newView(object).text("spec", "storageClassName")
}

// autoscalerFailures are the reasons of conditions of an autoscaler that cannot do its job. Other reasons mean that it
// has nothing to do, for example because its target is scaled to zero.
var autoscalerFailures = map[string][]string{
	"AbleToScale": {"FailedGetScale", "FailedUpdateScale"},
	"ScalingActive": {
		"FailedComputeMetricsReplicas", "FailedGetContainerResourceMetric", "FailedGetExternalMetric", "FailedGetObjectMetric", "FailedGetPodsMetric",
		"FailedGetResourceMetric", "InvalidMetricSourceType", "InvalidSelector", "AmbiguousSelector",
	},
}

// judgeAutoscaler grades a HorizontalPodAutoscaler. It is ready even if it cannot scale, because its target and the
// source of its metrics may become ready only later.
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
