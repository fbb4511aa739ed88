// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Judges computes the statuses of the dependents of many owners. Owners are identified by the value of their label. It
// is safe for concurrent use.
type Judges struct {
	conditions conditions
	fallback   status.Judge

	mu     sync.RWMutex
	owners map[string]assigned
}

// assigned are the judges of one owner.
type assigned struct {
	own     status.Judge // nil for that of the reconciler
	objects map[types.ObjectID]status.Judge
	count   int // of the dependents that share expressions.Full
}

// limit returns what the rules for one dependent may cost.
func (a assigned) limit() uint64 {
	if a.count <= 1 {
		return Full
	}
	return max(Full/uint64(a.count), Brief)
}

// New returns Judges with one judge for all owners. The reconciler name is the prefix of the annotations.
func New(reconcilerName string, fallback status.Judge) *Judges {
	return &Judges{conditions: newConditions(reconcilerName), fallback: fallback, owners: map[string]assigned{}}
}

// Assign sets the judge of an owner; nil stands for that of the reconciler.
func (j *Judges) Assign(owner string, judge status.Judge) {
	j.change(owner, func(a *assigned) { a.own = judge })
}

// AssignObjects sets the judges of single objects of an owner. They replace its judge for these objects, unless that
// overrules them.
func (j *Judges) AssignObjects(owner string, judges map[types.ObjectID]status.Judge) {
	j.change(owner, func(a *assigned) { a.objects = judges })
}

// Share sets the number of an owner's dependents. Their rules together may cost expressions.Full, so that nobody waits
// for long for a worker that evaluates them; but those of each may cost expressions.Brief.
func (j *Judges) Share(owner string, count int) {
	j.change(owner, func(a *assigned) { a.count = count })
}

// Forget drops all judges of an owner.
func (j *Judges) Forget(owner string) {
	j.change(owner, func(a *assigned) { *a = assigned{} })
}

func (j *Judges) change(owner string, change func(*assigned)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := j.owners[owner]
	change(&a)
	if a.own == nil && len(a.objects) == 0 && a.count <= 1 {
		delete(j.owners, owner)
		return
	}
	j.owners[owner] = a
}

// of returns the judges of an owner, and the rules of its own one. These are empty for the judge of the reconciler, so
// that the usual observation needs no memory for them.
func (j *Judges) of(owner string) (judges assigned, rules string) {
	j.mu.RLock()
	judges = j.owners[owner]
	j.mu.RUnlock()
	if judges.own == nil {
		judges.own = j.fallback
		return judges, ""
	}
	return judges, judges.own.Rules()
}

// forObject returns the judge of one object, and the rules that hold for it, given those of its owner.
func (a assigned) forObject(id types.ObjectID, ownRules string) (judge status.Judge, rules string) {
	single, ok := a.objects[id]
	if !ok {
		return nil, ownRules
	}
	return single, ownRules + "\n" + single.Rules()
}

// costly is held while rules are evaluated that cost more than expressions.Brief, so that no owner can take all
// processors and all memory for them.
var costly sync.Mutex

// Judge returns the status of a dependent, which is not changed, and the rules by which it was computed; see Rules. If
// the rules are expensive, it waits until no other evaluation of such rules is in progress.
func (j *Judges) Judge(owner string, object *unstructured.Unstructured) (result status.Result, rules string) {
	result, rules, within := j.judge(owner, object, Brief)
	if within {
		return result, rules
	}
	costly.Lock()
	defer costly.Unlock()
	judges, _ := j.of(owner)
	result, rules, _ = j.judge(owner, object, judges.limit())
	return result, rules
}

// Glance is Judge for places where others wait. If the rules are expensive, the object is in progress, and Glance does
// not return the rules, but a text that identifies no rules and differs for each resource version.
func (j *Judges) Glance(owner string, object *unstructured.Unstructured) (result status.Result, rules string) {
	result, rules, within := j.judge(owner, object, Brief)
	if !within {
		return status.Result{Status: status.InProgressStatus, Message: "not judged yet, because its conditions are expensive to evaluate"}, "not judged at " + object.GetResourceVersion()
	}
	return result, rules
}

// judge is Judge with a limit of what conditions may cost. It reports false if they cost more.
func (j *Judges) judge(owner string, object *unstructured.Unstructured, limit uint64) (result status.Result, rules string, within bool) {
	judges, rules := j.of(owner)
	judge := guarded{base: judges.own}
	if len(judges.objects) > 0 {
		var single status.Judge
		if single, rules = judges.forObject(types.IDOf(object), rules); single != nil && !judge.overrules(object) {
			judge = guarded{base: single}
		}
	}
	if result, terminating := status.Terminating(object); terminating {
		return result, rules, true
	}
	result, within = j.conditions.judge(object, judge, limit)
	return result, rules, within
}

// Rules identifies the rules that hold for a dependent now.
func (j *Judges) Rules(owner string, id types.ObjectID) string {
	judges, rules := j.of(owner)
	if len(judges.objects) > 0 {
		_, rules = judges.forObject(id, rules)
	}
	return rules
}

// JudgesMetadata reports whether objects of this kind are judged by their metadata only, by the judge of the
// reconciler.
func (j *Judges) JudgesMetadata(kind schema.GroupKind) bool {
	return judgesMetadata(j.fallback, kind)
}

// NeedsContent reports whether the owner's judge needs the content of objects of this kind, although the judge of the
// reconciler does not.
func (j *Judges) NeedsContent(owner string, kind schema.GroupKind) bool {
	judges, _ := j.of(owner)
	return !judgesMetadata(judges.own, kind) && judgesMetadata(j.fallback, kind)
}

func judgesMetadata(judge status.Judge, kind schema.GroupKind) bool {
	metadata, ok := judge.(status.MetadataJudge)
	return ok && metadata.JudgesMetadata(kind)
}

// Guarded returns what a judge says about an object that is not a dependent. A panic of the judge counts as
// UnknownStatus.
func Guarded(judge status.Judge, object *unstructured.Unstructured) status.Result {
	if result, terminating := status.Terminating(object); terminating {
		return result
	}
	result, _ := guarded{base: judge}.judge(object, Full)
	return result
}

// limited is a status.Judge with rules that may be expensive.
type limited interface {
	// JudgeWithin is Judge with a limit of what conditions may cost; see expressions.Budget. It reports false if they
	// cost more.
	JudgeWithin(object *unstructured.Unstructured, limit uint64) (result status.Result, within bool)
}

// guarded is a judge that does not panic: it is called where a panic would end the program.
type guarded struct {
	base status.Judge
}

func (g guarded) judge(object *unstructured.Unstructured, limit uint64) (result status.Result, within bool) {
	defer func() {
		if reason := recover(); reason != nil {
			result, within = status.Result{Status: status.UnknownStatus, Message: status.Clip(fmt.Sprintf("the judge has panicked: %v", reason))}, true
		}
	}()
	if base, ok := g.base.(limited); ok {
		result, within = base.JudgeWithin(object, limit)
	} else {
		result, within = g.base.Judge(object), true
	}
	result.Message = status.Clip(result.Message)
	return result, within
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
