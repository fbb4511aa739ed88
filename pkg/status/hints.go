// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/types"
)

// Hints add what is not visible in an object until its controller has written its status.
type Hints struct {
	// HasObservedGeneration says that the controller maintains status.observedGeneration. While the field is missing,
	// the observedGeneration of the Ready condition counts; without that, the object counts as not observed.
	HasObservedGeneration bool
	// HasReadyCondition says that the controller maintains a Ready condition. While it is missing, it counts as
	// Unknown.
	HasReadyCondition bool
	// RunToCompletion makes a Pod current when it has succeeded, not while it runs. It has no effect on other kinds.
	RunToCompletion bool
	// Conditions are further conditions that must be True before the object is current.
	Conditions []string
}

// spellings maps all accepted forms of the hints.
var spellings = map[string]string{
	types.StatusHintHasObservedGeneration: types.StatusHintHasObservedGeneration,
	"hasObservedGeneration":               types.StatusHintHasObservedGeneration,
	"HasObservedGeneration":               types.StatusHintHasObservedGeneration,
	types.StatusHintHasReadyCondition:     types.StatusHintHasReadyCondition,
	"hasReadyCondition":                   types.StatusHintHasReadyCondition,
	"HasReadyCondition":                   types.StatusHintHasReadyCondition,
	types.StatusHintRunToCompletion:       types.StatusHintRunToCompletion,
	"runToCompletion":                     types.StatusHintRunToCompletion,
	"RunToCompletion":                     types.StatusHintRunToCompletion,
	types.StatusHintConditions:            types.StatusHintConditions,
	"Conditions":                          types.StatusHintConditions,
}

const allowedHints = types.StatusHintHasObservedGeneration + ", " +
	types.StatusHintHasReadyCondition + ", " + types.StatusHintRunToCompletion + ", " + types.StatusHintConditions + "=<condition>[;<condition>…]"

// ParseHints parses the value of a status-hint annotation: a comma-separated list of hints, in kebab, camel or Pascal
// case. Spaces around commas, semicolons and equal signs are allowed. A blank value means no hints. The error names the
// invalid hint and the allowed ones, but not the annotation or the object.
func ParseHints(value string) (Hints, error) {
	var hints Hints
	if strings.TrimSpace(value) == "" {
		return hints, nil
	}
	for part := range strings.SplitSeq(value, ",") {
		name, argument, hasArgument := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		hint := spellings[name]
		if hint == "" {
			return Hints{}, fmt.Errorf("unknown status hint %q; must be one of: %s", name, allowedHints)
		}
		if hint != types.StatusHintConditions && hasArgument {
			return Hints{}, fmt.Errorf("status hint %q takes no value, got %q; must be one of: %s", name, argument, allowedHints)
		}
		switch hint {
		case types.StatusHintHasObservedGeneration:
			hints.HasObservedGeneration = true
		case types.StatusHintHasReadyCondition:
			hints.HasReadyCondition = true
		case types.StatusHintRunToCompletion:
			hints.RunToCompletion = true
		case types.StatusHintConditions:
			conditions, err := parseConditions(name, argument)
			if err != nil {
				return Hints{}, err
			}
			hints.Conditions = append(hints.Conditions, conditions...)
		}
	}
	return hints, nil
}

func parseConditions(hint string, argument string) ([]string, error) {
	var conditions []string
	for condition := range strings.SplitSeq(argument, ";") {
		condition = strings.TrimSpace(condition)
		if condition == "" {
			return nil, fmt.Errorf("status hint %q needs names of conditions, got %q; must be one of: %s", hint, argument, allowedHints)
		}
		conditions = append(conditions, condition)
	}
	return conditions, nil
}

// with returns the union of both.
func (h Hints) with(other Hints) Hints {
	return Hints{
		HasObservedGeneration: h.HasObservedGeneration || other.HasObservedGeneration,
		HasReadyCondition:     h.HasReadyCondition || other.HasReadyCondition,
		RunToCompletion:       h.RunToCompletion || other.RunToCompletion,
		Conditions:            slices.Concat(h.Conditions, other.Conditions),
	}
}

// impliedHints returns the hints for built-in kinds. Without them, a workload that its controller has not observed yet
// could count as current, for example a StatefulSet with zero replicas. A PodDisruptionBudget needs none: it is in
// force at once, and where no controllers run, as in tests, it would never be ready.
func impliedHints(object *unstructured.Unstructured) Hints {
	gvk := object.GroupVersionKind()
	switch gvk.Group + "/" + gvk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/ReplicaSet", "apps/DaemonSet", "/ReplicationController":
		return Hints{HasObservedGeneration: true}
	}
	return Hints{}
}

// complete returns the object with the fields that the hints promise: the object itself if none is missing, otherwise a
// copy that shares all but the added fields. It leaves a status with an unexpected form to kstatus, which reports it.
func (h Hints) complete(object *unstructured.Unstructured) *unstructured.Unstructured {
	status, ok := object.Object["status"].(map[string]any)
	if !ok && object.Object["status"] != nil {
		return object
	}
	added := map[string]any{}
	if h.HasObservedGeneration && status["observedGeneration"] == nil {
		added["observedGeneration"] = readyGeneration(object)
	}
	conditions, ok := status["conditions"].([]any)
	wellFormed := ok || status["conditions"] == nil
	if h.HasReadyCondition && wellFormed && !newView(object).condition("Ready").present {
		added["conditions"] = append(slices.Clone(conditions), map[string]any{"type": "Ready", "status": "Unknown"})
	}
	if len(added) == 0 {
		return object
	}
	content, completed := maps.Clone(object.Object), map[string]any{}
	maps.Copy(completed, status)
	maps.Copy(completed, added)
	content["status"] = completed
	return &unstructured.Unstructured{Object: content}
}

// readyGeneration returns the generation that the Ready condition has observed, or -1, which no object has.
func readyGeneration(object *unstructured.Unstructured) int64 {
	if generation, ok := newView(object).condition("Ready").observedGeneration(); ok {
		return generation
	}
	return -1
}
