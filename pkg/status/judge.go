// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Judge computes the status of dependents. The engine calls it where a watch delivers an object, once for each version
// of the object, and keeps only the result. So a Judge must not make requests, must not wait, and must not change the
// object. It must be safe for concurrent use. A panic counts as UnknownStatus.
//
// Analyzer is the default Judge.
type Judge interface {
	// Judge returns the status of an object, which is complete, including its status. It is not asked about objects
	// that are being deleted: their status is that of Terminating.
	Judge(object *unstructured.Unstructured) Result
	// Rules identifies the rules. As long as it returns the same text, Judge returns the same result for the same
	// object, apart from rules that depend on time, for which Result.Deadline exists. If the text changes, each
	// dependent is read and judged again, once.
	Rules() string
}

// MetadataJudge is a Judge that needs only the metadata of objects of some kinds. Objects of these kinds are watched
// without their content. A Judge without the methods of MetadataJudge needs the content of all objects.
type MetadataJudge interface {
	Judge
	// JudgesMetadata reports whether the status of objects of this kind depends on their metadata only.
	JudgesMetadata(kind schema.GroupKind) bool
}

// OverrulingJudge is a Judge whose rules take precedence over the annotation ready-when of some objects. Without this
// interface, the annotation takes precedence over the Judge.
type OverrulingJudge interface {
	Judge
	// Overrules reports whether the rules take precedence for this object.
	Overrules(object *unstructured.Unstructured) bool
}

var _ MetadataJudge = (*Analyzer)(nil)

// Terminating returns the status of an object that is being deleted: TerminatingStatus, with what the deletion waits
// for. It reports false for other objects.
func Terminating(object *unstructured.Unstructured) (result Result, terminating bool) {
	if object.GetDeletionTimestamp() == nil {
		return Result{}, false
	}
	return Result{Status: TerminatingStatus, Message: terminatingMessage(object)}, true
}

// Outdated reports whether the status of an object is of another generation than the current one, as far as
// status.observedGeneration tells, and of which.
func Outdated(object *unstructured.Unstructured) (observed int64, outdated bool) {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return observed, err == nil && found && observed != object.GetGeneration()
}

// Judge is AnalyzeAnnotated with the error in the message of the result.
func (a *Analyzer) Judge(object *unstructured.Unstructured) Result {
	result, err := a.AnalyzeAnnotated(object)
	if err != nil {
		return Result{Status: UnknownStatus, Message: Clip(err.Error())}
	}
	return result
}

// Rules returns the annotation of the hints: the rules of an Analyzer do not change.
func (a *Analyzer) Rules() string { return a.annotation }
