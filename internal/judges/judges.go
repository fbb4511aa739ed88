// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
)

// Judges computes the statuses of the dependents of many owners. Owners are identified by the value of their label. It is safe for concurrent use.
type Judges struct {
	conditions conditions
	fallback   status.Judge

	mu     sync.RWMutex
	owners map[string]status.Judge
}

// New returns Judges with one judge for all owners. The reconciler name is the prefix of the annotations.
func New(reconcilerName string, fallback status.Judge) *Judges {
	return &Judges{conditions: newConditions(reconcilerName), fallback: fallback, owners: map[string]status.Judge{}}
}

// Assign sets the judge of an owner; nil stands for that of the reconciler.
func (j *Judges) Assign(owner string, judge status.Judge) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if judge == nil {
		delete(j.owners, owner)
		return
	}
	j.owners[owner] = judge
}

// of returns the judge of an owner, and its rules. These are empty for the judge of the reconciler, so that the usual observation needs no memory for
// them.
func (j *Judges) of(owner string) (judge status.Judge, rules string) {
	j.mu.RLock()
	own, ok := j.owners[owner]
	j.mu.RUnlock()
	if !ok {
		return j.fallback, ""
	}
	return own, own.Rules()
}

// Judge returns the status of a dependent, which is not changed, and the rules by which it was computed; see Rules.
func (j *Judges) Judge(owner string, object *unstructured.Unstructured) (result status.Result, rules string) {
	judge, rules := j.of(owner)
	if result, terminating := status.Terminating(object); terminating {
		return result, rules
	}
	return j.conditions.judge(object, guarded{base: judge}), rules
}

// Rules identifies the rules that hold for an owner now.
func (j *Judges) Rules(owner string) string {
	_, rules := j.of(owner)
	return rules
}

// JudgesMetadata reports whether objects of this kind are judged by their metadata only, by the judge of the reconciler.
func (j *Judges) JudgesMetadata(kind schema.GroupKind) bool {
	return judgesMetadata(j.fallback, kind)
}

// NeedsContent reports whether the owner's judge needs the content of objects of this kind, although the judge of the reconciler does not.
func (j *Judges) NeedsContent(owner string, kind schema.GroupKind) bool {
	judge, _ := j.of(owner)
	return !judgesMetadata(judge, kind) && judgesMetadata(j.fallback, kind)
}

func judgesMetadata(judge status.Judge, kind schema.GroupKind) bool {
	metadata, ok := judge.(status.MetadataJudge)
	return ok && metadata.JudgesMetadata(kind)
}

// guarded is a judge that does not panic: it is called where a panic would end the program.
type guarded struct {
	base status.Judge
}

func (g guarded) judge(object *unstructured.Unstructured) (result status.Result) {
	defer func() {
		if reason := recover(); reason != nil {
			result = status.Result{Status: status.UnknownStatus, Message: status.Clip(fmt.Sprintf("the judge has panicked: %v", reason))}
		}
	}()
	result = g.base.Judge(object)
	result.Message = status.Clip(result.Message)
	return result
}

func (g guarded) overrules(object *unstructured.Unstructured) (overrules bool) {
	defer func() {
		if reason := recover(); reason != nil {
			overrules = true // so that the same panic of Judge is reported
		}
	}()
	overruling, ok := g.base.(status.OverrulingJudge)
	return ok && overruling.Overrules(object)
}
