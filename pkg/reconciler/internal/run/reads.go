// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// WatchReads makes the observer watch the objects that desired objects read without owning them. It refuses reads of
// objects that are desired themselves.
func WatchReads(ctx context.Context, call *Call, wanted []*prepare.Object) error {
	var names []observe.Name
	var own sets.Set[types.ObjectID]
	for _, t := range wanted {
		for _, read := range readsOf(call, t) {
			if own == nil {
				own = sets.New[types.ObjectID]()
				for _, other := range wanted {
					own.Insert(other.Key)
				}
			}
			if id := types.IDOf(itemOf(nameOf(read))); own.Has(id) {
				return inventory.NewRefusedError(fmt.Sprintf("%s: reads %s, which is also a dependent; extract its data instead", t.Key, id))
			}
			names = append(names, nameOf(read))
		}
	}
	call.Memory.Disregard(names)
	if err := call.Server.Observer.WatchNames(ctx, call.Owner.Label, names); err != nil {
		return fmt.Errorf("watching the objects that dependents need data of: %w", err)
	}
	return nil
}

func readsOf(call *Call, t *prepare.Object) []behaviors.Read {
	if !t.Reading {
		return nil
	}
	reading, ok := behaviors.Of[behaviors.Reading](call.Executor.Manifests.Source(t))
	if !ok {
		return nil
	}
	return reading.Reads()
}

func nameOf(read behaviors.Read) observe.Name {
	return observe.Name{GroupVersionKind: read.GroupVersionKind, Namespace: read.Namespace, Name: read.Name}
}

func itemOf(name observe.Name) *inventory.Item {
	return &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo(name.GroupVersionKind), NameInfo: inventory.NameInfo{Namespace: name.Namespace, Name: name.Name}}
}

// shortage is a problem with an object of others that keeps a desired object from being applied.
type shortage struct {
	item   *inventory.Item // the other object
	lack   string
	health inventory.Notice
	cause  error // decides when to repeat the call; nil if an event tells
}

// read passes to a desired object the objects that it reads before its step. missing is nil if nothing is missing. With
// awaits, waits reports whether the component waits for objects that are not ready.
func (s *steps) read(ctx context.Context, t *prepare.Object, awaits bool) (missing *shortage, waits bool, err error) {
	for _, read := range readsOf(s.call, t) {
		if read.After {
			continue
		}
		object, missing, err := s.readOne(ctx, t, read)
		if missing != nil || err != nil {
			return missing, waits, err
		}
		waits = awaits && s.judge(read, object) || waits
	}
	return nil, waits, nil
}

// readOne passes to a desired object one of the objects that it reads, and returns that; nil if it does not exist.
func (s *steps) readOne(ctx context.Context, t *prepare.Object, read behaviors.Read) (object *unstructured.Unstructured, missing *shortage, err error) {
	name := nameOf(read)
	item := itemOf(name)
	lacks := func(lack string, cause error) *shortage {
		return &shortage{item: item, lack: lack, cause: cause, health: inventory.Notice{Reason: inventory.NoticeReasonBlocked, Grade: status.GradeDown, Grace: read.Grace}}
	}
	version, view := s.call.Server.Observer.Version(name)
	if view == observe.Unseen {
		if problem := s.misplaced(name); problem != "" {
			return nil, lacks("cannot be read: "+problem, nil), nil
		}
	}
	object, err = s.fetch(ctx, name, version, view)
	switch {
	case apierrors.IsForbidden(err):
		return nil, lacks("cannot be read: "+err.Error(), err), nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s for %s: %w", types.IDOf(item), t.Key, err)
	}
	if err = read.Take(object); err == nil {
		return object, nil, nil
	}
	if object != nil {
		return object, lacks("its data cannot be used: "+err.Error(), err), nil
	}
	if view != observe.Unseen && !execute.Is[types.RetriableError](err) {
		err = nil
	}
	return nil, lacks("does not exist", err), nil
}

// judge returns whether the component waits for an object of others, and reports it if so.
func (s *steps) judge(read behaviors.Read, object *unstructured.Unstructured) (waits bool) {
	if read.Judge == nil || object == nil && read.Optional {
		return false
	}
	item := itemOf(nameOf(read))
	if object == nil {
		s.call.Report.AwaitsHealth(item, "does not exist", inventory.Notice{Reason: inventory.NoticeReasonBlocked, Grade: status.GradeDown, Grace: read.Grace})
		return true
	}
	result := judges.Guarded(read.Judge, object)
	if result.Deadline > 0 {
		s.call.Report.RequeueAfter(result.Deadline)
	}
	if result.Status == status.CurrentStatus {
		return false
	}
	if result.Status == status.FailedStatus {
		s.call.Report.Fails(item, result.Message)
	}
	s.call.Report.AwaitsHealth(item, cmp.Or(result.Message, "status is "+result.Status.String()), inventory.Notice{Reason: result.Reason, Grade: result.Health(), Grace: read.Grace})
	return true
}

// await reports a shortage, and makes the caller repeat the call when it may have ended.
func (s *steps) await(t *prepare.Object, missing *shortage, consequence string) {
	s.call.Report.AwaitsHealth(missing.item, missing.lack+consequence, missing.health)
	if missing.cause != nil {
		s.retry(t, missing.cause)
	}
}

// misplaced returns the problem with the namespace of an object; empty if there is none, or its type is not served.
func (s *steps) misplaced(name observe.Name) string {
	isNamespaced, err := apiutil.IsGVKNamespaced(name.GroupVersionKind, s.call.Server.Client.RESTMapper())
	switch {
	case err != nil:
		return ""
	case isNamespaced && name.Namespace == "":
		return "its type is namespaced, and no namespace is given"
	case !isNamespaced && name.Namespace != "":
		return "its type is cluster-scoped, and a namespace is given"
	default:
		return ""
	}
}

// fetch returns an object, which must not be changed; nil if it does not exist. It makes a request only if the object
// has changed since the last one, or is not watched.
func (s *steps) fetch(ctx context.Context, name observe.Name, version string, view observe.View) (object *unstructured.Unstructured, err error) {
	switch view {
	case observe.Absent:
		return nil, nil //nolint:nilnil // it does not exist
	case observe.Present:
		if object = s.call.Memory.Recollect(name, version); object != nil {
			return object, nil
		}
	case observe.Unseen:
	}
	err = s.call.Server.Read(func() (err error) {
		object, err = execute.LookUp(ctx, s.call.Server.Client, itemOf(name))
		return err
	})
	switch {
	case execute.IsGone(err):
		return nil, nil //nolint:nilnil // it does not exist
	case err != nil:
		return nil, err
	}
	object = observe.Kept(object)
	s.call.Memory.Recollects(name, object)
	return object, nil
}

// need is a call's need for one kind.
type need struct {
	namespaces sets.Set[string]
	content    bool // its objects are judged by their content
	whole      sets.Set[apitypes.NamespacedName]
}

// Watch makes the observer watch the kinds of the desired objects and of redundant dependents. It leaves out kinds of
// desired objects beyond the given stage, because they may not be served yet, unless the inventory shows that a
// dependent exists.
func (c *Call) Watch(ctx context.Context, wanted []*prepare.Object, upTo prepare.Stage) error {
	told, more := c.needs != nil, false
	if !told {
		c.needs = map[schema.GroupVersionKind]*need{}
	}
	for _, t := range wanted {
		if t.Stage() <= upTo || c.Ledger.Of(t).UID != "" {
			more = c.addNeed(t.GVK(), t.Key, t.ReadsContent, t.Extracting) || more
		}
	}
	for _, item := range c.Ledger.Redundant() {
		more = c.addNeed(item.GroupVersionKind(), types.IDOf(item), false, false) || more
	}
	if told && !more {
		return nil
	}
	return c.Server.Observer.Watch(ctx, c.Owner.Label, c.allNeeds())
}

// addNeed adds what an object needs, and reports whether that is new.
func (c *Call) addNeed(kind schema.GroupVersionKind, key types.ObjectID, content, whole bool) (isNew bool) {
	known, name := c.needs[kind], apitypes.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	if known == nil {
		known = &need{namespaces: sets.Set[string]{}, whole: sets.Set[apitypes.NamespacedName]{}}
		c.needs[kind], isNew = known, true
	}
	isNew = isNew || !known.namespaces.Has(key.Namespace) || content && !known.content || whole && !known.whole.Has(name)
	known.namespaces.Insert(key.Namespace)
	known.content = known.content || content
	if whole {
		known.whole.Insert(name)
	}
	return isNew
}

// allNeeds returns the kinds and namespaces needed so far.
func (c *Call) allNeeds() []observe.Need {
	all := make([]observe.Need, 0, len(c.needs))
	for kind, known := range c.needs {
		all = append(all, observe.Need{
			Kind: kind, Content: known.content || c.Server.Judges.NeedsContent(c.Owner.Label, kind.GroupKind()), Whole: known.whole.UnsortedList(),
			Namespaces: known.namespaces.Clone().Delete("").UnsortedList(),
		})
	}
	slices.SortFunc(all, func(a, b observe.Need) int { return cmp.Compare(a.Kind.String(), b.Kind.String()) })
	return all
}
