// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
)

// awaiting is a judge that waits for the first report of a controller.
type awaiting struct {
	base        status.Judge
	definitions *Definitions
}

var (
	_ status.MetadataJudge   = awaiting{}
	_ status.OverrulingJudge = awaiting{}
)

// Await returns a judge for which an object is in progress while the base would call it current, its definition
// declares conditions, and its controller has reported neither a condition nor a generation. The same holds while it is
// not known what the definition declares. Objects that the base overrules are as the base says.
func Await(base status.Judge, definitions *Definitions) status.Judge {
	return awaiting{base: base, definitions: definitions}
}

// Judge implements status.Judge.
func (a awaiting) Judge(object *unstructured.Unstructured) status.Result {
	result := a.base.Judge(object)
	if result.Status != status.CurrentStatus || hasReported(object) || a.Overrules(object) {
		return result
	}
	switch declared, known := a.definitions.Declares(object.GroupVersionKind()); {
	case !known:
		return status.Result{Status: status.InProgressStatus, Message: "the definition of its type has not been read yet", Deadline: unknownDelay}
	case declared:
		return status.Result{Status: status.InProgressStatus, Message: "its controller has not reported any condition yet"}
	default:
		return result
	}
}

// unknownDelay is after how long an object is judged again that was judged before its definition was read.
const unknownDelay = 2 * time.Second

// Rules implements status.Judge. When a definition changes, the server ends the watches of its objects, so that they
// are judged again.
func (a awaiting) Rules() string { return a.base.Rules() }

// JudgesMetadata implements status.MetadataJudge.
func (a awaiting) JudgesMetadata(kind schema.GroupKind) bool {
	metadata, ok := a.base.(status.MetadataJudge)
	return ok && metadata.JudgesMetadata(kind)
}

// Overrules implements status.OverrulingJudge.
func (a awaiting) Overrules(object *unstructured.Unstructured) bool {
	overruling, ok := a.base.(status.OverrulingJudge)
	return ok && overruling.Overrules(object)
}

// hasReported reports whether a controller has written a condition, or which generation it has observed. Unknown
// conditions do not count: they may be defaults of the definition.
func hasReported(object *unstructured.Unstructured) bool {
	if _, observed, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "observedGeneration"); observed {
		return true
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	list, _ := conditions.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["status"] != "Unknown"
	})
}
