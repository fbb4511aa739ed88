// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Survey keeps what it has read of the dependents and the objects that they own up to date by watches: one for each type
// and namespace, and, unless Options.Reasons is NoReasons, one for the events of each namespace. It sends further
// requests only for
//   - objects that the user may list but not watch, or that were found although they do not have the labels of
//     Options.Selector, and for types that are not served: every 30 seconds,
//   - dependents that are missing, because they may have lost their labels: once, again if their items change, and then
//     when Tree is called after 30 seconds,
//   - the log of a container, once for each time that it has crashed.
//
// Its methods must not be called concurrently.
type Survey struct {
	options Options
	sink    Sink
	// once lists without watches, and reads the events of objects that are not ready by a request for each.
	once    bool
	ctx     context.Context //nolint:containedctx // it ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	core     corev1client.CoreV1Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	listing  chan struct{} // has an element for each list that is being read
	feeds    map[query]*feed
	targets  []*target // sorted like the nodes of a report
	resolved time.Time // when their types were
	// deadline is when the tree has to be looked at again, although no change was seen; zero if never.
	deadline time.Time
	// The next ones belong to the last tree: the objects in it, those of the nodes that are not ready, all claims, if they
	// were needed, and the events about it, by the UIDs of their objects.
	members map[apitypes.UID]bool // guarded by the mutex, too
	unready map[*display.Node]*object
	claims  []*object
	about   map[apitypes.UID][]Event

	mu      sync.Mutex // guards all fields below, and those of feeds
	roots   map[display.Key]*target
	objects map[display.Key]*object
	owned   map[apitypes.UID]map[display.Key]*object
	events  map[apitypes.NamespacedName]Event
	lines   map[crash]*line
	notes   sets.Set[display.Note]
}

// target is a dependent to read.
type target struct {
	item *reconciler.InventoryItem
	// resource is empty if the type is not served.
	resource resource
	key      display.Key
	// denied is the reason if the object could not be read.
	denied *display.Note
	// asked is when the object was read by a request of its own; zero if it was not.
	asked time.Time
}

// object is a version of an object, with what follows from it.
type object struct {
	*unstructured.Unstructured
	key display.Key
	uid apitypes.UID
	// from is nil if the object was read by a request of its own.
	from *feed

	// judged is the node without reasons and children; nil until it is needed. It holds until a time, if that is not
	// zero, and for a pod that another object owns, or not.
	judged  *display.Node
	until   time.Time
	isOwned bool
	// says are the reasons in the object itself; nil until they are needed.
	says []statement
}

// relook is the time after which something is read again that is not watched.
const relook = 30 * time.Second

// resolve finds the resources by which the recorded types are served at present.
func (s *Survey) resolve(options Options) error {
	var targets []*target
	roots := make(map[display.Key]*target, len(options.Items))
	for _, item := range options.Items {
		t := &target{item: item, key: display.KeyOf(item)}
		targets, roots[t.key] = append(targets, t), t
		if before := s.roots[t.key]; before != nil && before.item.Phase == item.Phase && before.item.Digest == item.Digest && before.item.UID == item.UID {
			t.asked, t.denied = before.asked, before.denied
		}
		if item.Phase == reconciler.PhaseCompleted {
			continue
		}
		mapping, err := options.Client.RESTMapper().RESTMapping(t.key.GroupKind, item.Version)
		if cluster.IsNoMatch(err) {
			mapping, err = options.Client.RESTMapper().RESTMapping(t.key.GroupKind)
		}
		switch {
		case cluster.IsNoMatch(err):
		case err != nil:
			return fmt.Errorf("finding type %s: %w", t.key.GroupKind, err)
		default:
			t.resource = resource{mapping.GroupVersionKind, mapping.Resource.Resource}
		}
	}
	slices.SortStableFunc(targets, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.item.ApplyOrder, b.item.ApplyOrder), display.ObjectOf(a.item).Compare(display.ObjectOf(b.item)))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options, s.targets, s.roots, s.resolved = options, targets, roots, time.Now()
	for _, o := range s.objects {
		o.judged = nil
	}
	return nil
}

// query is one LIST, or one watch.
type query struct {
	resource  resource
	namespace string
	// all includes objects that are not dependents themselves. Otherwise, the selector selects the dependents.
	all      bool
	selector string
	// isMetadata omits the content of the objects.
	isMetadata bool
}

// place is the scope of a query, independent of the API version.
type place struct {
	schema.GroupKind
	namespace string
}

func (q query) place() place { return place{q.resource.GroupKind(), q.namespace} }

// feed reads the objects of a query.
type feed struct {
	query
	stop context.CancelFunc
	// began is closed when the objects were listed, or could not be.
	began             chan struct{}
	hasBegun, stopped bool
	// isTroubled means that the server cannot be reached.
	isTroubled bool
	// listed means that the objects of the feed are complete.
	listed bool
	// err is why the objects were never listed.
	err error
	// note says what the user may not do; nil if nothing is missing.
	note *display.Note
}

// readDoubtful reads dependents that are in no list, although they may exist: those without our label. It reads each
// when it is found missing, when its item has changed, and else no earlier than after some time.
func (s *Survey) readDoubtful(ctx context.Context) error {
	s.mu.Lock()
	complete := sets.New[place]()
	for _, f := range s.feeds {
		if f.listed && (f.all || s.options.Selector.Empty()) {
			complete.Insert(f.place())
		}
	}
	var doubtful []*target
	for _, t := range s.targets {
		o := s.objects[t.key]
		switch {
		case o != nil && o.from != nil:
			t.asked, t.denied = time.Time{}, nil
		case t.resource.plural == "" || o == nil && complete.Has(place{t.key.GroupKind, t.key.Namespace}):
		case time.Since(t.asked) >= relook:
			doubtful = append(doubtful, t)
		}
	}
	s.mu.Unlock()
	return concurrent.Each(maxRequests, doubtful, func(_ int, t *target) error { return s.get(ctx, t) })
}

// plan returns the queries of the tree and of the events about it.
func (s *Survey) plan() []query {
	planned := planQueries(s.targets)
	for i := range planned {
		q := &planned[i]
		q.isMetadata = s.readsMetadata(q.resource.GroupKind())
		if !q.all {
			q.selector = s.options.Selector.String()
		}
	}
	if !s.readsEvents() {
		return planned
	}
	// Events about cluster-scoped objects are in the default namespace.
	namespaces := sets.New(display.Map(s.targets, func(t *target) string { return cmp.Or(t.key.Namespace, metav1.NamespaceDefault) })...)
	return append(planned, display.Map(sets.List(namespaces), func(namespace string) query { return query{resource: events, namespace: namespace, all: true} })...)
}

// readsEvents reports whether all events are read, not only those about objects that are not ready.
func (s *Survey) readsEvents() bool {
	return s.options.Events || !s.once && s.options.Reasons != NoReasons
}

// planQueries returns one query for each type and namespace of the dependents, and for the types that they may own.
func planQueries(targets []*target) []query {
	planned := map[place]query{}
	add := func(r resource, namespace string, all bool) {
		q, known := planned[place{r.GroupKind(), namespace}]
		if !known {
			q = query{resource: r, namespace: namespace}
		}
		q.all = q.all || all
		planned[q.place()] = q
	}
	served := slices.DeleteFunc(slices.Clone(targets), func(t *target) bool { return t.resource.plural == "" })
	namespaced, namespaces := sets.New[resource](), sets.New[string]()
	for _, t := range served {
		add(t.resource, t.key.Namespace, false)
		if t.key.Namespace != "" {
			namespaces.Insert(t.key.Namespace)
			namespaced.Insert(t.resource)
		}
	}
	owners := sets.New[place]()
	for _, t := range served {
		owners.Insert(place{t.key.GroupKind, t.key.Namespace})
	}
	for owner := range owners {
		children, where := ownedTypes[owner.GroupKind], []string{owner.namespace}
		if !apiserver.IsBuiltIn(owner.Group) { // the types of the objects that it owns are unknown
			children = slices.Concat(namespaced.UnsortedList(), workloads)
			if owner.namespace == "" {
				where = namespaces.UnsortedList()
			}
		}
		for _, namespace := range where {
			for _, child := range children {
				add(child, namespace, true)
			}
		}
	}
	return slices.SortedFunc(maps.Values(planned), func(a, b query) int {
		return cmp.Or(cmp.Compare(a.resource.String(), b.resource.String()), cmp.Compare(a.namespace, b.namespace))
	})
}

// source returns the requests of a query. Only some lists are read at the same time.
func (s *Survey) source(q query) *cache.ListWatch {
	all := s.sourceOf(q)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			s.listing <- struct{}{}
			defer func() { <-s.listing }()
			return all.ListWithContext(ctx, options)
		},
		WatchFuncWithContext: all.WatchWithContext,
	}
}

func (s *Survey) sourceOf(q query) *cache.ListWatch {
	at := schema.GroupVersionResource{Group: q.resource.Group, Version: q.resource.Version, Resource: q.resource.plural}
	selection := apiserver.ListSelection{Labels: q.selector}
	switch {
	case q.resource == events:
		return cache.NewListWatchFromClient(s.core.RESTClient(), events.plural, q.namespace, fields.Everything())
	case q.isMetadata:
		return apiserver.ListWatch(s.metadata.Resource(at).Namespace(q.namespace), selection)
	default:
		return apiserver.ListWatch(s.dynamic.Resource(at).Namespace(q.namespace), selection)
	}
}

// takeLocked keeps what a feed has reported. It reports whether the tree may have changed by that.
func (s *Survey) takeLocked(f *feed, change apiserver.Change) (ours bool, err error) {
	if f.resource == events {
		return s.takeEventsLocked(f, change), nil
	}
	gone := map[display.Key]*object{}
	if change.All {
		gone = maps.Clone(s.objects)
		maps.DeleteFunc(gone, func(_ display.Key, o *object) bool { return o.from != f })
	}
	for _, read := range change.Objects {
		o, err := newObject(read, f.resource.GroupVersionKind)
		if err != nil {
			return false, err
		}
		if delete(gone, o.key); change.Deleted {
			gone[o.key] = o
			continue
		}
		o.from = f
		if before := s.objects[o.key]; !o.isSameVersion(before) {
			ours = ours || s.isOursLocked(o) || before != nil && s.members[before.uid]
			s.keepLocked(o)
		}
	}
	for key, o := range gone {
		s.forgetLocked(key)
		ours = ours || s.isOursLocked(o)
	}
	return ours, nil
}

func (o *object) isSameVersion(other *object) bool {
	return other != nil && other.from == o.from && other.uid == o.uid && other.GetResourceVersion() == o.GetResourceVersion()
}

// isOursLocked reports whether the tree contains an object, or will contain it. If an owner arrives later than the
// object, it is ours itself.
func (s *Survey) isOursLocked(o *object) bool {
	owners := o.GetOwnerReferences()
	return s.roots[o.key] != nil || s.members[o.uid] ||
		slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return s.members[owner.UID] }) ||
		// The claims of a StatefulSet are recognized only by their names.
		o.key.GroupKind == claims.GroupKind() && len(owners) == 0
}

// readsMetadata reports whether objects of the type are read without their content, which is often large or secret,
// because their metadata is enough to compute their status.
func (s *Survey) readsMetadata(kind schema.GroupKind) bool {
	isData := kind.Group == "" && (kind.Kind == "Secret" || kind.Kind == "ConfigMap")
	return isData && !s.options.Judges.NeedsContent("", kind)
}

// newObject returns an object that was read, perhaps only its metadata, without its managedFields, which nobody needs.
func newObject(read runtime.Object, kind schema.GroupVersionKind) (*object, error) {
	accessor, err := meta.Accessor(read)
	if err != nil {
		return nil, fmt.Errorf("reading an object of type %s: %w", kind.Kind, err)
	}
	accessor.SetManagedFields(nil)
	whole, isWhole := read.(*unstructured.Unstructured)
	if !isWhole {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(read)
		if err != nil {
			return nil, fmt.Errorf("converting the metadata of %s %s: %w", kind.Kind, accessor.GetName(), err)
		}
		whole = &unstructured.Unstructured{Object: content}
		whole.SetGroupVersionKind(kind)
	}
	return &object{Unstructured: whole, key: display.KeyOf(whole), uid: whole.GetUID()}, nil
}

// get reads a dependent that was not in any list.
func (s *Survey) get(ctx context.Context, t *target) error {
	kind, name := t.resource.GroupVersionKind, client.ObjectKey{Namespace: t.key.Namespace, Name: t.key.Name}
	var read client.Object = &unstructured.Unstructured{}
	if s.readsMetadata(t.key.GroupKind) {
		read = &metav1.PartialObjectMetadata{}
	}
	read.GetObjectKind().SetGroupVersionKind(kind)
	err := s.options.Client.Get(ctx, name, read)
	var o *object
	if err == nil {
		o, err = newObject(read, kind)
	}
	isDenied := apierrors.IsForbidden(err)
	if err != nil && !isDenied && !apierrors.IsNotFound(err) && !cluster.IsNoMatch(err) {
		return fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.asked, t.denied = time.Now(), nil
	if isDenied {
		t.denied = &display.Note{Verb: "get", Group: kind.Group, Resource: t.resource.plural, Namespace: t.key.Namespace}
	}
	switch before := s.objects[t.key]; {
	case before != nil && before.from != nil: // a watch was faster
	case o == nil:
		s.forgetLocked(t.key)
	default:
		s.keepLocked(o)
	}
	return nil
}

func (s *Survey) keepLocked(o *object) {
	s.forgetLocked(o.key)
	s.objects[o.key] = o
	for _, owner := range o.GetOwnerReferences() {
		if s.owned[owner.UID] == nil {
			s.owned[owner.UID] = map[display.Key]*object{}
		}
		s.owned[owner.UID][o.key] = o
	}
}

// forgetLocked drops an object, if there is one.
func (s *Survey) forgetLocked(key display.Key) {
	o := s.objects[key]
	if o == nil {
		return
	}
	delete(s.objects, key)
	for _, owner := range o.GetOwnerReferences() {
		if delete(s.owned[owner.UID], key); len(s.owned[owner.UID]) == 0 {
			delete(s.owned, owner.UID)
		}
	}
}

// note adds a note to the next report.
func (s *Survey) note(n display.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes.Insert(n)
}

// lookAgain makes the tree be looked at again at a time, at the latest; zero is no time.
func (s *Survey) lookAgain(at time.Time) {
	if !at.IsZero() && (s.deadline.IsZero() || at.Before(s.deadline)) {
		s.deadline = at
	}
}
