// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
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
	count   int // of the dependents that share Full
}

// limit returns the maximum cost of the rules for one dependent.
func (a assigned) limit() uint64 {
	if a.count <= 1 {
		return Full
	}
	return max(Full/uint64(a.count), Brief)
}

// New returns Judges with one judge for all owners. The reconciler name is the prefix of the annotations.
func New(reconcilerName string, fallback status.Judge) *Judges {
	return &Judges{fallback: fallback, owners: map[string]assigned{}, conditions: conditions{
		readyWhen: reconcilerName + "/" + types.AnnotationKeySuffixReadyWhen, failWhen: reconcilerName + "/" + types.AnnotationKeySuffixFailWhen,
	}}
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

// Share sets the number of an owner's dependents. Their rules together may cost Full, so that evaluating them does not
// block a worker for long; but the rules of each dependent may cost at least Brief.
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

// of returns the judges of an owner, and the rules of its own one. The rules are empty for the judge of the reconciler,
// so that usual observations need no memory for them.
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

// costly is held while rules that cost more than Brief are evaluated, so that no owner can take all processors and all
// memory.
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

// Glance is Judge for code that others wait for. If the rules are expensive, it returns InProgress and, instead of the
// rules, a text that identifies no rules and differs for each resource version.
func (j *Judges) Glance(owner string, object *unstructured.Unstructured) (result status.Result, rules string) {
	result, rules, within := j.judge(owner, object, Brief)
	if !within {
		return status.Result{Status: status.InProgressStatus, Message: "not judged yet, because its conditions are expensive to evaluate"}, "not judged at " + object.GetResourceVersion()
	}
	return result, rules
}

// judge is Judge with a limit of the cost of conditions. It reports false if they cost more.
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

// Guarded returns a judge's result for an object that is not a dependent. A panic of the judge counts as UnknownStatus.
func Guarded(judge status.Judge, object *unstructured.Unstructured) status.Result {
	if result, terminating := status.Terminating(object); terminating {
		return result
	}
	result, _ := guarded{base: judge}.judge(object, Full)
	return result
}

// limited is a status.Judge with rules that may be expensive.
type limited interface {
	// JudgeWithin is Judge with a limit of the cost of conditions; see Budget. It reports false if they cost more.
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

// awaiting is a judge that waits for the first report of a controller.
type awaiting struct {
	base        status.Judge
	definitions *Definitions
}

var (
	_ status.MetadataJudge   = awaiting{}
	_ status.OverrulingJudge = awaiting{}
)

// Await returns a judge that reports an object as InProgress instead of Current if its definition declares conditions,
// and its controller has reported neither a condition nor a generation. It does the same while it is not known what the
// definition declares. Objects that the base overrules keep the status of the base.
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

// unknownDelay is the delay after which an object is judged again that was judged before its definition was read.
const unknownDelay = 2 * time.Second

// Rules implements status.Judge. When a definition changes, the server ends the watches of its objects, so that they
// are judged again.
func (a awaiting) Rules() string { return a.base.Rules() }

// JudgesMetadata implements status.MetadataJudge.
func (a awaiting) JudgesMetadata(kind schema.GroupKind) bool {
	return judgesMetadata(a.base, kind)
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

// conditions are the annotations ready-when and fail-when of objects.
type conditions struct {
	readyWhen, failWhen string // keys
}

// judge returns the status of an object that is not being deleted: by its annotations or, where these do not apply, by
// the judge. The first row that applies counts:
//
//	no annotation                                             as the judge says
//	the controller has not observed the current spec          InProgress, or Failed as the judge says
//	fail-when holds                                           Failed
//	the judge overrules ready-when, or there is no ready-when as the judge says
//	ready-when holds                                          Current
//	ready-when does not hold, or cannot be evaluated          InProgress, or Failed as the judge says
//
// If an annotation is not a valid expression, or costs more than the limit to evaluate, the status is Unknown. It
// reports false if any rule costs more than the limit.
func (c conditions) judge(object *unstructured.Unstructured, judge guarded, limit uint64) (result status.Result, within bool) {
	result, within = judge.judge(object, limit)
	budget := NewBudget(limit)
	result = c.annotated(object, judge, result, budget)
	return result, within && budget.Spend(0) == nil
}

// annotated returns the status of an object by its annotations; result is the one without them.
func (c conditions) annotated(object *unstructured.Unstructured, judge guarded, result status.Result, budget *Budget) status.Result {
	values := object.GetAnnotations()
	readyWhen, isReadyWhen := values[c.readyWhen]
	failWhen, isFailWhen := values[c.failWhen]
	if !isReadyWhen && !isFailWhen {
		return result
	}
	if _, outdated := status.Outdated(object); outdated {
		return unready(result, fmt.Sprintf("generation %d is not observed yet", object.GetGeneration()))
	}
	if isFailWhen {
		switch failed, err := holds(failWhen, object, budget); {
		case failed:
			return status.Result{Status: status.FailedStatus, Message: status.Clip("fail-when holds: " + failWhen)}
		case isInvalid(err):
			return unknown(c.failWhen, err)
		}
	}
	if !isReadyWhen || judge.overrules(object) {
		return result
	}
	return c.byReadyWhen(object, readyWhen, result, budget)
}

// byReadyWhen returns the status of an object by its annotation ready-when; base is the status without it.
func (c conditions) byReadyWhen(object *unstructured.Unstructured, readyWhen string, base status.Result, budget *Budget) status.Result {
	switch ready, err := holds(readyWhen, object, budget); {
	case ready:
		return status.Result{Status: status.CurrentStatus, Message: "ready-when holds"}
	case isInvalid(err):
		return unknown(c.readyWhen, err)
	case err != nil:
		return unready(base, fmt.Sprintf("ready-when cannot be evaluated (%v): %s", err, readyWhen))
	default:
		return unready(base, "ready-when does not hold: "+readyWhen)
	}
}

// unknown returns the result for an object whose annotation cannot be evaluated for any object.
func unknown(annotation string, err error) status.Result {
	return status.Result{Status: status.UnknownStatus, Message: status.Clip(annotation + ": " + err.Error())}
}

// unready returns the result for an object that is not ready for the given reason. It stays failed if it has failed.
func unready(result status.Result, reason string) status.Result {
	if result.Status == status.FailedStatus {
		return result
	}
	return status.Result{Status: status.InProgressStatus, Message: status.Clip(reason), Grade: result.Grade, Deadline: result.Deadline}
}

// invalidError means that an annotation cannot be evaluated, whatever the object is.
type invalidError struct{ error }

func isInvalid(err error) bool {
	var invalid invalidError
	return errors.As(err, &invalid)
}

// holds evaluates the expression of an annotation.
func holds(text string, object *unstructured.Unstructured, budget *Budget) (bool, error) {
	expression, err := CompileWithin(text, budget)
	if err != nil {
		return false, invalidError{err}
	}
	answer, err := expression.Holds(object, budget)
	if errors.Is(err, ErrTooExpensive) {
		return false, invalidError{err}
	}
	return answer, err //nolint:wrapcheck // the caller names the annotation
}

// Definitions records which types have definitions that declare status.conditions. It is safe for concurrent use.
type Definitions struct {
	client client.Reader

	mu       sync.Mutex
	declared map[schema.GroupVersionKind]bool // by the types that are known
}

// NewDefinitions returns Definitions that are read through a client, which must not answer from a cache.
func NewDefinitions(reader client.Reader) *Definitions {
	return &Definitions{client: reader, declared: map[schema.GroupVersionKind]bool{}}
}

// Learn reads the definition of a type, which is served under the given resource name, unless the type is one of
// Kubernetes itself. Types without a definition, and those whose definition the client may not read, are known to
// declare nothing.
func (d *Definitions) Learn(ctx context.Context, gvk schema.GroupVersionKind, resource string) error {
	if apiserver.IsBuiltIn(gvk.Group) {
		return nil
	}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := d.client.Get(ctx, client.ObjectKey{Name: resource + "." + gvk.Group}, definition)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("reading the definition of %s: %w", gvk.GroupKind(), err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.declared[gvk] = err == nil && declaresConditions(definition, gvk.Version)
	return nil
}

// Recall is Learn, unless the type is already known.
func (d *Definitions) Recall(ctx context.Context, gvk schema.GroupVersionKind, resource string) error {
	if _, known := d.Declares(gvk); known {
		return nil
	}
	return d.Learn(ctx, gvk, resource)
}

// Declares reports whether the definition of a type declares status.conditions, and whether that is known. It makes no
// request. Types of Kubernetes itself have no definition.
func (d *Definitions) Declares(gvk schema.GroupVersionKind) (declared, known bool) {
	if apiserver.IsBuiltIn(gvk.Group) {
		return false, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	declared, known = d.declared[gvk]
	return declared, known
}

// declaresConditions reports whether a version of a CustomResourceDefinition has status.conditions.
func declaresConditions(definition *unstructured.Unstructured, name string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, value := range versions {
		version, _ := value.(map[string]any)
		if version["name"] != name {
			continue
		}
		_, found, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "status", "properties", "conditions")
		return found
	}
	return false
}
