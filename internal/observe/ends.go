// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
)

// RunsToCompletion reports whether objects of a kind do their work once, and then end.
func RunsToCompletion(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "batch", Kind: "Job"} || kind == schema.GroupKind{Kind: "Pod"}
}

// outcome returns the status that a Job or Pod had when its deletion was requested, if it had ended by then. What
// happens to it later is the consequence of its deletion.
func (r *Reader) outcome(owner string, object *unstructured.Unstructured, judge judging) status.Status {
	requested := object.GetDeletionTimestamp()
	if requested == nil || !RunsToCompletion(object.GroupVersionKind().GroupKind()) {
		return ""
	}
	grace := time.Duration(0)
	if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	if ended := endOf(object); ended.IsZero() || ended.After(requested.Add(-grace)) {
		return ""
	}
	left := object.DeepCopy()
	left.SetDeletionTimestamp(nil)
	left.SetDeletionGracePeriodSeconds(nil)
	left.SetFinalizers(nil)
	if result, _ := judge(owner, left); result.Status == status.CurrentStatus || result.Status == status.FailedStatus {
		return result.Status
	}
	return ""
}

// endOf returns when a Job or Pod ended; zero if it has not, or does not say so.
func endOf(object *unstructured.Unstructured) time.Time {
	if object.GetKind() == "Job" {
		return latest(object, []string{"status", "conditions"}, func(condition map[string]any) (string, bool) {
			text, _, _ := unstructured.NestedString(condition, "lastTransitionTime")
			ends := condition["type"] == "Complete" || condition["type"] == "Failed"
			return text, ends && condition["status"] == "True"
		})
	}
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	if phase != "Succeeded" && phase != "Failed" {
		return time.Time{}
	}
	return latest(object, []string{"status", "containerStatuses"}, func(container map[string]any) (string, bool) {
		text, found, _ := unstructured.NestedString(container, "state", "terminated", "finishedAt")
		return text, found
	})
}

// latest returns the latest time among the elements of a list; zero if no element has one.
func latest(object *unstructured.Unstructured, path []string, timeOf func(element map[string]any) (string, bool)) time.Time {
	var result time.Time
	elements, _, _ := unstructured.NestedSlice(object.Object, path...)
	for _, element := range elements {
		fields, _ := element.(map[string]any)
		if text, ok := timeOf(fields); ok {
			if parsed, err := time.Parse(time.RFC3339, text); err == nil && parsed.After(result) {
				result = parsed
			}
		}
	}
	return result
}
